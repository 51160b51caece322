import GRDB
import MigrationKit
import MigrationKitCommon
import MigrationKitGRDB
import TestSupport
import Testing

@Suite struct CheckQueryTests {
    private let queue: DatabaseQueue

    private static let unnamed = CheckQuery(
        "no item without a name",
        sql: "SELECT rowid, name FROM item WHERE name IS NULL"
    )

    init() throws {
        queue = try DatabaseQueue()
        try queue.write { db in
            try db.execute(
                sql: """
                    CREATE TABLE item (id INTEGER PRIMARY KEY, name TEXT);
                    INSERT INTO item (id, name) VALUES (3, NULL), (4, 'secret'), (7, NULL);
                    """
            )
        }
    }

    private func adding(
        requirements: [CheckQuery] = [],
        checks: [CheckQuery] = [],
        usesTransaction: Bool = true,
        _ sql: String = "CREATE TABLE tag (id)"
    ) -> MigrationStep<Database> {
        MigrationStep(
            identifier: "0001_tag",
            usesTransaction: usesTransaction,
            requirements: requirements,
            checks: checks,
            apply: { try $0.execute(sql: sql) }
        )
    }

    private func runner(
        _ steps: MigrationStep<Database>...,
        checks: [CheckQuery] = []
    ) throws -> GRDBMigrationRunner {
        try GRDBMigrationRunner(steps: steps).checking(checks)
    }

    private func expectUnchanged(sourceLocation: SourceLocation = #_sourceLocation) throws {
        let contents = try Contents(of: queue)
        #expect(contents.ledger == [], sourceLocation: sourceLocation)
        #expect(try !queue.read { try $0.tableExists("tag") }, sourceLocation: sourceLocation)
    }

    // MARK: - Of a Step

    private static let found = CheckViolations(
        check: "no item without a name",
        count: 2,
        rowIDs: [3, 7]
    )

    @Test(arguments: [MigrationTransaction.perStep, .allOrNothing])
    func aRequirementRefusesTheStep(_ transaction: MigrationTransaction) throws {
        let log = Recorder<String>()
        let step = MigrationStep<Database>(
            identifier: "0001_tag",
            requirements: [Self.unnamed],
            apply: { _ in log.append("begun") }
        )
        let error = GRDBMigrationVerificationError.requirementFailed(step: "0001_tag", Self.found)
        #expect(throws: error) {
            try runner(step).migrate(in: queue, options: .init(transaction: transaction))
        }
        #expect(log.values.isEmpty)
        #expect(
            error.errorDescription
                == "0001_tag needs: no item without a name; 2 rows: rowid 3, 7"
        )
        #expect(error.code.name == "requirementFailed")
        #expect(error.code.exitStatus == .verificationFailed)
        try expectUnchanged()
    }

    @Test(arguments: [MigrationTransaction.perStep, .allOrNothing])
    func aCheckUndoesTheStep(_ transaction: MigrationTransaction) throws {
        let error = GRDBMigrationVerificationError.checkFailed(Self.found)
        #expect(throws: error) {
            try runner(adding(checks: [Self.unnamed]))
                .migrate(in: queue, options: .init(transaction: transaction))
        }
        #expect(
            error.errorDescription
                == "the check 'no item without a name' found 2 rows: rowid 3, 7"
        )
        #expect(error.code.name == "checkFailed")
        try expectUnchanged()
    }

    @Test func requirementsSeeWhatWasBeforeTheStepAndChecksWhatIsAfterIt() throws {
        let missing = CheckQuery(
            "there is an item",
            sql: "SELECT 1 WHERE (SELECT count(*) FROM item) < 3"
        )
        let emptied = CheckQuery("there is none left", sql: "SELECT rowid FROM item")
        try runner(adding(requirements: [missing], checks: [emptied], "DELETE FROM item"))
            .migrate(in: queue)
        #expect(try Contents(of: queue).ledger == ["0001_tag"])
    }

    @Test func aCheckSeesTheStepsTemporaryTables() throws {
        let lost = CheckQuery(
            "none is lost",
            sql: "SELECT id FROM before EXCEPT SELECT id FROM item"
        )
        let found = CheckViolations(check: lost.name, count: 1)
        let sql = "CREATE TEMP TABLE before AS SELECT id FROM item; DELETE FROM item WHERE id = 4"
        #expect(throws: GRDBMigrationVerificationError.checkFailed(found)) {
            try runner(adding(checks: [lost], sql)).migrate(in: queue)
        }
        #expect(try queue.read { try Int.fetchOne($0, sql: "SELECT count(*) FROM item") } == 3)
    }

    @Test func aDryRunRunsThem() throws {
        #expect(throws: GRDBMigrationVerificationError.checkFailed(Self.found)) {
            try runner(adding(), checks: [Self.unnamed]).dryRun(in: queue)
        }
        #expect(throws: GRDBMigrationVerificationError.checkFailed(Self.found)) {
            try runner(adding(checks: [Self.unnamed])).dryRun(in: queue)
        }
        try expectUnchanged()
    }

    @Test func grdbsOwnMigratorRunsThoseOfSteps() throws {
        #expect(throws: GRDBMigrationVerificationError.checkFailed(Self.found)) {
            try runner(adding(checks: [Self.unnamed])).migrator.migrate(queue)
        }
        try expectUnchanged()
    }

    @Test func aStepWithoutATransactionIsNotRecorded() throws {
        let step = adding(checks: [Self.unnamed], usesTransaction: false)
        #expect(throws: GRDBMigrationVerificationError.checkFailed(Self.found)) {
            try runner(step).migrate(in: queue)
        }
        #expect(try Contents(of: queue).ledger == [])
        #expect(try queue.read { try $0.tableExists("tag") })
        let refused = adding(
            requirements: [Self.unnamed],
            usesTransaction: false,
            "DROP TABLE tag"
        )
        #expect(
            throws: GRDBMigrationVerificationError.requirementFailed(
                step: "0001_tag",
                Self.found
            )
        ) {
            try runner(refused).migrate(in: queue)
        }
        #expect(try queue.read { try $0.tableExists("tag") })
    }

    @Test func anEndlessCheckIsCancelled() throws {
        let endless = CheckQuery(
            "it ends",
            sql: """
                WITH n (x) AS (VALUES (1) UNION ALL SELECT x + 1 FROM n)
                SELECT x FROM n WHERE x < 0
                """
        )
        let cancellation = Cancellation()
        var options = MigrationOptions(cancellation: cancellation)
        options.observer = { event in
            if case .stepContinues = event { cancellation.cancel() }
        }
        #expect(throws: CancellationError.self) {
            try runner(adding(checks: [endless])).migrate(in: queue, options: options)
        }
        #expect(throws: CancellationError.self) {
            let cancellation = Cancellation()
            var options = VerificationOptions(cancellation: cancellation)
            options.observer = { event in
                if case .checkContinues = event { cancellation.cancel() }
            }
            _ = try GRDBMigrationRunner(steps: []).checking([endless])
                .verificationChecks(in: queue, options: options)
        }
        try expectUnchanged()
    }

    // MARK: - Of the Runner

    @Test func theRunnersChecksUndoTheLastStep() throws {
        let last = step("0002_more", "CREATE TABLE more (id)")
        let runner = try runner(adding(), last, checks: [Self.unnamed])
        #expect(throws: GRDBMigrationVerificationError.checkFailed(Self.found)) {
            try runner.migrate(in: queue)
        }
        #expect(try Contents(of: queue).ledger == ["0001_tag"])
        try queue.write { try $0.execute(sql: "UPDATE item SET name = id") }
        try runner.migrate(in: queue)
    }

    @Test func theyAreNotRunWhileStepsArePending() throws {
        let check = CheckQuery("no tag", sql: "SELECT rowid FROM tag")
        let runner = try runner(
            step("0000_first", "CREATE TABLE first (id)"),
            adding(),
            checks: [check]
        )
        try runner.migrate(in: queue, upTo: "0000_first")
        let checks = try runner.verificationChecks(in: queue)
        #expect(checks.last?.name == "check no tag")
        #expect(checks.last?.note == "not run: migrations are pending")
        #expect(checks.last?.ok == true)
        try runner.migrate(in: queue)
        #expect(try runner.verificationChecks(in: queue).last?.note == nil)
    }

    @Test func aVerificationReportsEachAndNamesTenRows() throws {
        try queue.write { db in
            for id in 1000..<1998 {
                try db.execute(sql: "INSERT INTO item (id) VALUES (?)", arguments: [id])
            }
        }
        let fine = CheckQuery("all is well", sql: "SELECT 1 WHERE 0")
        let values = CheckQuery("no secret", sql: "SELECT name, id FROM item WHERE name = 'secret'")
        let runner = try GRDBMigrationRunner(steps: []).checking([fine, Self.unnamed, values])
        let checks = try runner.verificationChecks(in: queue).suffix(3)
        #expect(checks.map(\.name) == [fine, Self.unnamed, values].map { "check \($0.name)" })
        #expect(checks.map(\.ok) == [true, false, false])
        #expect(checks.map(\.detail) == [nil, "1000 rows violate it", "1 row violates it"])
        let ids: [[Int64?]] = [[], [3, 7] + (1000..<1008).map { $0 }, []]
        #expect(checks.map { $0.findings.map(\.rowID) } == ids)
        #expect(checks.map(\.unlistedCount) == [0, 990, 0])
        #expect(throws: GRDBMigrationVerificationError.self) {
            try runner.runPostMigrationChecks(in: queue)
        }
    }

    @Test func theyAreRunBesideTheHooksOfTheHost() throws {
        let runner = try GRDBMigrationRunner(
            steps: [adding()],
            integration: .init(verifyPostMigration: { _ in })
        ).checking([Self.unnamed])
        #expect(throws: GRDBMigrationVerificationError.checkFailed(Self.found)) {
            try runner.migrate(in: queue)
        }
        try expectUnchanged()
        #expect(throws: GRDBMigrationVerificationError.checkFailed(Self.found)) {
            try runner.runPostMigrationChecks(in: queue)
        }
    }

    // MARK: - What a Check May Be

    @Test(arguments: [
        "", "-- nothing", "DELETE FROM item", "INSERT INTO item DEFAULT VALUES RETURNING id",
        "WITH x AS (SELECT 1) DELETE FROM item",
        "WITH x AS (VALUES (1)) INSERT INTO item SELECT 1, 2",
        "PRAGMA user_version = 3", "PRAGMA user_version", "ATTACH ':memory:' AS other",
        "BEGIN", "VACUUM", "EXPLAIN SELECT 1", "CREATE TABLE x AS SELECT 1",
        "SELECT sqlcipher_export('main')", "SELECT \"sqlcipher_export\"('main')",
    ])
    func whatIsNoQueryIsRefusedBeforeAnythingRuns(_ sql: String) throws {
        let log = Recorder<String>()
        let step = MigrationStep<Database>(
            identifier: "0001_tag",
            checks: [CheckQuery("none", sql: sql)],
            apply: { _ in log.append("begun") }
        )
        #expect(
            throws: GRDBMigrationVerificationError.unusableCheck(
                name: "none",
                reason: "it must be a SELECT, and only read"
            )
        ) {
            try runner(step).migrate(in: queue)
        }
        #expect(log.values.isEmpty)
        try expectUnchanged()
    }

    @Test(arguments: [
        ("SELECT 1; DELETE FROM item", "there must be exactly one statement"),
        ("SELECT missing FROM item", "no such column: missing"),
        ("SELECT rowid FROM item WHERE name = ?", "wrong number of statement arguments: 0"),
    ])
    func whatSQLiteRefusesIsNoCheck(_ sql: String, _ reason: String) throws {
        let error = GRDBMigrationVerificationError.unusableCheck(name: "none", reason: reason)
        #expect(throws: error) {
            try runner(adding(checks: [CheckQuery("none", sql: sql)])).migrate(in: queue)
        }
        #expect(error.code.exitStatus == .dataError)
        try expectUnchanged()
        #expect(try queue.read { try Int.fetchOne($0, sql: "SELECT count(*) FROM item") } == 3)
    }

    /// SQLite's message takes the value for the name of a column, a table or a function.
    @Test(arguments: [
        "SELECT words FROM words WHERE words MATCH (SELECT name || ':x' FROM item WHERE id = 4)",
        "SELECT 1 FROM item, pragma_quick_check(item.name) WHERE id = 4",
        "SELECT * FROM words('a', (SELECT name FROM item WHERE id = 4))",
        "SELECT 1 LIMIT (SELECT name FROM item WHERE id = 4)",
    ])
    func errorOfARowHasNoneOfItsValues(_ sql: String) throws {
        try queue.write { db in
            try db.execute(
                sql: "CREATE VIRTUAL TABLE words USING fts5(body); INSERT INTO words VALUES ('a')"
            )
        }
        let error = #expect(throws: GRDBMigrationVerificationError.self) {
            try runner(adding(checks: [CheckQuery("none", sql: sql)])).migrate(in: queue)
        }
        let text = error.map { "\($0.localizedDescription) \($0)" } ?? ""
        #expect(text.contains("SQLite stopped at a row") && !text.contains("secret"), "\(text)")
        try expectUnchanged()
    }

    /// SQLite calls it a query, whatever its functions do.
    @Test func aFunctionCannotWrite() throws {
        try queue.write { db in
            nonisolated(unsafe) let connection = db
            db.add(
                function: DatabaseFunction("empty", argumentCount: 0) { _ in
                    try connection.execute(sql: "DELETE FROM item")
                    return 1
                }
            )
        }
        #expect(throws: GRDBMigrationVerificationError.self) {
            try runner(adding(checks: [CheckQuery("none", sql: "SELECT empty()")]))
                .migrate(in: queue)
        }
        #expect(try queue.read { try Int.fetchOne($0, sql: "SELECT count(*) FROM item") } == 3)
    }

    @Test(
        arguments: [
            ("SELECT rowid FROM item", [3, 4, 7]), ("SELECT i.ROWID, name FROM item i", [3, 4, 7]),
            ("SELECT DISTINCT rowid FROM item", [3, 4, 7]),
            ("SELECT id AS rowid FROM item", [3, 4, 7]),
            ("WITH x AS (SELECT id FROM item) SELECT id AS rowid FROM x", [3, 4, 7]),
            ("SELECT rowid AS other FROM item", [3, 4, 7]),
            ("SELECT id FROM item", []), ("SELECT id, rowid FROM item", []),
            ("SELECT rowid + 1 FROM item", []), ("SELECT name AS rowid FROM item", []),
            ("VALUES (1), (2), (3)", []),
        ] as [(String, [Int64])]
    )
    func onlyARowIDIsNamed(_ sql: String, _ rowIDs: [Int64]) throws {
        #expect(
            throws: GRDBMigrationVerificationError.checkFailed(
                CheckViolations(check: "none", count: 3, rowIDs: rowIDs)
            )
        ) {
            try runner(adding(checks: [CheckQuery("none", sql: sql)])).migrate(in: queue)
        }
    }
}
