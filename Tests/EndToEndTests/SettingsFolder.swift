import Foundation
import TestSupport
import Testing

/// A folder that somebody works in, with a settings file: the tool runs inside of it.
struct SettingsFolder {
    var tool: Tool

    init() throws {
        tool = try Tool(isRawKey: true)
        try tool.writeItems()
    }

    var folder: TemporaryFolder { tool.folder }

    /// Writes a settings file.
    func write(_ lines: String..., to name: String = "migrationkit.toml", mode: mode_t = 0o600)
        throws
    {
        try folder.write(name, (lines.joined(separator: "\n") + "\n").utf8, mode: mode)
    }

    func run(_ arguments: String..., input: String = "") throws -> ProcessResult {
        try run(arguments, input: input)
    }

    func run(_ arguments: [String], input: String = "") throws -> ProcessResult {
        try TestSupport.run(
            "/usr/bin/env",
            ["-C", folder.path, builtExecutable("migrationkit-cli")] + arguments,
            environment: tool.environment,
            input: input.utf8,
            newSession: true
        )
    }

    func git(_ arguments: [String]) throws {
        let result = try TestSupport.run(
            "/usr/bin/env",
            [
                "git", "-C", folder.path, "-c", "user.name=A", "-c", "user.email=a@localhost",
                "-c", "init.defaultBranch=main", "-c", "commit.gpgsign=false",
            ] + arguments,
            environment: tool.environment
        )
        try #require(result.status == 0, "\(result)")
    }

    func exists(_ name: String) -> Bool {
        FileManager.default.fileExists(atPath: folder.path(name))
    }

    /// What `status --show-settings` tells of one setting.
    func setting(_ name: String, _ arguments: [String] = []) throws -> Setting {
        let result = try run(["status", "--show-settings", "--json"] + arguments)
        #expect(result.status == 0, "\(result)")
        let rows = try #require(try result.json()["settings"] as? [[String: Any]])
        let row = try #require(rows.first { $0["name"] as? String == name })
        return Setting(
            value: row["value"].flatMap { $0 is NSNull ? nil : "\($0)" },
            origin: row["origin"] as? String,
            at: row["at"] as? String,
            line: row["line"] as? Int,
            used: row["used"] as? Bool
        )
    }

    struct Setting: Equatable {
        var value: String?
        var origin: String?
        var at: String?
        var line: Int?
        var used: Bool? = true
    }
}
