import TestSupport

extension QueriedStore<Tool> {
    /// Starts the tool on a terminal.
    func onTerminal(_ arguments: [String], columns: Int? = nil) throws -> TerminalProcess {
        var environment = tool.environment.merging(["TERM": "xterm"]) { $1 }
        environment["COLUMNS"] = columns.map(String.init)
        return try TerminalProcess(
            builtExecutable("migrationkit-cli"),
            ["query"] + tool.opening + arguments,
            environment: environment
        )
    }
}
