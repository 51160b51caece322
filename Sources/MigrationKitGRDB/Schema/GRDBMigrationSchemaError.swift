import MigrationKitCommon
import Foundation

/// The schema that a run leaves can't be read by a connection that has never seen it.
public struct GRDBMigrationSchemaError: Error, Equatable, Sendable {
    /// What SQLite says, such as `malformed database schema (item)`.
    public let message: String

    /// Whether the disk doesn't give the file, which SQLCipher calls damaged then.
    public let isReadFailure: Bool

    /// Creates an error.
    ///
    /// - Parameters:
    ///   - message: What SQLite says.
    ///   - isReadFailure: Whether the disk doesn't give the file.
    public init(message: String, isReadFailure: Bool = false) {
        self.message = message
        self.isReadFailure = isReadFailure
    }
}

extension GRDBMigrationSchemaError: LocalizedError {
    /// What is wrong, in one line.
    public var errorDescription: String? {
        isReadFailure
            ? "the disk doesn't give the schema" : "the schema can't be read: \(message)"
    }

    /// What to do about it.
    public var recoverySuggestion: String? {
        guard !isReadFailure else { return "Check the disk and the system's log." }
        return """
            A migration that sets 'writable_schema' can write anything into 'sqlite_schema': correct \
            what it writes. If it was committed, restore the database from a backup.
            """
    }
}

extension GRDBMigrationSchemaError: CodedError {
    /// What programs are given of the error.
    public var code: ErrorCode {
        // A check that the disk prevents says nothing of what is checked.
        isReadFailure
            ? ErrorCode("inputOutput", .inputOutput)
            : ErrorCode("verificationFailed", .verificationFailed)
    }
}
