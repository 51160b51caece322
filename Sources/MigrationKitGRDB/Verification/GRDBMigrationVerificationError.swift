import MigrationKitCommon
import Foundation

/// Why a verification failed.
public enum GRDBMigrationVerificationError: Error, Equatable, Sendable {
    /// SQLite's `quick_check` found damage. `result` is the first line of its answer.
    case quickCheckFailed(result: String)

    /// Rows refer to parents that don't exist.
    case foreignKeyViolations(count: Int)

    /// A required index doesn't exist.
    case missingIndex(table: String, index: String)

    /// The table of a required index doesn't exist.
    case missingTable(table: String, index: String)
}

extension GRDBMigrationVerificationError: LocalizedError {
    /// What is wrong, in one line.
    public var errorDescription: String? {
        switch self {
        case .quickCheckFailed(let result):
            "the database is damaged: \(result)"
        case .foreignKeyViolations(let count):
            "\(count) \(count == 1 ? "row refers" : "rows refer") to a parent that doesn't exist"
        case .missingIndex(let table, let index):
            "the index '\(index)' on the table '\(table)' is missing"
        case .missingTable(let table, let index):
            "the table '\(table)' is missing, and with it the index '\(index)'"
        }
    }

    /// What to do about it.
    public var recoverySuggestion: String? {
        switch self {
        case .quickCheckFailed:
            "Restore the database from a backup. Until then, write nothing to it."
        case .foreignKeyViolations:
            "'PRAGMA foreign_key_check' lists them. Correct the rows, or the migration that left them."
        case .missingIndex, .missingTable:
            "Apply the migration that creates it, or correct the required name."
        }
    }
}

extension GRDBMigrationVerificationError: CodedError {
    /// The error's code for programs, and its exit status.
    public var code: ErrorCode { ErrorCode("verificationFailed", .verificationFailed) }
}
