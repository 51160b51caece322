import Foundation
import GRDB
import MigrationKit
import MigrationKitGRDB
import TestSupport
import Testing

@Suite struct MigrateTests {
    let queue: DatabaseQueue

    init() throws {
        queue = try DatabaseQueue()
    }

    @Test func appliesEveryStepInOrderAndReportsIt() throws {
        let runner = try GRDBMigrationRunner(steps: itemSteps())
        #expect(try runner.migrationStatus(in: queue).map(\.state) == [.down, .down, .down])
        #expect(try runner.hasPendingMigrations(in: queue))

        let report = try runner.migrate(in: queue)

        #expect(report.steps.map(\.identifier) == runner.migrationIdentifiers)
        #expect(report.steps.allSatisfy { $0.seconds > 0 })
        #expect(report.pending.isEmpty)
        #expect(report.verified)
        #expect(try runner.migrationStatus(in: queue).map(\.state) == [.up, .up, .up])
        #expect(try !runner.hasPendingMigrations(in: queue))
        #expect(
            try runner.appliedMigrationIdentifiers(in: queue) == Set(runner.migrationIdentifiers)
        )
    }

    @Test func appliesNothingTwice() throws {
        let runner = try GRDBMigrationRunner(steps: [
            step("0001", "CREATE TABLE counter (n)"),
            step("0002", "INSERT INTO counter VALUES (1)"),
        ])
        try runner.migrate(in: queue)
        let report = try runner.migrate(in: queue)
        #expect(report.steps.isEmpty)
        #expect(try queue.read { try Int.fetchOne($0, sql: "SELECT count(*) FROM counter") } == 1)
    }

    @Test func appliesUpToATarget() throws {
        let runner = try GRDBMigrationRunner(steps: itemSteps())
        let report = try runner.migrate(in: queue, upTo: "0002_tags")
        #expect(report.steps.map(\.identifier) == ["0001_items", "0002_tags"])
        #expect(report.pending == ["0003_tag_index"])
        #expect(try runner.pendingMigrationIdentifiers(in: queue) == ["0003_tag_index"])
    }

    @Test func targetThatIsAppliedAlreadyIsNothingToDo() throws {
        let runner = try GRDBMigrationRunner(steps: itemSteps())
        try runner.migrate(in: queue, upTo: "0002_tags")
        #expect(try runner.migrate(in: queue, upTo: "0002_tags").steps.isEmpty)
    }

    @Test func unknownTargetIsRefusedBeforeAnythingRuns() throws {
        let runner = try GRDBMigrationRunner(steps: itemSteps())
        #expect(throws: MigrationKitError.unknownMigrationTarget("9999")) {
            try runner.migrate(in: queue, upTo: "9999")
        }
        #expect(try Contents(of: queue).schema.isEmpty)
    }

    @Test func targetBehindTheDatabaseIsRefused() throws {
        let runner = try GRDBMigrationRunner(steps: itemSteps())
        try runner.migrate(in: queue)
        let before = try Contents(of: queue)
        #expect(
            throws: MigrationKitError.targetBehindDatabase(
                target: "0001_items",
                latestApplied: "0003_tag_index"
            )
        ) {
            try runner.migrate(in: queue, upTo: "0001_items")
        }
        #expect(try Contents(of: queue) == before)
    }

    @Test func databaseOfANewerProgramIsRefused() throws {
        try GRDBMigrationRunner(steps: itemSteps()).migrate(in: queue)
        let before = try Contents(of: queue)
        let older = try GRDBMigrationRunner(steps: Array(itemSteps().prefix(2)))
        // As an earlier release has recorded it.
        try queue.write { try $0.execute(sql: "UPDATE grdb_migrationkit_journal SET older = NULL") }
        let refusal = MigrationKitError.databaseIsNewer(
            unknown: ["0003_tag_index"],
            steps: try older.newerMigrations(in: queue)
        )
        #expect(throws: refusal) { try older.migrate(in: queue) }
        #expect(throws: refusal) { try older.migrate(in: queue, upTo: "0002_tags") }
        #expect(throws: refusal) { try older.rollbackLastMigration(in: queue) }
        #expect(throws: refusal) {
            try older.rollbackMigration(identifier: "0002_tags", in: queue)
        }
        #expect(try Contents(of: queue) == before)
    }

    @Test func noStepsLeaveTheDatabaseAsItIs() throws {
        let report = try GRDBMigrationRunner(steps: []).migrate(in: queue)
        #expect(report == MigrationReport(steps: [], pending: [], verified: false))
        #expect(try Contents(of: queue).schema.isEmpty)
    }

    @Test func failingStepLeavesNoTraceAndTheStepsBeforeItStay() throws {
        var steps = itemSteps()
        steps.insert(
            MigrationStep(identifier: "0002_a_failing", sourceFile: "") { db in
                try db.execute(sql: "CREATE TABLE half (id)")
                throw PlannedFailure()
            },
            at: 2
        )
        steps.swapAt(1, 2)
        let runner = try GRDBMigrationRunner(steps: steps)
        #expect(throws: PlannedFailure()) { try runner.migrate(in: queue) }
        #expect(try Contents(of: queue).ledger == ["0001_items"])
        #expect(try queue.read { try !$0.tableExists("half") })
        #expect(try queue.read { try Bool.fetchOne($0, sql: "PRAGMA foreign_keys") } == true)
    }

    @Test func childrenSurviveTheRebuildOfTheirParent() throws {
        var steps = itemSteps()
        steps.append(
            step(
                "0004_rebuild",
                """
                INSERT INTO item VALUES (1, 'a'), (2, 'b');
                INSERT INTO tag (itemId) VALUES (1), (1), (2);
                CREATE TABLE item_new (id INTEGER PRIMARY KEY, name TEXT NOT NULL);
                INSERT INTO item_new SELECT * FROM item;
                DROP TABLE item;
                ALTER TABLE item_new RENAME TO item;
                """
            )
        )
        try GRDBMigrationRunner(steps: steps).migrate(in: queue)
        #expect(try queue.read { try Int.fetchOne($0, sql: "SELECT count(*) FROM tag") } == 3)
    }

    @Test func stepThatLeavesAnOrphanIsUndone() throws {
        let steps =
            itemSteps() + [step("0004_orphan", "INSERT INTO tag (itemId) VALUES (99)")]
        let runner = try GRDBMigrationRunner(steps: steps)
        #expect(throws: (any Error).self) { try runner.migrate(in: queue) }
        #expect(try queue.read { try Int.fetchOne($0, sql: "SELECT count(*) FROM tag") } == 0)
        #expect(try runner.pendingMigrationIdentifiers(in: queue) == ["0004_orphan"])
    }

    @Test func foreignKeysThatWereOffStayOffAndAreCheckedAllTheSame() throws {
        var configuration = Configuration()
        configuration.foreignKeysEnabled = false
        let queue = try DatabaseQueue(configuration: configuration)
        let orphan = step("0004_orphan", "INSERT INTO tag (itemId) VALUES (98), (99)")
        let runner = try GRDBMigrationRunner(steps: itemSteps() + [orphan])
        let error = #expect(throws: DatabaseError.self) { try runner.migrate(in: queue) }
        #expect(error?.extendedResultCode == .SQLITE_CONSTRAINT_FOREIGNKEY)
        #expect(try runner.pendingMigrationIdentifiers(in: queue) == ["0004_orphan"])
        #expect(try queue.read { try Bool.fetchOne($0, sql: "PRAGMA foreign_keys") } == false)
    }

    @Test func observerSeesEveryStep() throws {
        let events = Recorder<MigrationEvent>()
        let failing = MigrationStep<Database>(identifier: "0004_failing", sourceFile: "") { _ in
            throw PlannedFailure()
        }
        let runner = try GRDBMigrationRunner(steps: [itemSteps()[0], failing])
        #expect(throws: PlannedFailure()) {
            try runner.migrate(in: queue, options: .init(observer: { events.append($0) }))
        }
        var seen = events.values
        #expect(seen.removeFirst() == .runStarted(direction: .forward, count: 2))
        try #require(seen.count == 4)
        #expect(
            seen[0]
                == .stepStarted(identifier: "0001_items", direction: .forward, index: 1, count: 2)
        )
        guard case .stepFinished(let step, .forward) = seen[1] else {
            Issue.record("expected the end of the first step, got \(seen[1])")
            return
        }
        #expect(step.identifier == "0001_items")
        #expect(step.seconds > 0)
        #expect(
            seen[2]
                == .stepStarted(identifier: "0004_failing", direction: .forward, index: 2, count: 2)
        )
        #expect(seen[3] == .stepFailed(identifier: "0004_failing", direction: .forward))
    }
}

// MARK: - What a Step Can't Do

@Suite struct StepTransactionTests {
    let queue: DatabaseQueue

    init() throws {
        queue = try DatabaseQueue()
    }

    @Test(arguments: [
        "COMMIT", "END", "ROLLBACK", "COMMIT; BEGIN", "ROLLBACK; CREATE TABLE b (id)",
    ])
    func stepCanNotEndItsTransaction(_ sql: String) throws {
        let runner = try GRDBMigrationRunner(steps: [
            step("0001", "CREATE TABLE a (id)"),
            step("0002", "CREATE TABLE half (id); \(sql)"),
        ])
        #expect(throws: MigrationKitError.stepEndedTransaction("0002")) {
            try runner.migrate(in: queue)
        }
        #expect(try Contents(of: queue).schema == ["CREATE TABLE a (id)"])
        #expect(try Contents(of: queue).ledger == ["0001"])
        try queue.write { try $0.execute(sql: "CREATE TABLE usable (id)") }
    }

    @Test func rollbackCanNotEndItsTransaction() throws {
        let runner = try GRDBMigrationRunner(steps: [
            step("0001", "CREATE TABLE a (id)", down: "DROP TABLE a; COMMIT")
        ])
        try runner.migrate(in: queue)
        let before = try Contents(of: queue)
        #expect(throws: MigrationKitError.stepEndedTransaction("0001")) {
            try runner.rollbackLastMigration(in: queue)
        }
        #expect(try Contents(of: queue) == before)
    }

    @Test func stepCanUseSavepoints() throws {
        let runner = try GRDBMigrationRunner(steps: [
            MigrationStep(identifier: "0001", sourceFile: "") { db in
                try db.execute(sql: "CREATE TABLE a (id)")
                try db.inSavepoint {
                    try db.execute(sql: "INSERT INTO a VALUES (1)")
                    return .rollback
                }
                try db.inSavepoint {
                    try db.execute(sql: "INSERT INTO a VALUES (2)")
                    return .commit
                }
            }
        ])
        try runner.migrate(in: queue)
        #expect(try queue.read { try Int.fetchAll($0, sql: "SELECT id FROM a") } == [2])
    }

    @Test func stepCanNotMoveTemporaryStorage() throws {
        let runner = try GRDBMigrationRunner(steps: [
            step("0001", "PRAGMA temp_store = FILE; CREATE TABLE a (id)")
        ])
        let store = try EncryptedStore()
        let encrypted = try store.open()
        let inMemory = try GRDBMigrationRunner(steps: [
            step("0001", "PRAGMA temp_store = MEMORY; CREATE TABLE a (id)")
        ])
        #expect(throws: DatabaseError.self) { try inMemory.migrate(in: encrypted) }
        #expect(try encrypted.read { try Int.fetchOne($0, sql: "PRAGMA temp_store") } == 1)
        let before = try queue.read { try Int.fetchOne($0, sql: "PRAGMA temp_store") }
        #expect(throws: DatabaseError.self) { try runner.migrate(in: queue) }
        #expect(try queue.read { try Int.fetchOne($0, sql: "PRAGMA temp_store") } == before)
    }

    @Test func stepSeesTheRawSchema() throws {
        struct Renamed: DatabaseSchemaSource {
            func columnsForPrimaryKey(
                _ db: Database,
                inView view: DatabaseObjectID
            ) throws -> [String]? { ["invented"] }
        }
        var configuration = Configuration()
        configuration.schemaSource = Renamed()
        let queue = try DatabaseQueue(configuration: configuration)
        let runner = try GRDBMigrationRunner(steps: [
            MigrationStep(identifier: "0001", sourceFile: "") { db in
                try db.execute(sql: "CREATE VIEW v AS SELECT 1 AS id")
                #expect(db.schemaSource == nil)
            }
        ])
        try runner.migrate(in: queue)
    }
}
