import TestSupport

/// The built tool as a process, with a folder of its own.
struct Tool: FolderTool {
    var own: ToolFolder

    /// Whether the tool has a SQLCipher before 4.14, such as that of Debian 12 and 13.
    static var hasOldEngine: Bool {
        get throws {
            let tool = try builtExecutable("migrationkit-cli")
            return try TestSupport.run(tool, ["--version"]).stdout.contains("- wal-reset:")
        }
    }

    func run(_ arguments: [String], input: String) throws -> ProcessResult {
        try TestSupport.run(
            builtExecutable("migrationkit-cli"),
            arguments,
            environment: environment,
            input: input.utf8,
            newSession: true
        )
    }
}
