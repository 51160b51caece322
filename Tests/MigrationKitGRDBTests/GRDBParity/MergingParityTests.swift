import GRDB
import MigrationKit
import MigrationKitGRDB
import TestSupport
import Testing

/// Steps that stand for earlier ones. See the table in `MigratorParityTests.swift`.
@Suite struct MergingParityTests {
    private typealias Step = MigrationStep<Database>

    private let store: EncryptedStore
    private let writer: DatabaseQueue
    private let old = (1...5).map { step("v\($0)", "CREATE TABLE t\($0) (a)") }
    private let tables = (1...5).map { "t\($0)" }

    init() throws {
        store = try EncryptedStore()
        writer = try store.open()
    }

    /// The list of a later release, in which one step stands for three.
    private func new(_ identifier: String, merging merged: Set<String>) -> [Step] {
        let merging = Step(identifier: identifier, sourceFile: "", merging: merged) { db, applied in
            #expect(!applied.contains(identifier))
            for number in 2...4 where !applied.contains("v\(number)") {
                try db.execute(sql: "CREATE TABLE t\(number) (a)")
            }
        }
        return [old[0], merging, old[4]]
    }

    /// A store of every old version, by this runner or by GRDB's migrator, comes to the new one.
    private func check(
        _ count: Int,
        _ steps: [Step],
        _ transaction: MigrationTransaction,
        expecting ledger: [String]
    ) throws {
        let prefix = Array(old.prefix(count))
        if count.isMultiple(of: 2) {
            try GRDBMigrationRunner(steps: prefix).migrate(in: writer)
        } else {
            try GRDBMigrationRunner(steps: prefix).migrator.migrate(writer)
        }
        let runner = try GRDBMigrationRunner(steps: steps)
        try runner.migrate(in: writer, options: .init(transaction: transaction))
        #expect(try Everything(of: writer).ledger == ledger)
        #expect(try writer.tables() == tables)
        #expect(try runner.migrate(in: writer).steps.isEmpty)
        #expect(try !runner.hasBeenSuperseded(in: writer))
        #expect(try writer.read(runner.migrator.hasCompletedMigrations))
    }

    @Test(arguments: 0...5, [MigrationTransaction.perStep, .allOrNothing])
    func mergedStepNamedLikeTheLast(
        _ count: Int,
        _ transaction: MigrationTransaction
    ) throws {
        let steps = new("v4", merging: ["v2", "v3"])
        try check(count, steps, transaction, expecting: ["v1", "v4", "v5"])
    }

    @Test(arguments: 0...5, [MigrationTransaction.perStep, .allOrNothing])
    func mergedStepThatNamesItself(_ count: Int, _ transaction: MigrationTransaction) throws {
        let steps = new("v4", merging: ["v2", "v3", "v4"])
        try check(count, steps, transaction, expecting: ["v1", "v4", "v5"])
    }

    @Test(arguments: 0...5, [MigrationTransaction.perStep, .allOrNothing])
    func mergedStepWithANewName(_ count: Int, _ transaction: MigrationTransaction) throws {
        let steps = new("v4bis", merging: ["v2", "v3", "v4"])
        try check(count, steps, transaction, expecting: ["v1", "v4bis", "v5"])
    }

    @Test func registeredStepCanNotBeMerged() throws {
        // GRDB applies "v2" and forgets it, and the next run trips over its table.
        var migrator = try GRDBMigrationRunner(steps: old).migrator
        migrator.registerMigration("v6", merging: ["v2"]) { _, _ in }
        try migrator.migrate(writer)
        #expect(throws: DatabaseError.self) { try migrator.migrate(writer) }

        let merging = Step(identifier: "v6", sourceFile: "", merging: ["v2"]) { _, _ in }
        #expect(throws: MigrationKitError.mergesRegisteredMigration(merged: "v2", by: "v6")) {
            try GRDBMigrationRunner(steps: old + [merging])
        }
    }

    @Test func stepThatFailsKeepsTheLedgerOfTheMergedOnes() throws {
        try GRDBMigrationRunner(steps: Array(old.prefix(3))).migrate(in: writer)
        let failing = Step(identifier: "v4", sourceFile: "", merging: ["v2", "v3"]) { db, applied in
            #expect(applied == ["v2", "v3"])
            try db.execute(sql: "CREATE TABLE t4 (a)")
            throw PlannedFailure()
        }
        let before = try Everything(of: writer)
        for transaction in [MigrationTransaction.perStep, .allOrNothing] {
            #expect(throws: PlannedFailure()) {
                try GRDBMigrationRunner(steps: [old[0], failing])
                    .migrate(in: writer, options: .init(transaction: transaction))
            }
            #expect(try Everything(of: writer) == before)
        }
    }

    @Test func nothingIsRolledBackFromUnderAMergedStep() throws {
        try GRDBMigrationRunner(steps: Array(old.prefix(3))).migrate(in: writer)
        let runner = try GRDBMigrationRunner(steps: [
            step("v1", "CREATE TABLE t1 (a)", down: "DROP TABLE t1"),
            new("v4", merging: ["v2", "v3"])[1],
        ])
        let before = try Everything(of: writer)
        #expect(throws: MigrationKitError.rollbackNotDefined("v3")) {
            try runner.rollbackLastMigration(in: writer)
        }
        #expect(throws: MigrationKitError.rollbackNotDefined("v3")) {
            try runner.rollbackMigration(identifier: "v1", in: writer)
        }
        #expect(try Everything(of: writer) == before)
    }

    @Test func storeOfMergedStepsHasNoBaseline() throws {
        try GRDBMigrationRunner(steps: [old[1], old[2]]).migrate(in: writer)
        let runner = try GRDBMigrationRunner(steps: new("v4", merging: ["v2", "v3"]))
        #expect(throws: MigrationKitError.baselineOnMigratedDatabase(latestApplied: "v3")) {
            try runner.baseline(in: writer, upTo: "v1")
        }
    }
}
