import MigrationKitSQLCipher

extension DatabaseSalvageError: Classified {
    var classification: (code: String, exitCode: Int32) {
        switch self {
        case .opensNothing: ("wrongKey", 77)
        case .noDatabase: ("notADatabase", 66)
        }
    }
}
