import MigrationKitSQLCipher

extension KeyRotationError: Classified {
    var classification: (code: String, exitCode: Int32) {
        switch self {
        case .noAccount: ("itemWithoutAccount", 69)
        case .oldKeyNotStorable: ("unstorablePassphrase", 77)
        case .keyNotKept: ("notStored", 69)
        case .unfinished: ("rotationUnfinished", 69)
        case .neitherOpens: ("neitherKeyOpens", 77)
        }
    }
}
