import Common
import Foundation

/// A reason for which nothing can be brought back that lies in the file.
public enum DatabaseSalvageError: Error, Equatable, Sendable {
    /// The key opens no page, with the salt in the file nor with one that differs from it in one bit.
    case opensNothing(path: String)

    /// A database that is said not to be encrypted has no page that makes sense.
    case noDatabase(path: String)
}

extension DatabaseSalvageError: LocalizedError {
    /// What went wrong, in one line that stands alone.
    public var errorDescription: String? {
        switch self {
        case .opensNothing(let path):
            "the key opens no page of \(path)"
        case .noDatabase(let path):
            "no page of \(path) is a database's"
        }
    }

    /// What can be done about it.
    public var recoverySuggestion: String? {
        switch self {
        case .opensNothing:
            """
            It is another database's key, or the first 16 bytes of the file, its salt, are damaged \
            in more than one bit, which can't be told apart. With an intact copy of the same file, \
            such as an old backup, whose first 16 bytes are the salt, copy these over a copy of \
            the damaged file; or give the raw key with its salt, 96 hexadecimal digits.
            """
        case .noDatabase:
            "It is encrypted, or no database, or all of it was overwritten."
        }
    }
}

extension DatabaseSalvageError: CodedError {
    /// What programs are given of the error.
    public var code: ErrorCode {
        switch self {
        case .opensNothing: ErrorCode("wrongKey", .noPermission)
        case .noDatabase: ErrorCode("notADatabase", .noInput)
        }
    }
}
