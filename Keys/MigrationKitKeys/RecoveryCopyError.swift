import FoundationEssentials
import MigrationKitCommon

/// Why a recovery copy of a key can't be made or read.
public enum RecoveryCopyError: Error, Equatable, Sendable {
    /// The file is no container.
    case notACopy(source: String)
    /// There is no such file.
    case noSuchFile(path: String)
    /// The container is damaged, cut short, or another program's.
    case damaged(source: String)
    /// The passphrase is wrong, or the container is damaged. These look alike.
    case wrongPassphrase(source: String)
    /// Other programs can't be given this passphrase.
    case unusablePassphrase(limit: Int)
    /// libcrypto made no container.
    case notSealed
}

extension RecoveryCopyError: LocalizedError {
    /// What is wrong, in one line.
    public var errorDescription: String? {
        switch self {
        case .noSuchFile(let path): "there is no recovery copy \"\(path)\""
        case .notACopy(let source): "\(source) has no recovery copy of a key"
        case .damaged(let source): "the recovery copy in \(source) is damaged, or another program's"
        case .wrongPassphrase(let source):
            "the passphrase does not open the recovery copy in \(source)"
        case .unusablePassphrase: "other programs would not accept this recovery passphrase"
        case .notSealed: "libcrypto made no container for the recovery copy"
        }
    }

    /// What to do about it.
    public var recoverySuggestion: String? {
        switch self {
        case .noSuchFile: "Check the path."
        case .notACopy:
            "Give the whole file, as it was written."
        case .damaged:
            "Nothing was stored. Take another copy of the file: every byte of it is needed."
        case .wrongPassphrase:
            """
            Nothing was stored. Either the passphrase has a typing error, or the file is damaged. \
            These look alike.
            """
        case .unusablePassphrase(let limit):
            "It must not be empty, must have at most \(limit) bytes, and no line break or NUL."
        case .notSealed: nil
        }
    }
}

extension RecoveryCopyError: CodedError {
    /// The error's code for programs, and its exit status.
    public var code: ErrorCode {
        switch self {
        case .noSuchFile: ErrorCode("noSuchKeyFile", .noInput)
        case .notACopy: ErrorCode("noRecoveryCopy", .dataError)
        case .damaged: ErrorCode("damagedRecoveryCopy", .dataError)
        case .wrongPassphrase: ErrorCode("wrongRecoveryPassphrase", .noPermission)
        case .unusablePassphrase: ErrorCode("unusableKey", .noPermission)
        case .notSealed: ErrorCode("noDerivation", .unavailable)
        }
    }
}
