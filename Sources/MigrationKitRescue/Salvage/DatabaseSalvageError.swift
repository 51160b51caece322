import Foundation
import MigrationKitCommon

/// Why nothing can be recovered from a file.
public enum DatabaseSalvageError: Error, Equatable, Sendable {
    /// The key opens no page, neither with the salt in the file nor with one that differs in one
    /// bit.
    case opensNothing(path: String)

    /// A database that should be plaintext has no page that makes sense.
    case noDatabase(path: String)
}

extension DatabaseSalvageError: LocalizedError {
    /// What went wrong, in one line.
    public var errorDescription: String? {
        switch self {
        case .opensNothing(let path):
            "the key opens no page of \(path)"
        case .noDatabase(let path):
            "\(path) has no page of a database"
        }
    }

    /// What to do about it.
    public var recoverySuggestion: String? {
        switch self {
        case .opensNothing:
            """
            Either the key is wrong, or more than one bit of the salt (the first 16 bytes) is \
            damaged. If you have an older copy of the same file, copy its first 16 bytes over \
            those of a copy of the damaged file. Or give the raw key with its salt, 96 hexadecimal \
            digits.
            """
        case .noDatabase:
            "It is encrypted, not a database, or completely overwritten."
        }
    }
}

extension DatabaseSalvageError: CodedError {
    /// The error's code for programs, and its exit status.
    public var code: ErrorCode {
        switch self {
        case .opensNothing: ErrorCode("wrongKey", .noPermission)
        case .noDatabase: ErrorCode("notADatabase", .noInput)
        }
    }
}
