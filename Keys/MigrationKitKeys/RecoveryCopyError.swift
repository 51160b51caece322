import FoundationEssentials
import MigrationKitCommon

/// Why a recovery copy of a key can't be made or read.
package enum RecoveryCopyError: Error, Equatable, Sendable {
    /// The file is neither a container nor the lines of a paper copy.
    case notACopy(source: String)
    /// There is no such file.
    case noSuchFile(path: String)
    /// The container is damaged, cut short, or another program's.
    case damaged(source: String)
    /// The passphrase is wrong, or the container is damaged. These look alike.
    case wrongPassphrase(source: String)
    /// Other programs can't be given this passphrase.
    case unusablePassphrase(limit: Int)
    /// A line of a paper copy has a typing error, or belongs to another copy.
    case wrongLine(Int)
    /// A line of a paper copy is missing.
    case missingLine(Int, of: Int)
    /// The passphrase is too long to be typed from paper.
    case tooLongForPaper(limit: Int)
    /// libcrypto made no container.
    case notSealed
}

extension RecoveryCopyError: LocalizedError {
    /// What is wrong, in one line.
    package var errorDescription: String? {
        switch self {
        case .noSuchFile(let path): "there is no recovery copy \"\(path)\""
        case .notACopy(let source): "\(source) has no recovery copy of a key"
        case .damaged(let source): "the recovery copy in \(source) is damaged, or another program's"
        case .wrongPassphrase(let source):
            "the passphrase does not open the recovery copy in \(source)"
        case .unusablePassphrase: "other programs would not accept this recovery passphrase"
        case .wrongLine(let number): "line \(number) of the paper copy is wrong"
        case .missingLine(let number, let count):
            "line \(number) of the \(count) lines of the paper copy is missing"
        case .tooLongForPaper(let limit): "the passphrase is longer than \(limit) bytes"
        case .notSealed: "libcrypto made no container for the recovery copy"
        }
    }

    /// What to do about it.
    package var recoverySuggestion: String? {
        switch self {
        case .noSuchFile: "Check the path."
        case .notACopy:
            """
            Give the file that 'key export --output' wrote, or the lines that 'key export --paper' \
            printed.
            """
        case .damaged:
            "Nothing was stored. Take another copy of the file: every byte of it is needed."
        case .wrongPassphrase:
            """
            Nothing was stored. Either the passphrase has a typing error, or the file is damaged. \
            These look alike.
            """
        case .unusablePassphrase(let limit):
            "It must not be empty, must have at most \(limit) bytes, and no line break or NUL."
        case .wrongLine:
            """
            Nothing was stored. Compare the line letter by letter: there is no 0, 1, 8 or 9, only \
            O, I and B. If it is right, it belongs to another copy.
            """
        case .missingLine:
            "Nothing was stored. Every line of the copy is needed."
        case .tooLongForPaper:
            "Use 'key export --output', and keep the file."
        case .notSealed: nil
        }
    }
}

extension RecoveryCopyError: CodedError {
    /// The error's code for programs, and its exit status.
    package var code: ErrorCode {
        switch self {
        case .noSuchFile: ErrorCode("noSuchKeyFile", .noInput)
        case .notACopy: ErrorCode("noRecoveryCopy", .dataError)
        case .damaged, .wrongLine, .missingLine: ErrorCode("damagedRecoveryCopy", .dataError)
        case .wrongPassphrase: ErrorCode("wrongRecoveryPassphrase", .noPermission)
        case .unusablePassphrase, .tooLongForPaper: ErrorCode("unusableKey", .noPermission)
        case .notSealed: ErrorCode("noDerivation", .unavailable)
        }
    }
}
