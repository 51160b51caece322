import Foundation
import GRDB
import MigrationKit
import MigrationKitGRDB
import TestSupport
import Testing

@testable import MigrationKitSchema

/// A step whose batches aren't all done counts as applied for whatever is done to the database.
@Suite struct BegunStepTests {
    private let store: EncryptedStore
    private let writer: DatabaseQueue

    init() throws {
        store = try EncryptedStore()
        writer = try store.open()
    }

    /// How far the step has come.
    enum State: CaseIterable {
        case beforeTheFirstBatch, inBetween, afterTheLastBatch

        /// How many rows are done. On a slow machine, a batch has fewer rows.
        var rows: ClosedRange<Int> {
            switch self {
            case .beforeTheFirstBatch: 0...0
            case .inBetween: 300...400
            case .afterTheLastBatch: 1000...1000
            }
        }
    }

    private static let notes = step(
        "1",
        """
        CREATE TABLE note (id INTEGER PRIMARY KEY, body TEXT, size INTEGER);
        WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 1000)
        INSERT INTO note (id, body) SELECT i, 'body ' || i FROM n;
        """,
        down: "DROP TABLE note"
    )
    private static let tags = step("2", "CREATE TABLE tag (name)", down: "DROP TABLE tag")
    private static let later = step("4", "CREATE TABLE later (a)", down: "DROP TABLE later")

    /// - Parameter obstacle: What keeps it from getting done.
    private static func fill(
        _ obstacle: State? = nil,
        checksum: String? = "a",
        hasWayBack: Bool = true
    ) -> MigrationStep<Database> {
        let fails =
            switch obstacle {
            case .beforeTheFirstBatch: "id = 1"
            case .inBetween: "id = 401"
            case .afterTheLastBatch, nil: "false"
            }
        return MigrationStep(
            identifier: "3",
            sourceFile: "",
            batched: [
                MigrationBatch(
                    """
                    UPDATE note SET size = length(body) + iif(\(fails), abs(-9223372036854775808), 0)
                    WHERE size IS NULL
                    """,
                    rows: 100
                )
            ],
            checksum: checksum,
            rollbackSQL: hasWayBack ? "UPDATE note SET size = NULL" : nil,
            checks: obstacle == .afterTheLastBatch
                ? [CheckQuery("none", sql: "SELECT 1 FROM note")] : []
        )
    }

    /// Begins the step, and ends there.
    private func begin(_ state: State, hasWayBack: Bool = true) throws {
        let runner = try runner(Self.notes, Self.tags, Self.fill(state, hasWayBack: hasWayBack))
        #expect(throws: (any Error).self) { try runner.migrate(in: writer) }
        if state == .beforeTheFirstBatch {
            // An error there leaves nothing begun, but a kill does.
            try writer.write {
                try $0.execute(
                    sql: """
                        UPDATE grdb_migrationkit_journal SET progress = json_object(
                            'statement', 0, 'passes', 0, 'changes', 0, 'changesBefore', 0,
                            'rowsChanged', 0, 'waits', 0
                        ) WHERE event = 'begun'
                        """
                )
            }
        }
        #expect(try state.rows.contains(filled))
        #expect(try runner.overview(of: writer).begun["3"]?.rowsChanged == filled)
    }

    private func runner(_ steps: MigrationStep<Database>...) throws -> GRDBMigrationRunner {
        try GRDBMigrationRunner(steps: steps)
    }

    private var all: GRDBMigrationRunner {
        get throws { try runner(Self.notes, Self.tags, Self.fill()) }
    }

    private var filled: Int {
        get throws { try writer.number("SELECT count(size) FROM note") ?? -1 }
    }

    private func expectTakenBack() throws {
        #expect(try filled == 0)
        #expect(try all.overview(of: writer).begun.isEmpty)
        #expect(try all.pendingMigrationIdentifiers(in: writer) == ["3"])
        #expect(try writer.number("SELECT count(progress) FROM grdb_migrationkit_journal") == 0)
        #expect(try GRDBMigrationRunner.history(in: writer).last?.event == .rolledBack)
        // It begins anew.
        #expect(try all.migrate(in: writer).steps.map(\.rowsChanged) == [1000])
    }

    // MARK: - Back

    @Test(arguments: State.allCases) func rollbackTakesItBackFirst(_ state: State) throws {
        try begin(state)
        #expect(try all.plannedRollback(in: writer, steps: 1) == ["3"])
        let report = try all.rollbackLastMigration(in: writer)
        #expect(report.steps.map(\.identifier) == ["3"])
        #expect(report.steps.map(\.rowsChanged) == [1000])
        try expectTakenBack()
    }

    @Test(arguments: State.allCases, [MigrationTransaction.perStep, .allOrNothing])
    func rollbackOfTwoTakesTheOneBeforeItNext(
        _ state: State,
        _ transaction: MigrationTransaction
    ) throws {
        try begin(state)
        let options = MigrationOptions(transaction: transaction)
        let report = try all.rollbackMigrations(in: writer, steps: 2, options: options)
        #expect(report.steps.map(\.identifier) == ["3", "2"])
        #expect(try writer.number("SELECT count(*) FROM sqlite_schema WHERE name = 'tag'") == 0)
        #expect(try filled == 0)
    }

    @Test(arguments: State.allCases) func rollbackToAStepTakesItBack(_ state: State) throws {
        try begin(state)
        #expect(try all.rollbackMigrations(in: writer, downTo: "3").steps.isEmpty)
        #expect(try state.rows.contains(filled))
        #expect(throws: MigrationKitError.self) {
            try all.rollbackMigration(identifier: "2", in: writer)
        }
        #expect(try all.rollbackMigration(identifier: "3", in: writer).steps.count == 1)
        try expectTakenBack()
    }

    @Test(arguments: State.allCases) func redoBeginsItAnew(_ state: State) throws {
        try begin(state)
        let (undone, redone) = try all.redoMigrations(in: writer)
        #expect(undone.steps.map(\.identifier) == ["3"])
        #expect(redone.steps.map(\.identifier) == ["3"])
        #expect(redone.steps.map(\.rowsChanged) == [1000])
        #expect(try writer.number("SELECT count(*) FROM sqlite_schema WHERE name = 'tag'") == 1)
    }

    @Test(arguments: State.allCases) func withoutAWayBackItIsRefusedByName(_ state: State) throws {
        try begin(state, hasWayBack: false)
        let runner = try runner(Self.notes, Self.tags, Self.fill(hasWayBack: false))
        #expect(throws: MigrationKitError.rollbackNotDefined("3")) {
            try runner.rollbackLastMigration(in: writer)
        }
        #expect(throws: MigrationKitError.rollbackNotDefined("3")) {
            try runner.redoMigrations(in: writer)
        }
        let older = try self.runner(Self.notes, Self.tags)
        let error = #expect(throws: MigrationKitError.self) {
            try older.downgrade(in: writer)
        }
        guard case .cannotDowngrade(let steps) = error else {
            Issue.record("\(String(describing: error))")
            return
        }
        #expect(steps.map(\.identifier) == ["3"])
        #expect(try state.rows.contains(filled))
        #expect(try writer.number("SELECT count(*) FROM sqlite_schema WHERE name = 'tag'") == 1)
    }

    @Test(arguments: State.allCases) func olderVersionTakesItBack(_ state: State) throws {
        try begin(state)
        // Something else may be recorded meanwhile.
        try writer.write { db in
            try db.execute(
                sql: """
                    INSERT INTO grdb_migrationkit_journal (identifier, event, time)
                    VALUES ('1', 'repaired', '2026-01-01 00:00:00')
                    """
            )
        }
        let older = try runner(Self.notes, Self.tags)
        #expect(throws: MigrationKitError.self) { try older.rollbackLastMigration(in: writer) }
        #expect(try older.plannedDowngrade(in: writer).steps == ["3"])
        let (report, _, backup) = try older.downgrade(in: writer)
        #expect(report.steps.map(\.identifier) == ["3"])
        #expect(backup != nil)
        try expectTakenBack()
    }

    // MARK: - Forward

    @Test(arguments: State.allCases) func folderWithoutItIsNotRunPastIt(_ state: State) throws {
        try begin(state)
        for runner in try [
            runner(Self.notes, Self.tags, Self.later),
            runner(Self.notes, Self.tags, Self.later).allowingOutOfOrder(),
        ] {
            let error = #expect(throws: MigrationKitError.self) {
                try runner.migrate(in: writer)
            }
            guard let error, case .databaseIsNewer(["3"], let steps) = error else {
                Issue.record("\(String(describing: error))")
                continue
            }
            #expect(steps.map(\.isBegun) == [true])
            #expect(throws: error) { try runner.dryRun(in: writer) }
            #expect(throws: error) { try runner.plannedSteps(in: writer) }
            #expect(throws: error) { try runner.rollbackLastMigration(in: writer) }
            #expect(try runner.hasBeenSuperseded(in: writer))
        }
        // Nothing is applied yet that is known only there.
        let without = try runner(Self.notes, Self.tags, Self.later)
        #expect(try without.downgrade(in: writer).report.steps.map(\.identifier) == ["3"])
        #expect(try without.migrate(in: writer).steps.map(\.identifier) == ["4"])
    }

    @Test(arguments: State.allCases) func stepBeforeItIsLate(_ state: State) throws {
        try begin(state)
        let late = step("2b", "CREATE TABLE late (a)")
        let runner = try runner(Self.notes, Self.tags, late, Self.fill())
        let refusal = MigrationKitError.pendingBeforeApplied(pending: ["2b"], latestApplied: "3")
        #expect(throws: refusal) { try runner.migrate(in: writer) }
        #expect(try runner.overview(of: writer).late == ["2b"])
        #expect(
            throws: MigrationKitError.targetBehindDatabase(target: "2b", latestApplied: "3")
        ) { try runner.migrate(in: writer, upTo: "2b") }
        let report = try runner.allowingOutOfOrder().migrate(in: writer)
        #expect(report.steps.map(\.identifier) == ["2b", "3"])
        #expect(try filled == 1000)
    }

    @Test(arguments: State.allCases) func itGoesOn(_ state: State) throws {
        try begin(state)
        #expect(try all.migrate(in: writer).steps.map(\.rowsChanged) == [1000])
        #expect(try filled == 1000)
        #expect(try all.overview(of: writer).begun.isEmpty)
    }

    /// A note of how far it came must not be found again after that.
    @Test(arguments: State.allCases) func wholeRunEndsIt(_ state: State) throws {
        try begin(state)
        try all.migrate(in: writer, options: MigrationOptions(transaction: .allOrNothing))
        #expect(try filled == 1000)
        #expect(try all.overview(of: writer).begun.isEmpty)
        try all.rollbackLastMigration(in: writer)
        #expect(try filled == 0)
        #expect(try all.overview(of: writer).begun.isEmpty)
        #expect(try all.migrate(in: writer).steps.map(\.rowsChanged) == [1000])
        #expect(try filled == 1000)
    }

    @Test(arguments: State.allCases) func recordIsNotOverwritten(_ state: State) throws {
        try begin(state)
        #expect(throws: MigrationRepairError.alreadyApplied("3")) {
            try runner(Self.notes, Self.fill()).repairMigrations(
                [],
                renaming: [("2", "3")],
                forgetting: [],
                in: writer
            )
        }
        // Without the ledger, it is still known that something was begun.
        try writer.write { try $0.execute(sql: "DELETE FROM grdb_migrations") }
        #expect(throws: MigrationKitError.baselineOnMigratedDatabase(latestApplied: "3")) {
            try all.baseline(in: writer, upTo: "1")
        }
    }
}
