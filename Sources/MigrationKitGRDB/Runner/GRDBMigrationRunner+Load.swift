import MigrationKitCommon
import Foundation
import GRDB
import MigrationKit

extension GRDBMigrationRunner {
    /// Creates the schema of an empty database from a dump instead of by running the steps, and
    /// records the dump's steps as applied.
    ///
    /// The dump fills the ledger's table, which names them. The result is verified before the
    /// commit.
    ///
    /// - Parameters:
    ///   - writer: The database, opened for writing. Nobody else may use it yet.
    ///   - options: How long to wait for another process, and the cancellation.
    ///   - dump: Creates the tables and the ledger.
    /// - Returns: The identifiers that were recorded, in order.
    /// - Throws: ``SchemaLoadError``; a ``GRDBMigrationVerificationError``; what the dump throws; a
    ///   `CancellationError`.
    package func load(
        in writer: any DatabaseWriter,
        options: MigrationOptions = MigrationOptions(),
        dump: (Database) throws -> Void
    ) throws -> [String] {
        let identifiers = try MigrationLock.hold(for: writer, options: options) {
            try DurableCommits.during(on: writer) {
                try writer.barrierWriteWithoutTransaction { db in
                    defer { db.forgetSchema() }
                    return try loadAlone(in: db, options: options, dump: dump)
                }
            }
        }
        guard let last = identifiers.last else { throw SchemaLoadError.noLedger }
        try baseline(in: writer, upTo: last, options: options)
        try writer.readSchemaAnew()
        if identifiers.count == migrationIdentifiers.count {
            try integration.verifyPostMigration?(writer)
        }
        return identifiers
    }

    private func loadAlone(
        in db: Database,
        options: MigrationOptions,
        dump: (Database) throws -> Void
    ) throws -> [String] {
        let monitor = RunMonitor(direction: .forward, options: options)
        var identifiers: [String] = []
        try StepTransaction.withForeignKeysOff(db, if: true) {
            try db.inTransaction(.immediate) {
                guard try isEmpty(db) else { throw SchemaLoadError.notEmpty }
                try monitor.watching(db) {
                    try StepTransaction(on: db).run("the dump", mayFillLedger: true, dump)
                    identifiers = try self.identifiers(recordedIn: db)
                    // Recorded again afterwards, with all details.
                    try db.execute(sql: "DROP TABLE grdb_migrations")
                    try verify(
                        db,
                        isComplete: identifiers.count == migrationIdentifiers.count,
                        checksForeignKeys: true
                    )
                }
                try monitor.operation.checkCancellation()
                return .commit
            }
        }
        return identifiers
    }

    private func isEmpty(_ db: Database) throws -> Bool {
        try Int.fetchOne(db, sql: "SELECT count(*) FROM sqlite_master") == 0
    }

    /// What the dump has written to the ledger, in the order of the steps. The steps must be the
    /// first ones of the registry.
    private func identifiers(recordedIn db: Database) throws -> [String] {
        let recorded = try MigrationLedger.read(db)
        guard !recorded.isEmpty else { throw SchemaLoadError.noLedger }
        let unknown = recorded.subtracting(migrationIdentifiers)
        guard unknown.isEmpty else {
            throw SchemaLoadError.unknownMigrations(unknown.sorted())
        }
        let beginning = Array(migrationIdentifiers.prefix(recorded.count))
        let missing = beginning.filter { !recorded.contains($0) }
        guard missing.isEmpty else { throw SchemaLoadError.missingMigrations(missing) }
        return beginning
    }
}

/// Why a database can't be created from a dump.
package enum SchemaLoadError: Error, Equatable, Sendable {
    /// The database isn't empty.
    case notEmpty

    /// The dump doesn't list its migrations.
    case noLedger

    /// The dump has migrations that the runner doesn't have.
    case unknownMigrations([String])

    /// The dump has later migrations, but not these.
    case missingMigrations([String])
}

extension SchemaLoadError: LocalizedError {
    package var errorDescription: String? {
        switch self {
        case .notEmpty:
            "the database is not empty"
        case .noLedger:
            "the dump doesn't list its migrations"
        case .unknownMigrations(let identifiers):
            "the dump has unknown migrations: "
                + identifiers.joined(separator: ", ")
        case .missingMigrations(let identifiers):
            "the dump has later migrations, but lacks: "
                + identifiers.joined(separator: ", ")
        }
    }

    package var recoverySuggestion: String? {
        switch self {
        case .notEmpty:
            "A dump can only be loaded into a new database."
        case .noLedger:
            """
            'schema-dump' writes these lines at the end:
              CREATE TABLE grdb_migrations (identifier TEXT NOT NULL PRIMARY KEY);
              INSERT INTO grdb_migrations (identifier) VALUES ('0001_name');
            """
        case .unknownMigrations:
            """
            A newer release wrote it, or migrations were renamed or removed. Use a dump of these \
            migrations.
            """
        case .missingMigrations:
            "They may come from another branch. Create the dump again."
        }
    }
}

extension SchemaLoadError: CodedError {
    /// The error's code for programs, and its exit status.
    public var code: ErrorCode {
        switch self {
        case .notEmpty: ErrorCode("databaseExists", .cannotCreate)
        case .noLedger: ErrorCode("unusableDump", .dataError)
        case .unknownMigrations, .missingMigrations: ErrorCode("dumpMigrationsDiffer", .dataError)
        }
    }
}
