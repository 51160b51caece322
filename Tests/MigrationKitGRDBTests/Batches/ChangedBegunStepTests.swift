import Foundation
import GRDB
import MigrationKit
import MigrationKitGRDB
import TestSupport
import Testing

@testable import MigrationKitSchema

/// A begun step whose text was changed, and one that a later step was applied beside.
@Suite struct ChangedBegunStepTests {
    private let store: EncryptedStore
    private let writer: DatabaseQueue

    init() throws {
        store = try EncryptedStore()
        writer = try store.open()
        try runner(Self.counts()).migrate(in: writer, upTo: "1")
    }

    private static let rows = step(
        "1",
        """
        CREATE TABLE t (id INTEGER PRIMARY KEY, c INTEGER NOT NULL DEFAULT 0 CHECK (c < 1 OR id <> 50));
        WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 100)
        INSERT INTO t (id) SELECT i FROM n;
        """,
        down: "DROP TABLE t"
    )

    /// - Parameter amount: What it adds to each row, until it comes to the one that must stay.
    private static func counts(
        _ amount: Int = 1,
        checksum: String? = nil,
        rollbackSQL: String? = "UPDATE t SET c = c - 1 WHERE c > 0"
    ) -> MigrationStep<Database> {
        MigrationStep(
            identifier: "2",
            sourceFile: "",
            batched: [
                MigrationBatch("UPDATE t SET c = c + \(amount) WHERE c < \(amount)", rows: 10)
            ],
            checksum: checksum ?? "\(amount)",
            rollbackSQL: rollbackSQL
        )
    }

    private static let later = MigrationStep<Database>(
        identifier: "3",
        sourceFile: "",
        rollbackSQL: "DROP TABLE later",
        apply: { try $0.execute(sql: "CREATE TABLE later (a)") }
    )

    private func runner(_ steps: MigrationStep<Database>...) throws -> GRDBMigrationRunner {
        try GRDBMigrationRunner(steps: [Self.rows] + steps)
    }

    private func begin(_ runner: GRDBMigrationRunner) throws {
        #expect(throws: (any Error).self) { try runner.migrate(in: writer) }
        #expect(try (1..<50).contains(sum))
    }

    private var sum: Int { get throws { try writer.number("SELECT sum(c) FROM t") ?? -1 } }

    private static let refusal = MigrationKitError.changedSinceBegun(["2"], canBeTakenBack: true)

    /// The same step with another text, and as one that has no batches any more.
    private static let others = [
        counts(10), step("2", "UPDATE t SET c = c + 1 WHERE c = 0", down: "UPDATE t SET c = 0"),
    ]

    // MARK: - Another text

    @Test(arguments: [0, 1]) func changedStepIsRefusedByName(_ other: Int) throws {
        try begin(runner(Self.counts()))
        let changed = try runner(Self.others[other], Self.later)
        for transaction in [MigrationTransaction.perStep, .allOrNothing] {
            #expect(throws: Self.refusal) {
                try changed.migrate(in: writer, options: MigrationOptions(transaction: transaction))
            }
        }
        #expect(throws: Self.refusal) { try changed.migrate(in: writer, upTo: "2") }
        #expect(throws: Self.refusal) { try changed.dryRun(in: writer) }
        #expect(throws: Self.refusal) { try changed.plannedSteps(in: writer) }
        #expect(try changed.overview(of: writer).changed == ["2"])
        #expect(try changed.changedMigrationIdentifiers(in: writer) == ["2"])
        let findings = try writer.read { try changed.ledgerOutcome(in: $0).findings.map(\.text) }
        #expect(findings == ["'2' was changed after its batches had begun"])
        #expect(throws: MigrationRepairError.begun("2")) {
            try changed.repairMigrations(["2"], in: writer)
        }
        #expect(try (1..<50).contains(sum))
        // With its text, it is none.
        #expect(try runner(Self.counts()).overview(of: writer).changed.isEmpty)
    }

    @Test(arguments: [0, 1]) func changedStepIsTakenBackByWhatWasKept(_ other: Int) throws {
        try begin(runner(Self.counts()))
        let changed = try runner(Self.others[other])
        #expect(try changed.plannedRollback(in: writer, steps: 1) == ["2"])
        #expect(try changed.rollbackMigration(identifier: "2", in: writer).steps.count == 1)
        #expect(try sum == 0)
        #expect(try changed.overview(of: writer).changed.isEmpty)
    }

    /// The way back of the new text hasn't run, and wouldn't take back what the old one has done.
    @Test func wayBackOfTheNewTextIsNotUsed() throws {
        try begin(runner(Self.counts(rollbackSQL: nil)))
        let changed = try runner(Self.counts(10, rollbackSQL: "UPDATE t SET c = -10"))
        let refusal = MigrationKitError.changedSinceBegun(["2"], canBeTakenBack: false)
        #expect(throws: refusal) { try changed.migrate(in: writer) }
        #expect(throws: refusal) { try changed.rollbackLastMigration(in: writer) }
        #expect(throws: refusal) { try changed.redoMigrations(in: writer) }
        #expect(try (1..<50).contains(sum))
    }

    @Test func redoRunsTheNewTextOnRowsThatAreTakenBack() throws {
        try begin(runner(Self.counts()))
        let corrected = MigrationStep<Database>(
            identifier: "2",
            sourceFile: "",
            batched: [
                MigrationBatch("UPDATE t SET c = c + 1 WHERE c = 0 AND id <> 50", rows: 10)
            ],
            checksum: "corrected",
            rollbackSQL: "UPDATE t SET c = 0"
        )
        let (undone, redone) = try runner(corrected).redoMigrations(in: writer)
        #expect(undone.steps.map(\.identifier) == ["2"])
        #expect(redone.steps.map(\.rowsChanged) == [99])
        #expect(try sum == 99)
    }

    /// A mistake that is found by the first batch is corrected in place.
    @Test func changedStepThatHasChangedNoRowBeginsAnew() throws {
        let fails = MigrationStep<Database>(
            identifier: "2",
            sourceFile: "",
            batched: [MigrationBatch("UPDATE t SET c = 'a' || NULL WHERE c = 0", rows: 10)],
            checksum: "fails"
        )
        #expect(throws: (any Error).self) { try runner(fails).migrate(in: writer) }
        #expect(try runner(fails).overview(of: writer).begun["2"] == nil)
        let corrected = try runner(Self.counts(0, checksum: "corrected"))
        #expect(try corrected.overview(of: writer).changed.isEmpty)
        #expect(try corrected.migrate(in: writer).steps.map(\.identifier) == ["2"])
    }

    // MARK: - A later step beside it

    private var both: GRDBMigrationRunner {
        get throws { try runner(Self.counts(), Self.later) }
    }

    private func beginBesideALaterOne() throws {
        try runner(Self.later).migrate(in: writer)
        try writer.write { try $0.execute(sql: "INSERT INTO later VALUES ('a row')") }
        try begin(both.allowingOutOfOrder())
    }

    private var rowsOfLater: Int? {
        get throws { try writer.number("SELECT count(*) FROM later") }
    }

    @Test(arguments: [MigrationTransaction.perStep, .allOrNothing])
    func begunStepIsTakenBackBeforeALaterOne(_ transaction: MigrationTransaction) throws {
        try beginBesideALaterOne()
        let options = MigrationOptions(transaction: transaction)
        #expect(try both.plannedRollback(in: writer, steps: 1) == ["2"])
        #expect(try both.plannedRollback(in: writer, steps: .max) == ["2", "3", "1"])
        #expect(try both.plannedRollback(in: writer, steps: 1, downTo: "1") == ["2", "3"])
        let report = try both.rollbackMigrations(in: writer, steps: 1, options: options)
        #expect(report.steps.map(\.identifier) == ["2"])
        #expect(try sum == 0)
        #expect(try rowsOfLater == 1)
        #expect(
            try both.rollbackMigrations(in: writer, steps: 2, options: options).steps
                .map(\.identifier) == ["3", "1"]
        )
    }

    @Test func laterStepIsNotTakenBackBeforeABegunOne() throws {
        try beginBesideALaterOne()
        let refusal = MigrationKitError.rollbackMustTargetLatestApplied(
            latestApplied: "2",
            requested: "3"
        )
        #expect(throws: refusal) { try both.rollbackMigration(identifier: "3", in: writer) }
        #expect(throws: refusal) { try both.rollbackMigrations(in: writer, downTo: "2") }
        #expect(throws: MigrationKitError.redoOutOfOrder("2", latestApplied: "3")) {
            try both.redoMigrations(in: writer)
        }
        #expect(try (1..<50).contains(sum))
        #expect(try rowsOfLater == 1)
    }

    @Test func redoOfBothAppliesBothAgain() throws {
        try beginBesideALaterOne()
        // What kept it from getting done is gone.
        try writer.write { try $0.execute(sql: "DELETE FROM t WHERE id = 50") }
        let (undone, redone) = try both.redoMigrations(in: writer, steps: 2)
        #expect(undone.steps.map(\.identifier) == ["2", "3"])
        #expect(redone.steps.map(\.identifier) == ["2", "3"])
        #expect(try sum == 99)
    }

    @Test func downgradeTakesABegunStepBackBeforeANewerOne() throws {
        try beginBesideALaterOne()
        let older = try runner(Self.counts())
        #expect(try older.plannedDowngrade(in: writer).steps == ["2", "3"])
        #expect(throws: MigrationKitError.self) { try older.downgrade(in: writer, to: "2") }
        #expect(try (1..<50).contains(sum))
        #expect(
            try older.downgrade(in: writer).report.steps.map(\.identifier) == ["2", "3"]
        )
        #expect(try sum == 0)
    }

    @Test func begunStepIsNotRenamed() throws {
        try begin(runner(Self.counts()))
        let renamed = try runner(step("2b", "SELECT 1"))
        #expect(throws: MigrationRepairError.begun("2")) {
            try renamed.repairMigrations(
                [],
                renaming: [("2", "2b")],
                forgetting: [],
                in: writer
            )
        }
    }
}
