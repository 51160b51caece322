import GRDB
import MigrationKit
import MigrationKitSchema
import TestSupport
import Testing

/// The queries on a connection: inside a transaction, and on a snapshot.
@Suite struct QueryTests {
    private let store: EncryptedStore
    private let steps: [MigrationStep<Database>]

    init() throws {
        store = try EncryptedStore()
        steps = [
            Self.first(checksum: "one"), step("2", "CREATE TABLE b (id)"),
            step("3", "CREATE TABLE c (id)"),
        ]
    }

    private static func first(checksum: String) -> MigrationStep<Database> {
        MigrationStep(identifier: "1", checksum: checksum) { db in
            try db.execute(sql: "CREATE TABLE a (id)")
        }
    }

    @Test func queriesSeeTheTransactionThatTheyRunIn() throws {
        let writer = try store.open()
        let runner = try GRDBMigrationRunner(steps: steps)
        try runner.migrate(in: writer, upTo: "2")
        try writer.inTransaction { db in
            #expect(try runner.appliedMigrations(in: db) == ["1", "2"])
            try db.execute(sql: "INSERT INTO grdb_migrations VALUES ('3'), ('9')")
            #expect(try runner.appliedMigrations(in: db) == ["1", "2", "3"])
            #expect(try runner.appliedMigrationIdentifiers(in: db) == ["1", "2", "3", "9"])
            #expect(try runner.pendingMigrationIdentifiers(in: db).isEmpty)
            #expect(try !runner.hasPendingMigrations(in: db))
            #expect(try runner.hasCompletedMigrations(in: db))
            #expect(try runner.completedMigrationIdentifiers(in: db) == ["1", "2", "3"])
            #expect(try runner.hasBeenSuperseded(in: db))
            #expect(try runner.hasSchemaChanges(in: db))
            #expect(try runner.migrationStatus(in: db).map(\.state) == [.up, .up, .up])
            #expect(try runner.overview(of: db).newer == ["9"])
            #expect(try runner.migrationRecords(in: db).keys.sorted() == ["1", "2"])
            #expect(try GRDBMigrationRunner.history(in: db).map(\.identifier) == ["1", "2"])
            return .rollback
        }
        #expect(try runner.pendingMigrationIdentifiers(in: writer) == ["3"])
    }

    @Test func schemaChangesAreFoundInsideATransaction() throws {
        let writer = try store.open()
        let runner = try GRDBMigrationRunner(steps: steps)
        try runner.migrate(in: writer)
        try writer.inTransaction { db in
            #expect(try !runner.hasSchemaChanges(in: db))
            try db.execute(sql: "ALTER TABLE a ADD COLUMN b")
            #expect(try runner.hasSchemaChanges(in: db))
            return .rollback
        }
        #expect(try !runner.hasSchemaChanges(in: writer))
        let edited = try GRDBMigrationRunner(
            steps: [Self.first(checksum: "other")] + steps[1...]
        )
        #expect(try writer.read { try edited.changedMigrationIdentifiers(in: $0) } == ["1"])
        let shorter = try GRDBMigrationRunner(steps: [steps[0], steps[2]])
        #expect(try writer.read { try shorter.missingMigrationIdentifiers(in: $0) } == ["2"])
    }

    @Test func aSnapshotKeepsItsAnswer() throws {
        let pool = try store.openPool()
        let runner = try GRDBMigrationRunner(steps: steps)
        try runner.migrate(in: pool, upTo: "1")
        let snapshot = try pool.makeSnapshot()
        try runner.migrate(in: pool)
        #expect(try runner.pendingMigrationIdentifiers(in: snapshot) == ["2", "3"])
        #expect(try snapshot.read { try runner.hasPendingMigrations(in: $0) })
        #expect(try !runner.hasSchemaChanges(in: snapshot))
        #expect(try runner.appliedMigrations(in: snapshot) == ["1"])
        #expect(try !runner.hasPendingMigrations(in: pool))
    }
}
