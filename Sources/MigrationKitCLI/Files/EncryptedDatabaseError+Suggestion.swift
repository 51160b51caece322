import MigrationKitSQLCipher

extension EncryptedDatabaseError {
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
        case .wrongKey:
            """
            \(recoverySuggestion ?? "")
            Hexadecimal digits that are the key itself want --raw-key. A file with settings of its own \
            wants them named: --cipher-compatibility, --cipher-page-size, --kdf-iterations, \
            --kdf-algorithm, --hmac-algorithm.
            If you are sure of the key, '\(program) salvage' looks for a flipped bit in the first \
            bytes, and brings what it can read into a new file.
            """
        case .rawKeyAsPassphrase:
            "The hexadecimal digits are the key itself: say --raw-key."
        case .damaged:
            """
            It is not the key: that is right, or none is needed. Keep a copy of the file. \
            '\(program) restore' puts a backup in its place, '\(program) salvage' brings what can be \
            read into a new file.
            """
        default:
            recoverySuggestion
        }
    }
}
