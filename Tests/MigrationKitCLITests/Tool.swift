import TestSupport
import Testing

/// The tool within the tests' own process, with a folder of its own. It has no standard input, and
/// nobody to ask.
struct Tool: FolderTool {
    var own: ToolFolder

    func run(_ arguments: [String], input: String) throws -> ProcessResult {
        try #require(input.isEmpty)
        return ToolInProcess(environment: environment).run(arguments)
    }
}

extension Tool {
    /// The tool where there is no secret store.
    static func withoutSecretStore(isRawKey: Bool) throws -> Tool {
        try Tool(
            environment: ["DBUS_SESSION_BUS_ADDRESS": "unix:path=/nonexistent"],
            isRawKey: isRawKey
        )
    }

    /// Names a settings file, which is empty, to the commands.
    mutating func useSettings() throws {
        environment["MIGRATIONKIT_CONFIG"] = folder.path("migrationkit.toml")
        try writeSettings()
    }

    /// Writes the settings.
    func writeSettings(_ lines: String...) throws {
        try folder.write("migrationkit.toml", lines.joined(separator: "\n").utf8)
    }
}
