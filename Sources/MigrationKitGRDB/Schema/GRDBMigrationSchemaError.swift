import MigrationKitCommon
import Foundation

/// A new connection can't read the schema that a run produced.
public struct GRDBMigrationSchemaError: Error, Equatable, Sendable {
    /// SQLite's message, such as `malformed database schema (item)`.
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
    /// The error's code for programs, and its exit status.
    public var code: ErrorCode {
        // If the disk prevents a check, nothing is known about what it checks.
        isReadFailure
            ? ErrorCode("inputOutput", .inputOutput)
            : ErrorCode("verificationFailed", .verificationFailed)
    }
}
