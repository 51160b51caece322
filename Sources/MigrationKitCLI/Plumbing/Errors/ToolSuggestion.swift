import MigrationKitCommon

/// A library's error whose advice the tool rephrases with its own commands and options.
protocol ToolSuggesting: CodedError {
    /// What to do about the error with this tool.
    ///
    /// - Parameter program: The name of the tool.
    func suggestion(program: String) -> String?
}
