import MigrationKitSQLCipher

extension DatabaseConversionError: ToolSuggesting {
    func suggestion(program: String) -> String? {
        switch self {
        case .notPlaintext: "To give an encrypted database another key, use 'rekey'."
        default: recoverySuggestion
        }
    }
}
