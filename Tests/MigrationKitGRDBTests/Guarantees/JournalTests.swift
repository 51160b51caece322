import Foundation
import GRDB
import MigrationKit
import MigrationKitGRDB
import TestSupport
import Testing

/// What is remembered of the steps, and that a step stays what it was when it was applied.
@Suite struct JournalTests {
    let store: EncryptedStore
    let writer: DatabaseQueue

    init() throws {
        store = try EncryptedStore()
        writer = try store.open()
    }

    /// Steps with checksums: `a` makes a table, `b` another one, `c` runs outside of a transaction.
    private static func runner(_ checksums: [String: String] = [:]) throws -> GRDBMigrationRunner {
        let names = ["0001_a", "0002_b", "0003_c"]
        return try GRDBMigrationRunner(
            steps: names.map { name in
                MigrationStep(
                    identifier: name,
                    sourceFile: "\(name).sql",
                    usesTransaction: name != "0003_c",
                    checksum: checksums[name] ?? "sum of \(name)",
                    apply: { try $0.execute(sql: "CREATE TABLE t\(name) (id)") },
                    rollback: { try $0.execute(sql: "DROP TABLE t\(name)") }
                )
            }
        )
    }

    private var history: [String] {
        get throws {
            try GRDBMigrationRunner.history(in: writer).map { "\($0.event) \($0.identifier)" }
        }
    }

    @Test func mergingStepThatWasChangedIsRefused() throws {
        func runner(_ checksum: String) throws -> GRDBMigrationRunner {
            let merging = MigrationStep<Database>(
                identifier: "0002_ab",
                merging: ["0001_a", "0002_b"],
                checksum: checksum
            ) { _, _ in }
            return try GRDBMigrationRunner(steps: [merging])
        }
        try runner("one").migrate(in: writer)
        try runner("one").migrate(in: writer)
        #expect(throws: MigrationKitError.changedAfterApplied(["0002_ab"])) {
            try runner("another").migrate(in: writer)
        }
    }

    @Test(arguments: [MigrationTransaction.perStep, .allOrNothing])
    func everyStepIsNotedWithItsTimeItsDurationAndItsChecksum(
        _ transaction: MigrationTransaction
    ) throws {
        let options = MigrationOptions(transaction: transaction)
        let start = Date()
        let runner = try Self.runner()
        try runner.migrate(in: writer, upTo: "0002_b", options: options)
        try runner.rollbackLastMigration(in: writer, options: options)
        try runner.migrate(in: writer, upTo: "0002_b", options: options)
        let expected = ["applied 0001_a", "applied 0002_b", "rolledBack 0002_b", "applied 0002_b"]
        #expect(try history == expected)
        for entry in try GRDBMigrationRunner.history(in: writer) {
            // The clock of SQLite's `now` counts milliseconds.
            #expect(entry.time.timeIntervalSince(start) > -0.002)
            #expect(entry.time <= Date())
            let seconds = try #require(entry.seconds)
            #expect(seconds > 0 && seconds < 60)
            #expect(
                entry.checksum == (entry.event == .applied ? "sum of \(entry.identifier)" : nil)
            )
        }
        let records = try runner.migrationRecords(in: writer)
        #expect(records.keys.sorted() == ["0001_a", "0002_b"])
    }

    @Test func stepOutsideOfATransactionIsNotedToo() throws {
        let runner = try Self.runner()
        try runner.migrate(in: writer)
        try runner.rollbackLastMigration(in: writer)
        #expect(try history.suffix(2) == ["applied 0003_c", "rolledBack 0003_c"])
    }

    @Test(arguments: [MigrationTransaction.perStep, .allOrNothing])
    func stepThatFailsLeavesNoNote(_ transaction: MigrationTransaction) throws {
        let good = try Self.runner().steps[0]
        let bad = MigrationStep<Database>(
            identifier: "0002_bad",
            sourceFile: "bad",
            apply: { try $0.execute(sql: "CREATE TABLE half (id); INSERT INTO nowhere VALUES (1)") }
        )
        let runner = try GRDBMigrationRunner(steps: [good, bad])
        #expect(throws: DatabaseError.self) {
            try runner.migrate(in: writer, options: .init(transaction: transaction))
        }
        #expect(try history == (transaction == .perStep ? ["applied 0001_a"] : []))
    }

    @Test func dryRunAndNothingPendingLeaveNoNote() throws {
        let runner = try Self.runner()
        _ = try runner.dryRun(in: writer, upTo: "0002_b")
        #expect(try Everything(of: writer).schema.isEmpty)
        try runner.migrate(in: writer)
        let before = try store.folder.data("store.db")
        try runner.migrate(in: writer)
        #expect(try store.folder.data("store.db") == before)
    }

    @Test(arguments: [MigrationTransaction.perStep, .allOrNothing])
    func changedStepIsRefusedForwardAndBack(_ transaction: MigrationTransaction) throws {
        try Self.runner().migrate(in: writer, upTo: "0002_b")
        let before = try Everything(of: writer)
        let runner = try Self.runner(["0001_a": "another", "0003_c": "not applied yet"])
        let refusal = MigrationKitError.changedAfterApplied(["0001_a"])
        let options = MigrationOptions(transaction: transaction)
        #expect(throws: refusal) { try runner.migrate(in: writer, options: options) }
        #expect(throws: refusal) { try runner.rollbackLastMigration(in: writer, options: options) }
        #expect(throws: refusal) { try runner.plannedSteps(in: writer) }
        #expect(throws: refusal) { try runner.dryRun(in: writer) }
        #expect(try runner.changedMigrationIdentifiers(in: writer) == ["0001_a"])
        #expect(try Everything(of: writer) == before)
    }

    @Test func repairAcceptsTheNewTextOfThoseThatAreNamed() throws {
        try Self.runner().migrate(in: writer, upTo: "0002_b")
        let runner = try Self.runner(["0001_a": "another", "0002_b": "another"])
        let repaired = try runner.repairMigrations(["0001_a", "0003_c"], in: writer)
        #expect(repaired == ["0001_a"])
        #expect(try runner.changedMigrationIdentifiers(in: writer) == ["0002_b"])
        let record = try #require(try runner.migrationRecords(in: writer)["0001_a"])
        #expect(record.checksum == "another")
        #expect(record.seconds != nil)
        #expect(throws: MigrationKitError.unknownMigrationIdentifier("0009")) {
            try runner.repairMigrations(["0009"], in: writer)
        }
    }

    @Test func stepThatWasRolledBackMayChange() throws {
        try Self.runner().migrate(in: writer, upTo: "0002_b")
        try Self.runner().rollbackLastMigration(in: writer)
        try Self.runner(["0002_b": "another"]).migrate(in: writer, upTo: "0002_b")
        #expect(throws: MigrationKitError.changedAfterApplied(["0002_b"])) {
            try Self.runner().migrate(in: writer)
        }
    }

    @Test func databaseWithoutAJournalHasNothingToCompare() throws {
        let plain = try Self.runner().migrator
        try plain.migrate(writer, upTo: "0002_b")
        let runner = try Self.runner(["0001_a": "another"])
        #expect(try history.isEmpty)
        #expect(try runner.changedMigrationIdentifiers(in: writer).isEmpty)
        try runner.migrate(in: writer)
        #expect(try history == ["applied 0003_c"])
    }

    @Test(arguments: [MigrationTransaction.perStep, .allOrNothing])
    func stepThatDropsTheJournalIsNotedInANewOne(_ transaction: MigrationTransaction) throws {
        let texts = ["CREATE TABLE a (id)", "DROP TABLE grdb_migrationkit_journal", "SELECT 1"]
        let steps = texts.enumerated().map { step("000\($0)", $1) }
        let runner = try GRDBMigrationRunner(steps: steps)
        try runner.migrate(in: writer, options: .init(transaction: transaction))
        #expect(try history == ["applied 0001", "applied 0002"])
    }

    @Test func plainGRDBGoesOnWhereThereIsAJournal() throws {
        try Self.runner().migrate(in: writer, upTo: "0001_a")
        var plain = try Self.runner().migrator
        plain.eraseDatabaseOnSchemaChange = false
        #expect(try !writer.read(plain.hasSchemaChanges))
        try plain.migrate(writer, upTo: "0002_b")
        try Self.runner().migrate(in: writer)
        #expect(try history == ["applied 0001_a", "applied 0003_c"])
    }

    @Test func baselineIsNotedWithoutADuration() throws {
        let runner = try Self.runner()
        try runner.baseline(in: writer, upTo: "0002_b")
        let history = try GRDBMigrationRunner.history(in: writer)
        #expect(history.map(\.event) == [.recorded, .recorded])
        #expect(history.allSatisfy { $0.seconds == nil && $0.checksum != nil })
        #expect(throws: MigrationKitError.changedAfterApplied(["0002_b"])) {
            try Self.runner(["0002_b": "another"]).migrate(in: writer)
        }
    }

    @Test func rowsThatNobodyUnderstandsAreLeftAlone() throws {
        try Self.runner().migrate(in: writer, upTo: "0001_a")
        try writer.write { db in
            try db.execute(
                sql: """
                    INSERT INTO grdb_migrationkit_journal (identifier, event, time)
                    VALUES ('0001_a', 'dreamt', 'yesterday'), (x'00', x'01', x'02')
                    """
            )
        }
        #expect(try history == ["applied 0001_a"])
    }

    // MARK: - Steps That Are Gone

    @Test func stepThatIsGoneIsToldFromANewerPrograms() throws {
        let steps = try Self.runner().steps
        try Self.runner().migrate(in: writer)
        let holed = try GRDBMigrationRunner(steps: [steps[0], steps[2]])
        #expect(throws: MigrationKitError.appliedMigrationsMissing(["0002_b"])) {
            try holed.migrate(in: writer)
        }
        #expect(try holed.missingMigrationIdentifiers(in: writer) == ["0002_b"])
        #expect(try holed.hasBeenSuperseded(in: writer))
        let older = try GRDBMigrationRunner(steps: [steps[0], steps[1]])
        let newer = try older.newerMigrations(in: writer)
        #expect(throws: MigrationKitError.databaseIsNewer(unknown: ["0003_c"], steps: newer)) {
            try older.migrate(in: writer)
        }
        #expect(try older.missingMigrationIdentifiers(in: writer).isEmpty)
    }

    // MARK: - How Far

    @Test(arguments: [MigrationTransaction.perStep, .allOrNothing])
    func limitedRunAppliesThatManyAndNoMore(_ transaction: MigrationTransaction) throws {
        let options = MigrationOptions(transaction: transaction)
        let runner = try GRDBMigrationRunner(
            steps: itemSteps(),
            requiredIndexes: [RequiredIndexSpec(table: "tag", index: "tag_itemId")]
        )
        #expect(try runner.migrate(in: writer, steps: 0, options: options).steps.isEmpty)
        let first = try runner.migrate(in: writer, steps: 2, options: options)
        #expect(first.steps.map(\.identifier) == ["0001_items", "0002_tags"])
        #expect(first.pending == ["0003_tag_index"])
        #expect(try runner.plannedSteps(in: writer).map(\.identifier) == ["0003_tag_index"])
        let second = try runner.migrate(in: writer, steps: 5, options: options)
        #expect(second.steps.map(\.identifier) == ["0003_tag_index"])
        #expect(second.pending.isEmpty)
        #expect(throws: MigrationKitError.stepCountMustBeNonNegative(-1)) {
            try runner.migrate(in: writer, steps: -1)
        }
    }

    @Test(arguments: [MigrationTransaction.perStep, .allOrNothing])
    func rollbackToAStepLeavesThatStep(_ transaction: MigrationTransaction) throws {
        let options = MigrationOptions(transaction: transaction)
        let runner = try GRDBMigrationRunner(steps: itemSteps())
        try runner.migrate(in: writer)
        #expect(throws: MigrationKitError.unknownMigrationTarget("0009")) {
            try runner.rollbackMigrations(in: writer, downTo: "0009")
        }
        let report = try runner.rollbackMigrations(
            in: writer,
            downTo: "0001_items",
            options: options
        )
        #expect(report.steps.map(\.identifier) == ["0003_tag_index", "0002_tags"])
        #expect(try runner.appliedMigrationIdentifiers(in: writer) == ["0001_items"])
        #expect(throws: MigrationKitError.rollbackTargetNotApplied("0002_tags")) {
            try runner.rollbackMigrations(in: writer, downTo: "0002_tags")
        }
    }
}
