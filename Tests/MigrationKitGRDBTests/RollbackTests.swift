import GRDB
import MigrationKit
import MigrationKitGRDB
import TestSupport
import Testing

@Suite struct RollbackTests {
    let oneItemWithATag = "INSERT INTO item VALUES (1, 'a'); INSERT INTO tag VALUES (1, 1)"
    let queue: DatabaseQueue
    let runner: GRDBMigrationRunner

    init() throws {
        queue = try DatabaseQueue()
        runner = try GRDBMigrationRunner(steps: itemSteps())
    }

    @Test func undoesTheLatestStepAndItsRowInTheLedger() throws {
        try runner.migrate(in: queue)
        let report = try runner.rollbackLastMigration(in: queue)
        #expect(report.steps.map(\.identifier) == ["0003_tag_index"])
        #expect(report.pending == ["0003_tag_index"])
        #expect(report.verified)
        #expect(try runner.migrationStatus(in: queue).map(\.state) == [.up, .up, .down])
    }

    @Test func undoesSeveralStepsNewestFirst() throws {
        try runner.migrate(in: queue)
        let report = try runner.rollbackMigrations(in: queue, steps: 2)
        #expect(report.steps.map(\.identifier) == ["0003_tag_index", "0002_tags"])
        #expect(try Contents(of: queue).ledger == ["0001_items"])
        #expect(try queue.read { try !$0.tableExists("tag") })
    }

    @Test func moreStepsThanThereAreUndoAll() throws {
        try runner.migrate(in: queue)
        #expect(try runner.rollbackMigrations(in: queue, steps: 99).steps.count == 3)
        #expect(try Contents(of: queue).schema.isEmpty)
        #expect(try runner.rollbackLastMigration(in: queue).steps.isEmpty)
    }

    @Test func noStepsAreNothingToDo() throws {
        try runner.migrate(in: queue)
        let before = try Contents(of: queue)
        let report = try runner.rollbackMigrations(in: queue, steps: 0)
        #expect(report == MigrationReport(steps: [], pending: [], verified: false))
        #expect(try Contents(of: queue) == before)
    }

    @Test func negativeNumberIsRefused() throws {
        #expect(throws: MigrationKitError.rollbackStepCountMustBeNonNegative(-1)) {
            try runner.rollbackMigrations(in: queue, steps: -1)
        }
    }

    @Test func namedStepMustBeTheLatest() throws {
        try runner.migrate(in: queue)
        #expect(
            throws: MigrationKitError.rollbackMustTargetLatestApplied(
                latestApplied: "0003_tag_index",
                requested: "0001_items"
            )
        ) {
            try runner.rollbackMigration(identifier: "0001_items", in: queue)
        }
        try runner.rollbackMigration(identifier: "0003_tag_index", in: queue)
        #expect(try runner.pendingMigrationIdentifiers(in: queue) == ["0003_tag_index"])
    }

    @Test func namedStepThatIsUnknownIsRefused() throws {
        #expect(throws: MigrationKitError.unknownMigrationIdentifier("x")) {
            try runner.rollbackMigration(identifier: "x", in: queue)
        }
    }

    @Test func namedStepThatIsPendingIsNothingToDo() throws {
        try runner.migrate(in: queue, upTo: "0001_items")
        let report = try runner.rollbackMigration(identifier: "0003_tag_index", in: queue)
        #expect(report.steps.isEmpty)
        #expect(try Contents(of: queue).ledger == ["0001_items"])
    }

    @Test func stepWithoutRollbackIsFoundBeforeAnyIsUndone() throws {
        let runner = try GRDBMigrationRunner(steps: [
            step("0001", "CREATE TABLE a (id)", down: "DROP TABLE a"),
            step("0002", "CREATE TABLE b (id)"),
            step("0003", "CREATE TABLE c (id)", down: "DROP TABLE c"),
        ])
        try runner.migrate(in: queue)
        let before = try Contents(of: queue)
        #expect(throws: MigrationKitError.rollbackNotDefined("0002")) {
            try runner.rollbackMigrations(in: queue, steps: 3)
        }
        #expect(try Contents(of: queue) == before)
        #expect(throws: MigrationKitError.rollbackNotDefined("0002")) {
            try runner.rollbackMigration(identifier: "0002", in: queue)
        }
    }

    @Test func failingRollbackLeavesTheStepApplied() throws {
        let runner = try GRDBMigrationRunner(steps: [
            step("0001", "CREATE TABLE a (id)", down: "DROP TABLE a; SELECT * FROM nowhere")
        ])
        try runner.migrate(in: queue)
        let before = try Contents(of: queue)
        let events = Recorder<MigrationEvent>()
        #expect(throws: DatabaseError.self) {
            try runner.rollbackMigrations(
                in: queue,
                options: .init(observer: { events.append($0) })
            )
        }
        #expect(try Contents(of: queue) == before)
        #expect(events.values.last == .stepFailed(identifier: "0001", direction: .back))
        #expect(try queue.read { try Bool.fetchOne($0, sql: "PRAGMA foreign_keys") } == true)
    }

    @Test func parentIsRebuiltBackwardsWithoutLosingChildren() throws {
        let rebuild = """
            CREATE TABLE item_new (id INTEGER PRIMARY KEY, name TEXT);
            INSERT INTO item_new SELECT * FROM item;
            DROP TABLE item;
            ALTER TABLE item_new RENAME TO item;
            """
        let runner = try GRDBMigrationRunner(
            steps: itemSteps() + [
                step("0004", oneItemWithATag, down: ""),
                step("0005", rebuild, down: rebuild),
            ]
        )
        try runner.migrate(in: queue)
        try runner.rollbackLastMigration(in: queue)
        #expect(try queue.read { try Int.fetchOne($0, sql: "SELECT count(*) FROM tag") } == 1)
        #expect(try queue.read { try Bool.fetchOne($0, sql: "PRAGMA foreign_keys") } == true)
    }

    @Test(arguments: [1, 2]) func rollbackThatLeavesAnOrphanIsUndone(_ steps: Int) throws {
        let runner = try GRDBMigrationRunner(steps: [
            itemSteps()[0], itemSteps()[1],
            step("0003", oneItemWithATag, down: ""),
            step("0004", "CREATE TABLE a (id)", down: "DROP TABLE a; DELETE FROM item"),
        ])
        try runner.migrate(in: queue)
        let before = try Contents(of: queue)
        #expect(throws: (any Error).self) {
            try runner.rollbackMigrations(in: queue, steps: steps)
        }
        #expect(try Contents(of: queue) == before)
        #expect(try queue.read { try Int.fetchOne($0, sql: "SELECT count(*) FROM item") } == 1)
    }
}
