import MigrationKitCommon
import Foundation

/// The schema that a run leaves can't be read by a connection that has never seen it.
public struct GRDBMigrationSchemaError: Error, Equatable, Sendable {
    /// What SQLite says, such as `malformed database schema (item)`.
    public let message: String

    /// Creates an error.
    ///
    /// - Parameter message: What SQLite says.
    public init(message: String) {
        self.message = message
    }
}

extension GRDBMigrationSchemaError: LocalizedError {
    /// What is wrong, in one line.
    public var errorDescription: String? {
        "the schema can't be read: \(message)"
    }

    /// What to do about it.
    public var recoverySuggestion: String? {
        """
        A migration that sets 'writable_schema' can write anything into 'sqlite_schema': correct \
        what it writes. If it was committed, restore the database from a backup.
        """
    }
}

extension GRDBMigrationSchemaError: CodedError {
    /// What programs are given of the error.
    public var code: ErrorCode { ErrorCode("verificationFailed", .verificationFailed) }
}
