import MigrationKitSQLCipher

extension EncryptedDatabaseError {
    /// Whether the key opens the file with the settings of another SQLCipher.
    var isOlderFormat: Bool {
        if case .olderFormat = self { true } else { false }
    }

    /// What to do about the error with this tool, its options and commands.
    ///
    /// - Parameter program: The name of the tool.
    func suggestion(program: String) -> String? {
        switch self {
        case .olderFormat(_, CipherSettings.current.compatibility):
            """
            The key is right, and the format is the current one: leave out --cipher-compatibility \
            and the other options of the encryption.
            """
        case .olderFormat(_, let version):
            """
            The key is right. Say --cipher-compatibility \(version), or convert the file with \
            '\(program) upgrade'.
            """
        default:
            recoverySuggestion
        }
    }
}
