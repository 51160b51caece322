import GRDB
import MigrationKitKeys
import MigrationKit
import MigrationKitGRDB
import MigrationKitSQLCipher
import TestSupport
import Testing

/// An encrypted file goes from GRDB's own migrator to the runner and back.
@Suite struct EncryptedInteroperabilityTests {
    private let store: EncryptedStore
    private let steps = itemSteps() + [step("0004_rows", "INSERT INTO item VALUES (1, 'a')")]

    init() throws {
        store = try EncryptedStore()
    }

    private func migrator(_ steps: some Sequence<MigrationStep<Database>>) -> DatabaseMigrator {
        var migrator = DatabaseMigrator()
        for step in steps { migrator.registerMigration(step.identifier, migrate: step.apply) }
        return migrator
    }

    /// As an app on plain GRDB opens its store.
    private func openPlainGRDB() throws -> DatabaseQueue {
        try store.open { _ in }
    }

    @Test(arguments: 0...4, [MigrationTransaction.perStep, .allOrNothing])
    func runnerContinuesWhatGRDBBegan(_ count: Int, _ transaction: MigrationTransaction) throws {
        let app = try openPlainGRDB()
        try migrator(steps.prefix(count)).migrate(app)
        try app.close()

        let writer = try store.open()
        let runner = try GRDBMigrationRunner(steps: steps)
        let report = try runner.migrate(in: writer, options: .init(transaction: transaction))
        #expect(report.steps.map(\.identifier) == steps.dropFirst(count).map(\.identifier))
        #expect(try writer.number("SELECT count(*) FROM item") == 1)
        #expect(try store.isEncrypted)
    }

    @Test(arguments: WriterKind.allCases, [MigrationTransaction.perStep, .allOrNothing])
    func grdbFindsNothingToDo(_ kind: WriterKind, _ transaction: MigrationTransaction) throws {
        let writer = try kind.open(store)
        try GRDBMigrationRunner(steps: steps)
            .migrate(in: writer, options: .init(transaction: transaction))
        try writer.close()

        let app = try openPlainGRDB()
        let migrator = migrator(steps)
        try app.read { (db: Database) throws in
            #expect(try migrator.hasCompletedMigrations(db))
            #expect(try migrator.appliedMigrations(db) == steps.map(\.identifier))
            #expect(try !migrator.hasBeenSuperseded(db))
        }
        let before = try Everything(of: app)
        try migrator.migrate(app)
        #expect(try Everything(of: app) == before)
        #expect(try store.isEncrypted)
    }

    @Test(arguments: 1...3)
    func grdbContinuesWhatTheRunnerBegan(_ count: Int) throws {
        let writer = try store.open()
        try GRDBMigrationRunner(steps: Array(steps.prefix(count))).migrate(in: writer)
        try writer.close()

        let app = try openPlainGRDB()
        try migrator(steps).migrate(app)
        #expect(try app.read(migrator(steps).hasCompletedMigrations))
        #expect(try app.number("SELECT count(*) FROM item") == 1)
        #expect(try GRDBMigrationRunner(steps: steps).migrate(in: app).steps.isEmpty)
    }

    @Test func grdbAppliesAgainWhatTheRunnerRolledBack() throws {
        let writer = try store.open()
        let runner = try GRDBMigrationRunner(steps: itemSteps())
        try migrator(itemSteps()).migrate(writer)
        try runner.rollbackMigrations(in: writer, steps: 2)
        #expect(try writer.read(migrator(itemSteps()).completedMigrations) == ["0001_items"])
        try migrator(itemSteps()).migrate(writer)
        #expect(try !runner.hasPendingMigrations(in: writer))
    }

    @Test func theRunnersOwnMigratorHasTheSameSteps() throws {
        let writer = try store.open()
        let runner = try GRDBMigrationRunner(steps: steps)
        #expect(runner.migrator.migrations == runner.migrationIdentifiers)
        try runner.migrator.migrate(writer)
        #expect(try runner.hasCompletedMigrations(in: writer))
    }
}
