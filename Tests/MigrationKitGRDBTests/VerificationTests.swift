import GRDB
import MigrationKit
import MigrationKitGRDB
import TestSupport
import Testing

@Suite struct VerificationTests {
    let queue: DatabaseQueue

    init() throws {
        queue = try DatabaseQueue()
    }

    @Test func requiredIndexIsCheckedBeforeTheLastCommit() throws {
        let runner = try GRDBMigrationRunner(
            steps: Array(itemSteps().prefix(2)),
            requiredIndexes: [RequiredIndexSpec(table: "tag", index: "tag_itemId")]
        )
        #expect(
            throws: GRDBMigrationVerificationError.missingIndex(table: "tag", index: "tag_itemId")
        ) {
            try runner.migrate(in: queue)
        }
        #expect(try Contents(of: queue).ledger == ["0001_items"])
    }

    @Test func requiredIndexIsNotAskedForWhileStepsArePending() throws {
        let runner = try GRDBMigrationRunner(
            steps: itemSteps(),
            requiredIndexes: [RequiredIndexSpec(table: "tag", index: "tag_itemId")]
        )
        try runner.migrate(in: queue, upTo: "0001_items")
        try runner.migrate(in: queue)
        try runner.rollbackLastMigration(in: queue)
        #expect(
            throws: GRDBMigrationVerificationError.missingIndex(table: "tag", index: "tag_itemId")
        ) {
            try runner.runPostMigrationChecks(in: queue)
        }
    }

    @Test func furtherIndexIsAskedForBesideTheHooksOfTheHost() throws {
        let missing = RequiredIndexSpec(table: "tag", index: "none")
        let error = GRDBMigrationVerificationError.missingIndex(table: "tag", index: "none")
        let runner = try GRDBMigrationRunner(
            steps: itemSteps(),
            integration: .init(verifyPostMigration: { _ in })
        ).requiring([missing])
        try runner.migrate(in: queue, upTo: "0001_items")
        #expect(throws: error) { try runner.allowingOutOfOrder().migrate(in: queue) }
        // The last step is undone.
        #expect(try Contents(of: queue).ledger == Set(runner.migrationIdentifiers.dropLast()))
        #expect(throws: error) { try runner.runPostMigrationChecks(in: queue) }
        // Named once, however often it is asked for.
        let checks = try runner.verificationChecks(in: queue, additionalIndexes: [missing])
        #expect(checks.map(\.name) == ["verifyPostMigration", "required_index tag.none"])
        #expect(checks.map(\.ok) == [true, false])
    }

    @Test func requiredIndexMustBeOnItsTable() throws {
        try GRDBMigrationRunner(steps: itemSteps()).migrate(in: queue)
        func verify(_ table: String, _ index: String) throws {
            try GRDBMigrationVerifier.runPostMigrationChecks(
                in: queue,
                requiredIndexes: [RequiredIndexSpec(table: table, index: index)]
            )
        }
        try verify("tag", "tag_itemId")
        try verify("TAG", "tag_ITEMID")
        #expect(
            throws: GRDBMigrationVerificationError.missingIndex(table: "item", index: "tag_itemId")
        ) {
            try verify("item", "tag_itemId")
        }
        #expect(throws: GRDBMigrationVerificationError.missingTable(table: "x", index: "y")) {
            try verify("x", "y")
        }
    }

    @Test func foreignKeyViolationsAreCounted() throws {
        try GRDBMigrationRunner(steps: itemSteps()).migrate(in: queue)
        try queue.writeWithoutTransaction { db in
            try db.execute(
                sql: "PRAGMA foreign_keys = OFF; INSERT INTO tag (itemId) VALUES (7), (8), (9)"
            )
        }
        #expect(throws: GRDBMigrationVerificationError.foreignKeyViolations(count: 3)) {
            try GRDBMigrationVerifier.runPostMigrationChecks(in: queue)
        }
    }

    @Test(arguments: [MigrationTransaction.perStep, .allOrNothing])
    func aReferenceToAMissingTableIsFound(_ transaction: MigrationTransaction) throws {
        try queue.write { try $0.execute(sql: "CREATE TABLE old (a REFERENCES gone)") }
        // It was there before the run, which doesn't fail for it.
        let options = MigrationOptions(transaction: transaction)
        let runner = try GRDBMigrationRunner(steps: itemSteps())
        #expect(try !runner.migrate(in: queue, options: options).verified)
        let old = GRDBMigrationVerificationError.missingParent(table: "old", parent: "gone")
        #expect(throws: old) { try runner.runPostMigrationChecks(in: queue) }
        #expect(try runner.verificationChecks(in: queue)[1].detail == old.errorDescription)

        let child = step("0004", "CREATE TABLE child (a REFERENCES parent)")
        let parent = step("0005", "CREATE TABLE Parent (id INTEGER PRIMARY KEY)")
        #expect(
            throws: GRDBMigrationVerificationError.missingParent(table: "child", parent: "parent")
        ) {
            try GRDBMigrationRunner(steps: itemSteps() + [child])
                .migrate(in: queue, options: options)
        }
        #expect(try queue.tables().contains("child") == false)
        try GRDBMigrationRunner(steps: itemSteps() + [child, parent])
            .migrate(in: queue, options: options)
        try queue.write { try $0.execute(sql: "DROP TABLE old") }
        try runner.runPostMigrationChecks(in: queue)
    }

    @Test func damageIsFound() throws {
        try queue.write { db in
            try db.execute(sql: "CREATE TABLE strictly (id INTEGER NOT NULL)")
            try db.execute(sql: "INSERT INTO strictly VALUES (1)")
        }
        try queue.writeWithoutTransaction { db in
            // The row is a NULL where the schema that is read next says NOT NULL.
            try db.execute(
                sql: """
                    CREATE TABLE loose (id INTEGER);
                    INSERT INTO loose VALUES (NULL);
                    PRAGMA writable_schema = ON;
                    UPDATE sqlite_master SET sql = 'CREATE TABLE loose (id INTEGER NOT NULL)'
                        WHERE name = 'loose';
                    PRAGMA writable_schema = RESET;
                    """
            )
        }
        #expect(
            throws: GRDBMigrationVerificationError.quickCheckFailed(
                result: "NULL value in loose.id"
            )
        ) {
            try GRDBMigrationVerifier.runPostMigrationChecks(in: queue)
        }
    }

    @Test func unchangedDatabaseIsVerifiedOnlyWhenAsked() throws {
        let calls = Recorder<Int>()
        let runner = try GRDBMigrationRunner(
            steps: itemSteps(),
            integration: .init(verifyIntegrity: { _ in calls.append(1) })
        )
        #expect(try runner.migrate(in: queue).verified)
        #expect(calls.values.count == 1)
        #expect(try !runner.migrate(in: queue).verified)
        #expect(calls.values.count == 1)
        #expect(try runner.migrate(in: queue, options: .init(verifiesUnchanged: true)).verified)
        #expect(calls.values.count == 2)
    }

    @Test func everyCheckHasAnOutcome() throws {
        let runner = try GRDBMigrationRunner(
            steps: itemSteps(),
            requiredIndexes: [RequiredIndexSpec(table: "tag", index: "tag_itemId")]
        )
        try runner.migrate(in: queue)
        let checks = try runner.verificationChecks(
            in: queue,
            additionalIndexes: [RequiredIndexSpec(table: "item", index: "none")]
        )
        #expect(
            checks == [
                VerificationCheck(name: "quick_check"),
                VerificationCheck(name: "foreign_key_check"),
                VerificationCheck(name: "required_index tag.tag_itemId"),
                VerificationCheck(
                    name: "required_index item.none",
                    detail: "the index 'none' on the table 'item' is missing"
                ),
            ]
        )
    }
}

@Suite struct HostIntegrationTests {
    let queue: DatabaseQueue

    init() throws {
        queue = try DatabaseQueue()
    }

    @Test func bootstrapRunsOncePerRunAndBeforeTheSteps() throws {
        let runner = try GRDBMigrationRunner(
            steps: [step("0001", "INSERT INTO calls (who) VALUES ('step')")],
            integration: .init(bootstrapSchema: { db in
                try db.execute(sql: "CREATE TABLE IF NOT EXISTS calls (who)")
                try db.execute(sql: "INSERT INTO calls (who) VALUES ('bootstrap')")
                return false
            })
        )
        try runner.migrate(in: queue)
        #expect(
            try queue.read { try String.fetchAll($0, sql: "SELECT who FROM calls ORDER BY rowid") }
                == ["bootstrap", "step"]
        )
        try runner.migrate(in: queue)
        #expect(
            try queue.read {
                try Int.fetchOne($0, sql: "SELECT count(*) FROM calls WHERE who = 'bootstrap'")
            } == 2
        )
    }

    @Test func failingBootstrapIsUndoneAndNothingRuns() throws {
        let runner = try GRDBMigrationRunner(
            steps: itemSteps(),
            integration: .init(bootstrapSchema: { db in
                try db.execute(sql: "CREATE TABLE half (id)")
                throw PlannedFailure()
            })
        )
        #expect(throws: PlannedFailure()) { try runner.migrate(in: queue) }
        #expect(try Contents(of: queue).schema.isEmpty)
    }

    @Test func verifyIntegrityReplacesTheChecksAndCanUndoTheLastStep() throws {
        let runner = try GRDBMigrationRunner(
            steps: itemSteps(),
            integration: .init(verifyIntegrity: { db in
                guard try Int.fetchOne(db, sql: "SELECT count(*) FROM item") != 0 else {
                    throw PlannedFailure()
                }
            })
        )
        #expect(throws: PlannedFailure()) { try runner.migrate(in: queue) }
        #expect(try Contents(of: queue).ledger == ["0001_items", "0002_tags"])
        try queue.write { try $0.execute(sql: "INSERT INTO item VALUES (1, 'a')") }
        #expect(try runner.migrate(in: queue).verified)
    }

    @Test func verifyPostMigrationGetsTheCommittedDatabase() throws {
        let seen = Recorder<Set<String>>()
        let runner = try GRDBMigrationRunner(
            steps: itemSteps(),
            integration: .init(verifyPostMigration: { writer in
                seen.append(try Contents(of: writer).ledger)
            })
        )
        try runner.migrate(in: queue, upTo: "0001_items")
        #expect(seen.values.isEmpty)
        try runner.migrate(in: queue)
        #expect(seen.values == [Set(runner.migrationIdentifiers)])
        try runner.rollbackLastMigration(in: queue)
        #expect(seen.values.last == ["0001_items", "0002_tags"])
    }

    @Test func hostChecksStandInTheOutcomes() throws {
        let failing = try GRDBMigrationRunner(
            steps: itemSteps(),
            integration: .init(verifyIntegrity: { _ in throw PlannedFailure() })
        )
        let checks = try failing.verificationChecks(in: queue)
        #expect(checks.map(\.name) == ["verifyIntegrity"])
        #expect(checks.map(\.ok) == [false])
    }
}
