import Foundation
import GRDB
import MigrationKit
import MigrationKitCommon

/// Writes the schema that a list of migrations produces, as SQL.
///
/// ```swift
/// let provider = GRDBSchemaSnapshotProvider(migrate: { try runner.migrate(in: $0) })
/// let sql = try provider.generateCanonicalSnapshot()
/// ```
///
/// The migrations run on a new database in memory. The snapshot keeps the text of every `CREATE`
/// statement as its author wrote it. Tables come first, then indexes, views and triggers, each kind
/// sorted by name, so that the text can be loaded again. Internal tables of SQLite, GRDB or a
/// virtual table are left out. `user_version` and `application_id` come before all, unless they are 0.
public struct GRDBSchemaSnapshotProvider: SchemaSnapshotProvider, Sendable {
    private let configuration: Configuration
    private let migrate: @Sendable (DatabaseQueue) throws -> Void
    private let postProcess: @Sendable (String) -> String

    /// Creates a provider.
    ///
    /// - Parameters:
    ///   - configuration: The configuration of the database in memory. Register in its
    ///     `prepareDatabase` the functions and collations that the migrations use.
    ///   - migrate: Migrates the empty database that it gets.
    ///   - postProcess: Changes the final text.
    public init(
        configuration: Configuration = Configuration(),
        migrate: @escaping @Sendable (DatabaseQueue) throws -> Void,
        postProcess: @escaping @Sendable (String) -> String = { $0 }
    ) {
        self.configuration = configuration
        self.migrate = migrate
        self.postProcess = postProcess
    }

    /// Migrates an empty database in memory and returns its schema.
    ///
    /// - Returns: SQL that creates the schema; empty if there is none.
    /// - Throws: What a migration throws.
    public func generateCanonicalSnapshot() throws -> String {
        let queue = try DatabaseQueue(configuration: configuration)
        try migrate(queue)
        return postProcess(try queue.read(Self.snapshot(of:)))
    }

    /// Returns the schema of an open database.
    ///
    /// - Parameter db: A connection to the database.
    /// - Returns: SQL that creates the schema; empty if there is none.
    /// - Throws: A `DatabaseError` if the schema can't be read.
    public static func snapshot(of db: Database) throws -> String {
        let numbers = try ["user_version", "application_id"].compactMap { name -> String? in
            let number = try Int.fetchOne(db, sql: "PRAGMA main.\(name)") ?? 0
            return number == 0 ? nil : "PRAGMA \(name) = \(number)"
        }
        return try (numbers + SchemaObject.own(of: db).map(\.sql)).script
    }
}

// MARK: - GRDB Migration Schema Error

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
