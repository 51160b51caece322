import GRDB
import MigrationKit
import MigrationKitGRDB
import TestSupport
import Testing

/// Steps that can't be in a transaction.
@Suite struct WithoutTransactionTests {
    private let store: EncryptedStore
    private let writer: DatabaseQueue

    init() throws {
        store = try EncryptedStore()
        writer = try store.open()
    }

    private func alone(
        _ identifier: String,
        down: String? = nil,
        apply: @escaping @Sendable (Database) throws -> Void
    ) -> MigrationStep<Database> {
        var rollback: (@Sendable (Database) throws -> Void)?
        if let down { rollback = { try $0.execute(sql: down) } }
        return MigrationStep(
            identifier: identifier,
            sourceFile: "",
            usesTransaction: false,
            apply: apply,
            rollback: rollback
        )
    }

    private func alone(_ identifier: String, _ sql: String, down: String? = nil)
        -> MigrationStep<Database>
    {
        alone(identifier, down: down) { try $0.execute(sql: sql) }
    }

    @Test func vacuumAndJournalModeRunBetweenOtherSteps() throws {
        let runner = try GRDBMigrationRunner(steps: [
            step("0001", "CREATE TABLE a (id); INSERT INTO a VALUES (1)"),
            alone("0002_vacuum", "PRAGMA auto_vacuum = FULL; VACUUM"),
            alone("0003_wal", "PRAGMA journal_mode = WAL"),
            step("0004", "CREATE TABLE b (id)"),
        ])
        let report = try runner.migrate(in: writer)
        #expect(report.steps.map(\.identifier) == runner.migrationIdentifiers)
        #expect(report.verified)
        #expect(try Everything(of: writer).ledger == runner.migrationIdentifiers)
        #expect(try writer.number("PRAGMA auto_vacuum") == 1)
        #expect(try writer.strings("PRAGMA journal_mode") == ["wal"])
        #expect(try writer.number("SELECT count(*) FROM a") == 1)
        #expect(try store.isEncrypted)
    }

    @Test func suchAStepCanBeTheLastOneAndRolledBack() throws {
        let runner = try GRDBMigrationRunner(steps: [
            step("0001", "CREATE TABLE a (id)"),
            alone("0002_wal", "PRAGMA journal_mode = WAL", down: "PRAGMA journal_mode = DELETE"),
        ])
        try runner.migrate(in: writer)
        #expect(try writer.strings("PRAGMA journal_mode") == ["wal"])
        let report = try runner.rollbackLastMigration(in: writer)
        #expect(report.steps.map(\.identifier) == ["0002_wal"])
        #expect(try writer.strings("PRAGMA journal_mode") == ["delete"])
        #expect(try Everything(of: writer).ledger == ["0001"])
    }

    @Test func aStepWithoutATransactionKeepsTheConnectionsForeignKeys() throws {
        try GRDBMigrationRunner(steps: [
            alone("0001") { (db: Database) throws in
                #expect(!db.isInsideTransaction)
                #expect(try Bool.fetchOne(db, sql: "PRAGMA foreign_keys") == true)
                #expect(db.schemaSource == nil)
            }
        ]).migrate(in: writer)
    }

    @Test func aStepWithoutATransactionIsRecordedOnlyAfterItSucceeded() throws {
        let failing = alone("0002") { db in
            try db.execute(sql: "CREATE TABLE IF NOT EXISTS b (id)")
            throw PlannedFailure()
        }
        let first = step("0001", "CREATE TABLE a (id)")
        #expect(throws: PlannedFailure()) {
            try GRDBMigrationRunner(steps: [first, failing]).migrate(in: writer)
        }
        #expect(try Everything(of: writer).ledger == ["0001"])

        // It runs again, and must bear that.
        let mended = alone("0002", "CREATE TABLE IF NOT EXISTS b (id)")
        try GRDBMigrationRunner(steps: [first, mended]).migrate(in: writer)
        #expect(try Everything(of: writer).ledger == ["0001", "0002"])
    }

    @Test func suchAStepIsNotRecordedWhereTheVerificationFails() throws {
        let runner = try GRDBMigrationRunner(
            steps: [alone("0001", "VACUUM")],
            integration: .init(verifyBeforeCommit: { _ in throw PlannedFailure() })
        )
        #expect(throws: PlannedFailure()) { try runner.migrate(in: writer) }
        #expect(try Everything(of: writer).ledger.isEmpty)
    }

    @Test func failingRollbackOfSuchAStepLeavesItApplied() throws {
        let runner = try GRDBMigrationRunner(steps: [alone("0001", "VACUUM", down: "nonsense")])
        try runner.migrate(in: writer)
        #expect(throws: DatabaseError.self) { try runner.rollbackLastMigration(in: writer) }
        #expect(try Everything(of: writer).ledger == ["0001"])
    }

    @Test func transactionThatItLeavesOpenIsUndone() throws {
        let runner = try GRDBMigrationRunner(steps: [
            alone("0001", "BEGIN; CREATE TABLE half (id)")
        ])
        #expect(throws: MigrationKitError.stepEndedTransaction("0001")) {
            try runner.migrate(in: writer)
        }
        #expect(try writer.tables().isEmpty)
        #expect(try Everything(of: writer).ledger.isEmpty)
    }

    @Test(arguments: ["FILE", "MEMORY", "DEFAULT"])
    func temporaryStorageIsAsItWasAfterwards(_ value: String) throws {
        #expect(try writer.number("PRAGMA temp_store") == 1)
        try GRDBMigrationRunner(steps: [alone("0001", "PRAGMA temp_store = \(value)")])
            .migrate(in: writer)
        #expect(try writer.number("PRAGMA temp_store") == 1)
    }

    @Test func suchAStepIsRefusedInABatchBeforeAnythingRuns() throws {
        let runner = try GRDBMigrationRunner(steps: [
            step("0001", "CREATE TABLE a (id)", down: "DROP TABLE a"),
            alone("0002_vacuum", "VACUUM", down: "VACUUM"),
        ])
        let refusal = MigrationKitError.notForAllOrNothing("0002_vacuum", .usesNoTransaction)
        let options = MigrationOptions(transaction: .allOrNothing)
        #expect(throws: refusal) { try runner.migrate(in: writer, options: options) }
        #expect(throws: refusal) { try runner.dryRun(in: writer, options: options) }
        #expect(try Everything(of: writer).schema.isEmpty)
        // Up to it, the rest can be all or nothing.
        try runner.migrate(in: writer, upTo: "0001", options: options)
        try runner.migrate(in: writer)
        let before = try Everything(of: writer)
        #expect(throws: refusal) {
            try runner.rollbackMigrations(in: writer, steps: 2, options: options)
        }
        #expect(try Everything(of: writer) == before)
    }

    /// A dry run is one transaction. What can't be in it may be what the later steps need.
    @Test func aDryRunEndsBeforeWhatItCantUndo() throws {
        let runner = try GRDBMigrationRunner(steps: [
            step("0001", "CREATE TABLE a (id)"),
            alone("0002_alone", "CREATE TABLE b (id)"),
            step("0003", "INSERT INTO b VALUES (1)"),
        ])
        let preview = try runner.dryRun(in: writer)
        #expect(preview.steps.map(\.identifier) == ["0001"])
        #expect(preview.notTried == ["0002_alone", "0003"])
        #expect(preview.objects.map(\.name) == ["a"])
        #expect(try Everything(of: writer).schema.isEmpty)
        #expect(try runner.dryRun(in: writer, upTo: "0001").notTried == [])
        #expect(try runner.dryRun(in: writer, steps: 2).notTried == ["0002_alone"])
        try runner.migrate(in: writer, upTo: "0001")
        let rest = try runner.dryRun(in: writer)
        #expect(rest.steps.isEmpty)
        #expect(rest.notTried == ["0002_alone", "0003"])
        try runner.migrate(in: writer)
        #expect(try runner.dryRun(in: writer).notTried == [])
    }

    /// Foreign keys can't be turned off in a transaction.
    @Test func aDryRunEndsBeforeOtherChecksOfForeignKeys() throws {
        let runner = try GRDBMigrationRunner(steps: [
            step("0001", "CREATE TABLE a (id)"),
            MigrationStep(identifier: "0002", foreignKeyChecks: .immediate) { _ in },
        ])
        #expect(try runner.dryRun(in: writer).notTried == ["0002"])
        try runner.migrate(in: writer)
    }
}
