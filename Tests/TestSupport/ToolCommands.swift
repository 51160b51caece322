/// The commands of the tool.
public enum ToolCommands {
    /// Those that stand for themselves, `key` and `fleet`.
    public static let all = [
        "migrate", "plan", "rehearse", "status", "history", "rollback", "downgrade", "redo",
        "verify", "inspect", "baseline",
        "tables", "query", "shell",
        "repair", "schema-dump", "schema-load", "encrypt", "decrypt", "rekey", "upgrade",
        "backup", "restore", "salvage", "key", "fleet", "init", "create", "lint", "test",
        "schema-diff",
        "explain", "completions",
    ]

    /// Those of `key`.
    public static let key = [
        "generate", "set", "show", "delete", "list", "check", "find", "doctor", "rotate", "export",
        "import",
        "derive",
    ]

    /// Those of `fleet`.
    public static let fleet = [
        "migrate", "rollback", "status", "verify", "backup", "restore", "rekey", "report",
    ]

    /// The words of each, those of the tool itself included.
    public static let words =
        [[]] + all.map { [$0] } + key.map { ["key", $0] } + fleet.map { ["fleet", $0] }

    /// The text that `--help` prints for a command, as a test has compared it.
    ///
    /// - Parameter words: The command's words.
    /// - Returns: The path of the file in the package.
    public static func helpSnapshot(_ words: [String]) -> String {
        let name = words.isEmpty ? "migrationkit-cli" : words.joined(separator: "-")
        return "\(helpSnapshots)/\(name).txt"
    }

    /// The folder of all help texts, as a path in the package.
    public static let helpSnapshots = "Tests/EndToEndTests/Snapshots/Help"
}
