import GRDB
import MigrationKit
import MigrationKitSchema
import TestSupport
import Testing

/// Stores whose ledger is not a beginning of the list: with a gap, or with no ledger at all.
@Suite struct OddLedgerTests {
    private let store: EncryptedStore
    private let writer: DatabaseQueue

    init() throws {
        store = try EncryptedStore()
        writer = try store.open()
    }

    /// As SQLite compares them. The way out of it is that of a file that was renamed.
    @Test func identifiersAreComparedByteByByte() throws {
        let (composed, decomposed) = ("0001_caf\u{e9}", "0001_cafe\u{301}")
        func runner(_ identifier: String) throws -> GRDBMigrationRunner {
            try GRDBMigrationRunner(steps: [
                step(identifier, "CREATE TABLE a (id)", down: "DROP TABLE a")
            ])
        }
        let queue = try DatabaseQueue()
        try runner(composed).migrate(in: queue)
        let renamed = try runner(decomposed)
        #expect(try renamed.migrationStatus(in: queue).map(\.state) == [.down])
        #expect(try renamed.pendingMigrationIdentifiers(in: queue) == [decomposed])
        let missing = MigrationKitError.appliedMigrationsMissing([composed])
        #expect(throws: missing) { try renamed.migrate(in: queue) }
        #expect(throws: missing) { try renamed.rollbackLastMigration(in: queue) }
        try renamed.repairMigrations(
            [],
            renaming: [(composed, decomposed)],
            forgetting: [],
            in: queue
        )
        try renamed.rollbackLastMigration(in: queue)
        #expect(try Contents(of: queue).ledger == [])
        // GRDB's migrator can't have both, either.
        #expect(throws: MigrationKitError.duplicateIdentifiers([composed])) {
            try MigrationRegistry(steps: [step(composed, ""), step(decomposed, "")])
        }
        // "e" comes before "f", and "é" after it.
        _ = try MigrationRegistry(steps: [step(decomposed, ""), step("0001_caff", "")])
    }

    // MARK: - A Gap

    @Test(arguments: [MigrationTransaction.perStep, .allOrNothing])
    func gapIsRefusedUnlessAllowed(_ transaction: MigrationTransaction) throws {
        let late = [step("0002", "CREATE TABLE b (id)"), step("0003", "CREATE TABLE c (id)")]
        let others = [step("0001", "CREATE TABLE a (id)"), step("0004", "CREATE TABLE d (id)")]
        try GRDBMigrationRunner(steps: others).migrate(in: writer)
        let before = try Everything(of: writer)
        let options = MigrationOptions(transaction: transaction)
        let steps = [others[0], late[0], late[1], others[1]]

        let strict = try GRDBMigrationRunner(steps: steps)
        let refusal = MigrationKitError.pendingBeforeApplied(
            pending: ["0002", "0003"],
            latestApplied: "0004"
        )
        #expect(throws: refusal) { try strict.migrate(in: writer, options: options) }
        #expect(throws: refusal) { try strict.dryRun(in: writer) }
        #expect(try Everything(of: writer) == before)

        let lenient = try GRDBMigrationRunner(steps: steps, allowsOutOfOrder: true)
        let report = try lenient.migrate(in: writer, options: options)
        #expect(report.steps.map(\.identifier) == ["0002", "0003"])
        #expect(try writer.tables() == ["a", "b", "c", "d"])
        #expect(try strict.migrate(in: writer).steps.isEmpty)
    }

    @Test func targetBehindALaterStepIsRefusedEvenWhereAGapIsAllowed() throws {
        let steps = (1...3).map { step("000\($0)", "CREATE TABLE t\($0) (id)") }
        try GRDBMigrationRunner(steps: [steps[0], steps[2]]).migrate(in: writer)
        let lenient = try GRDBMigrationRunner(steps: steps, allowsOutOfOrder: true)
        #expect(
            throws: MigrationKitError.targetBehindDatabase(target: "0002", latestApplied: "0003")
        ) {
            try lenient.migrate(in: writer, upTo: "0002")
        }
    }

    // MARK: - Another Program

    /// As many rows as before say nothing of what they are.
    @Test func identifierThatTakesAnothersPlaceBeforeTheFirstStepIsNoticed() throws {
        let steps = (1...2).map { step("000\($0)", "CREATE TABLE t\($0) (id)") }
        try GRDBMigrationRunner(steps: [steps[0]]).migrate(in: writer)
        let other = try store.open()
        let options = MigrationOptions(observer: { event in
            guard case .runStarted = event else { return }
            do {
                try other.write { db in
                    try db.execute(sql: "UPDATE grdb_migrations SET identifier = '0009'")
                }
            } catch {
                Issue.record(error)
            }
        })
        let newer = [NewerMigration(identifier: "0009")]
        #expect(throws: MigrationKitError.databaseIsNewer(unknown: ["0009"], steps: newer)) {
            try GRDBMigrationRunner(steps: steps).migrate(in: writer, options: options)
        }
        #expect(try writer.tables() == ["t1"])
    }

    // MARK: - A Baseline

    @Test func baselineRecordsWithoutRunning() throws {
        try writer.write { db in
            try db.execute(sql: "CREATE TABLE item (id INTEGER PRIMARY KEY, name TEXT, own TEXT)")
            try db.execute(sql: "INSERT INTO item VALUES (1, 'a', 'b')")
        }
        let before = try Everything(of: writer)
        let runner = try GRDBMigrationRunner(steps: itemSteps())
        #expect(throws: DatabaseError.self) { try runner.migrate(in: writer) }

        #expect(try runner.baseline(in: writer, upTo: "0001_items") == ["0001_items"])
        let after = try Everything(of: writer)
        #expect(after.rows["item"] == before.rows["item"])
        #expect(after.ledger == ["0001_items"])
        #expect(try writer.tables() == ["item"])

        let report = try runner.migrate(in: writer)
        #expect(report.steps.map(\.identifier) == ["0002_tags", "0003_tag_index"])
        #expect(try writer.number("SELECT count(*) FROM item") == 1)
    }

    @Test func baselineIsRefusedWhereThereIsALedger() throws {
        let runner = try GRDBMigrationRunner(steps: itemSteps())
        try runner.migrate(in: writer, upTo: "0002_tags")
        let before = try Everything(of: writer)
        #expect(throws: MigrationKitError.baselineOnMigratedDatabase(latestApplied: "0002_tags")) {
            try runner.baseline(in: writer, upTo: "0003_tag_index")
        }
        let older = try GRDBMigrationRunner(steps: [itemSteps()[0]])
        let newer = try older.newerMigrations(in: writer)
        #expect(throws: MigrationKitError.databaseIsNewer(unknown: ["0002_tags"], steps: newer)) {
            try older.baseline(in: writer, upTo: "0001_items")
        }
        #expect(try Everything(of: writer) == before)
    }

    @Test func baselineUpToAnUnknownStepIsRefused() throws {
        let runner = try GRDBMigrationRunner(steps: itemSteps())
        #expect(throws: MigrationKitError.unknownMigrationTarget("0009")) {
            try runner.baseline(in: writer, upTo: "0009")
        }
        #expect(try Everything(of: writer).schema.isEmpty)
    }

    @Test(arguments: [
        "DELETE FROM grdb_migrations", "INSERT INTO grdb_migrations VALUES ('0009_later')",
        "CREATE TEMP TABLE grdb_migrations (identifier)",
        "DELETE FROM grdb_migrationkit_journal",
    ])
    func stepThatChangesTheLedgerIsUndone(_ sql: String) throws {
        try GRDBMigrationRunner(steps: itemSteps()).migrate(in: writer)
        let before = try Everything(of: writer)
        let runner = try GRDBMigrationRunner(
            steps: itemSteps() + [step("0004_odd", "CREATE TABLE odd (id); \(sql)")]
        )
        for transaction in [MigrationTransaction.perStep, .allOrNothing] {
            #expect(throws: MigrationKitError.stepChangedLedger("0004_odd")) {
                try runner.migrate(in: writer, options: .init(transaction: transaction))
            }
            #expect(try Everything(of: writer) == before)
        }
    }

    @Test(arguments: ["'0001_items'", "x'00ff'", "NULL", "''"])
    func ledgerThatOthersHaveMadeLeadsToNoEndlessRun(_ row: String) throws {
        try writer.write { db in
            try db.execute(
                sql: """
                    CREATE TABLE item (id INTEGER PRIMARY KEY, name TEXT);
                    CREATE TABLE grdb_migrations (identifier);
                    INSERT INTO grdb_migrations VALUES ('0001_items'), (\(row));
                    """
            )
        }
        let runner = try GRDBMigrationRunner(steps: itemSteps())
        if row == "'0001_items'" {
            #expect(try runner.migrate(in: writer).steps.count == 2)
        } else {
            #expect(throws: MigrationKitError.unusableTable("grdb_migrations")) {
                try runner.migrate(in: writer)
            }
        }
    }

    /// Reading a view runs what its author wrote: this one never ends.
    @Test(arguments: ["grdb_migrations", "GRDB_Migrations", "grdb_migrationkit_journal"])
    func whatIsNoTableIsNotRead(_ name: String) throws {
        try writer.write { db in
            try db.execute(
                sql: """
                    CREATE VIEW \(name) AS
                    WITH RECURSIVE c (x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c)
                    SELECT x AS identifier, x AS event, x AS time FROM c WHERE x < 0
                    """
            )
        }
        let before = try Everything(of: writer)
        let runner = try GRDBMigrationRunner(steps: itemSteps())
        let table = name.lowercased()
        let error = MigrationKitError.unusableTable(table)
        for transaction in [MigrationTransaction.perStep, .allOrNothing] {
            #expect(throws: error) {
                try runner.migrate(in: writer, options: .init(transaction: transaction))
            }
        }
        #expect(throws: error) { try runner.overview(of: writer) }
        if table == "grdb_migrations" {
            #expect(throws: error) { try runner.dryRun(in: writer) }
            #expect(throws: error) { try runner.rollbackMigrations(in: writer, steps: 1) }
            #expect(throws: error) { try runner.baseline(in: writer, upTo: "0001_items") }
        } else {
            #expect(throws: error) { try GRDBMigrationRunner.history(in: writer) }
        }
        let checks = try runner.verificationChecks(in: writer, isFull: true)
        #expect(checks.filter { !$0.ok }.map(\.name) == ["ledger"])
        #expect(try Everything(of: writer) == before)
    }
}
