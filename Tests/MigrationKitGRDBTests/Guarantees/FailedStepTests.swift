import Foundation
import GRDB
import MigrationKit
import MigrationKitGRDB
import TestSupport
import Testing

/// What an error of a run says about the step that failed.
@Suite struct FailedStepTests {
    private struct UnknownContext: LocalizedError {
        var errorDescription: String? { "unknown context" }
    }

    private let store: EncryptedStore

    init() throws {
        store = try EncryptedStore()
    }

    @Test(arguments: [MigrationTransaction.perStep, .allOrNothing])
    func anErrorOfSQLiteNamesItsStep(_ transaction: MigrationTransaction) throws {
        let writer = try store.open { $0.publicStatementArguments = true }
        let runner = try GRDBMigrationRunner(steps: [
            step("1_fine", "CREATE TABLE a (id)", down: "DROP TABEL a"),
            step("2_typo", "CREATE TABEL b (id)"),
            MigrationStep(identifier: "2_unique") { db in
                try db.execute(sql: "CREATE TABLE b (id UNIQUE)")
                for _ in 0..<2 {
                    try db.execute(sql: "INSERT INTO b VALUES (?)", arguments: ["shown"])
                }
            },
        ])
        let options = MigrationOptions(transaction: transaction)
        let error = #expect(throws: DatabaseError.self) {
            try runner.migrate(in: writer, options: options)
        }
        #expect(error?.message == #"near "TABEL": syntax error (in the migration 2_typo)"#)
        #expect(error?.extendedResultCode == .SQLITE_ERROR)
        #expect(error?.sql == "CREATE TABEL b (id)")
        let preview = #expect(throws: DatabaseError.self) { try runner.dryRun(in: writer) }
        #expect(preview?.message == error?.message)

        let unique = try GRDBMigrationRunner(steps: [runner.steps[0], runner.steps[2]])
        let violation = #expect(throws: DatabaseError.self) {
            try unique.migrate(in: writer, options: options)
        }
        #expect(violation?.extendedResultCode == .SQLITE_CONSTRAINT_UNIQUE)
        let text = "\(try #require(violation))"
        #expect(text.contains("(in the migration 2_unique)"))
        #expect(text.contains(#"["shown"]"#))

        let first = try GRDBMigrationRunner(steps: [runner.steps[0]])
        try first.migrate(in: writer)
        let back = #expect(throws: DatabaseError.self) {
            try first.rollbackMigrations(in: writer, steps: 1, options: options)
        }
        #expect(back?.message?.hasSuffix("(in the migration 1_fine)") == true)
    }

    @Test func anErrorOfTheHostIsThrownAsItIsAndLoggedWithItsStep() throws {
        let lines = Recorder<String>()
        let runner = try GRDBMigrationRunner(
            steps: [MigrationStep(identifier: "1_own") { _ in throw UnknownContext() }],
            log: { lines.append($0) }
        )
        #expect(throws: UnknownContext.self) { try runner.migrate(in: store.open()) }
        #expect(lines.values.last == "❌ 1_own failed: unknown context")
    }

    @Test func aTextOfARaiseIsThrownButNotLogged() throws {
        let lines = Recorder<String>()
        let runner = try GRDBMigrationRunner(
            steps: [
                step(
                    "1_raise",
                    """
                    CREATE TABLE a (b);
                    CREATE TRIGGER t BEFORE INSERT ON a
                    BEGIN SELECT RAISE(ABORT, 'a private matter'); END;
                    INSERT INTO a VALUES (1);
                    """
                )
            ],
            log: { lines.append($0) }
        )
        let error = #expect(throws: DatabaseError.self) { try runner.migrate(in: store.open()) }
        #expect(error?.message == "a private matter (in the migration 1_raise)")
        #expect(
            error?.messageWithoutValues == "a trigger refuses the row (in the migration 1_raise)"
        )
        #expect(lines.values.last == "❌ 1_raise failed: a trigger refuses the row")
    }

    @Test func aDatabaseForReadingIsRefusedBeforeAnything() throws {
        let runner = try GRDBMigrationRunner(steps: [
            step("1", "CREATE TABLE a (id)", down: "DROP TABLE a"),
            step("2", "CREATE TABLE b (id)", down: "DROP TABLE b"),
        ])
        let writer = try store.open()
        try runner.migrate(in: writer, upTo: "1")
        try writer.close()
        let reader = try store.open { $0.readonly = true }
        #expect(throws: MigrationKitError.readOnlyDatabase) { try runner.migrate(in: reader) }
        #expect(throws: MigrationKitError.readOnlyDatabase) {
            try runner.rollbackLastMigration(in: reader)
        }
        #expect(throws: MigrationKitError.readOnlyDatabase) {
            try runner.baseline(in: reader, upTo: "2")
        }
        // Nothing to do is no error.
        let done = try GRDBMigrationRunner(steps: [runner.steps[0]])
        #expect(try done.migrate(in: reader).steps.isEmpty)
        #expect(
            MigrationKitError.readOnlyDatabase.errorDescription
                == "the database was opened for reading only, and can't be changed"
        )
        #expect(try store.folder.names == ["store.db"])
    }
}
