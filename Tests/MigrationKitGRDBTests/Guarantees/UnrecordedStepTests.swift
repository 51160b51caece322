import GRDB
import MigrationKit
import MigrationKitGRDB
import TestSupport
import Testing

/// Ledgers and journals that don't take what is written to them.
@Suite struct UnrecordedStepTests {
    private let store: EncryptedStore
    private let writer: DatabaseQueue
    private let runner: GRDBMigrationRunner

    init() throws {
        store = try EncryptedStore()
        writer = try store.open()
        runner = try GRDBMigrationRunner(
            steps: itemSteps() + [
                step("0004", "CREATE TABLE a (id)", down: "DROP TABLE a"),
                MigrationStep(
                    identifier: "0005",
                    sourceFile: "",
                    checksum: "new",
                    apply: { try $0.execute(sql: "CREATE TABLE b (id)") },
                    rollback: { try $0.execute(sql: "DROP TABLE b") }
                ),
            ]
        )
    }

    enum Obstacle: CaseIterable {
        case ignoring, temporary, undoing
    }

    private func obstruct(_ table: String, _ event: String, _ obstacle: Obstacle) throws {
        let body =
            switch (obstacle, event) {
            case (.undoing, "INSERT"):
                "AFTER INSERT ON main.\(table) BEGIN DELETE FROM \(table) WHERE identifier = "
                    + "NEW.identifier; END"
            case (.undoing, _):
                "AFTER DELETE ON main.\(table) BEGIN INSERT INTO \(table) VALUES (OLD.identifier); "
                    + "END"
            default:
                "BEFORE \(event) ON main.\(table) BEGIN SELECT RAISE(IGNORE); END"
            }
        try writer.write { db in
            try db.execute(
                sql: obstacle == .temporary
                    ? "CREATE TEMP TRIGGER obstacle \(body)"
                    : "CREATE TRIGGER obstacle \(body.replacing("ON main.", with: "ON "))"
            )
        }
    }

    private let unusable = MigrationKitError.unusableTable("grdb_migrations")

    @Test(arguments: Obstacle.allCases, [MigrationTransaction.perStep, .allOrNothing])
    func stepThatTheLedgerDoesNotTakeIsUndone(
        _ obstacle: Obstacle,
        _ transaction: MigrationTransaction
    ) throws {
        let options = MigrationOptions(transaction: transaction)
        try runner.migrate(in: writer, upTo: "0003_tag_index")
        try obstruct("grdb_migrations", "INSERT", obstacle)
        let before = try Everything(of: writer)
        #expect(throws: unusable) { try runner.migrate(in: writer, options: options) }
        #expect(try Everything(of: writer) == before)
    }

    @Test(arguments: Obstacle.allCases, [MigrationTransaction.perStep, .allOrNothing])
    func rollbackThatTheLedgerDoesNotTakeIsUndone(
        _ obstacle: Obstacle,
        _ transaction: MigrationTransaction
    ) throws {
        let options = MigrationOptions(transaction: transaction)
        try runner.migrate(in: writer)
        try obstruct("grdb_migrations", "DELETE", obstacle)
        let before = try Everything(of: writer)
        #expect(throws: unusable) {
            try runner.rollbackLastMigration(in: writer, options: options)
        }
        #expect(throws: unusable) { try runner.redoMigrations(in: writer, options: options) }
        #expect(try Everything(of: writer) == before)
    }

    @Test func baselineThatTheLedgerDoesNotTakeIsUndone() throws {
        try writer.write { db in
            try db.execute(
                sql: "CREATE TABLE grdb_migrations (identifier TEXT NOT NULL PRIMARY KEY)"
            )
        }
        try obstruct("grdb_migrations", "INSERT", .ignoring)
        #expect(throws: unusable) { try runner.baseline(in: writer, upTo: "0003_tag_index") }
    }

    @Test func stepWithoutTransactionThatTheLedgerDoesNotTakeIsReported() throws {
        try runner.migrate(in: writer)
        try obstruct("grdb_migrations", "INSERT", .ignoring)
        let alone = MigrationStep<Database>(
            identifier: "0006",
            sourceFile: "",
            usesTransaction: false
        ) { try $0.execute(sql: "VACUUM") }
        #expect(throws: unusable) {
            try GRDBMigrationRunner(steps: runner.steps + [alone]).migrate(in: writer)
        }
    }

    @Test(arguments: [MigrationTransaction.perStep, .allOrNothing])
    func stepThatTheJournalDoesNotTakeIsUndone(_ transaction: MigrationTransaction) throws {
        let options = MigrationOptions(transaction: transaction)
        let unusable = MigrationKitError.unusableTable("grdb_migrationkit_journal")
        try runner.migrate(in: writer, upTo: "0004")
        try obstruct("grdb_migrationkit_journal", "INSERT", .ignoring)
        let before = try Everything(of: writer)
        #expect(throws: unusable) { try runner.migrate(in: writer, options: options) }
        #expect(throws: unusable) {
            try runner.rollbackLastMigration(in: writer, options: options)
        }
        #expect(try Everything(of: writer) == before)
    }

    @Test func repairThatTheJournalDoesNotTakeIsReported() throws {
        try runner.migrate(in: writer)
        try writer.write { db in
            try db.execute(
                sql:
                    "UPDATE grdb_migrationkit_journal SET checksum = 'old' WHERE identifier = '0005'"
            )
        }
        try obstruct("grdb_migrationkit_journal", "INSERT", .ignoring)
        #expect(throws: MigrationKitError.unusableTable("grdb_migrationkit_journal")) {
            try runner.repairMigrations(["0005"], in: writer)
        }
    }

    @Test func mergedStepsMustLeaveTheLedgerAsWell() throws {
        try runner.migrate(in: writer, upTo: "0003_tag_index")
        try obstruct("grdb_migrations", "DELETE", .ignoring)
        let merging = MigrationStep<Database>(
            identifier: "0003_merged",
            sourceFile: "",
            merging: ["0001_items", "0002_tags", "0003_tag_index"]
        ) { _, _ in }
        let before = try Everything(of: writer)
        #expect(throws: unusable) {
            try GRDBMigrationRunner(steps: [merging]).migrate(in: writer)
        }
        #expect(try Everything(of: writer) == before)
    }

    @Test func temporaryTableOfThatNameTakesNothing() throws {
        try runner.migrate(in: writer, upTo: "0003_tag_index")
        try writer.write { db in
            try db.execute(sql: "CREATE TEMP TABLE grdb_migrations (identifier TEXT)")
        }
        let before = try Everything(of: writer)
        #expect(throws: MigrationKitError.self) { try runner.migrate(in: writer) }
        #expect(try Everything(of: writer) == before)
    }

    @Test func nothingIsRecordedInADamagedDatabase() throws {
        try writer.writeWithoutTransaction { db in
            try db.execute(
                sql: """
                    CREATE TABLE damaged (a);
                    INSERT INTO damaged VALUES (NULL);
                    PRAGMA writable_schema = ON;
                    UPDATE sqlite_schema SET sql = 'CREATE TABLE damaged (a NOT NULL)'
                    WHERE name = 'damaged';
                    PRAGMA writable_schema = RESET;
                    """
            )
        }
        #expect(throws: GRDBMigrationVerificationError.self) {
            try runner.baseline(in: writer, upTo: "0004")
        }
        #expect(try writer.read { try !$0.tableExists("grdb_migrations") })
    }

    /// The first page says that it has no cells, so the schema looks empty.
    @Test func nothingIsWrittenOverADamagedSchema() throws {
        let folder = try TemporaryFolder()
        let path = folder.path("notes.db")
        let queue = try DatabaseQueue(path: path)
        try queue.write {
            try $0.execute(sql: "CREATE TABLE note (a); INSERT INTO note VALUES (1);")
        }
        try queue.close()
        var bytes = try folder.data("notes.db")
        bytes.replaceSubrange(103..<105, with: [0, 0])
        try folder.write("notes.db", bytes)
        let damaged = try DatabaseQueue(path: path)
        #expect(throws: GRDBMigrationVerificationError.self) { try runner.migrate(in: damaged) }
        try damaged.close()
        #expect(try folder.data("notes.db") == bytes)
    }
}
