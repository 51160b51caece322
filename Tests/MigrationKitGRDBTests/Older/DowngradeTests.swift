import Foundation
import GRDB
import MigrationKit
import MigrationKitGRDB
import TestSupport
import Testing

@testable import MigrationKitSchema

/// A program takes back steps that it has never heard of, by the SQL in the database.
@Suite struct DowngradeTests {
    let store: EncryptedStore
    let writer: DatabaseQueue
    let old: GRDBMigrationRunner

    init() throws {
        store = try EncryptedStore()
        writer = try store.open()
        old = try GRDBMigrationRunner(steps: [Self.first])
    }

    private static let first = step(
        "0001",
        """
        CREATE TABLE note (id INTEGER PRIMARY KEY, title TEXT NOT NULL, body TEXT);
        INSERT INTO note (title, body) VALUES ('a', 'x'), ('b', NULL);
        """
    )

    private static func step(_ identifier: String, _ sql: String, down: String? = nil)
        -> MigrationStep<Database>
    {
        MigrationStep(
            identifier: identifier,
            checksum: sql,
            rollbackSQL: down,
            apply: { try $0.execute(sql: sql) }
        )
    }

    private static let second = step(
        "0002",
        "ALTER TABLE note RENAME COLUMN body TO text; ALTER TABLE note ADD COLUMN done",
        down: "ALTER TABLE note DROP COLUMN done; ALTER TABLE note RENAME COLUMN text TO body;"
    )
    private static let third = step(
        "0003",
        "CREATE TABLE tag (name); INSERT INTO tag VALUES (1), (2); UPDATE note SET done = 1",
        down: "DROP TABLE tag"
    )

    private func migrate(_ steps: MigrationStep<Database>...) throws {
        try GRDBMigrationRunner(steps: [Self.first] + steps, appVersion: "2.0").migrate(in: writer)
    }

    private func backups() throws -> [String] {
        let folder = URL(fileURLWithPath: store.path).deletingLastPathComponent()
        return try FileManager.default.contentsOfDirectory(atPath: folder.path)
            .filter { $0.contains("before-downgrade") }
    }

    @Test func stepsAreTakenBackByAProgramThatDoesNotKnowThem() throws {
        try old.migrate(in: writer)
        let before = try Contents(of: writer)
        try migrate(Self.second, Self.third)
        let newer = try Everything(of: writer)
        let refusal = #expect(throws: MigrationKitError.self) { try old.migrate(in: writer) }
        #expect(refusal?.code.name == "databaseCanBeDowngraded")

        let plan = try old.plannedDowngrade(in: writer)
        #expect(plan.steps == ["0003", "0002"])
        #expect(
            plan.losses.map(\.description) == [
                "column note.done, with a value in 2 rows", "table tag, with 2 rows",
            ]
        )
        #expect(try Everything(of: writer) == newer)
        #expect(try backups().isEmpty)

        let (report, _, backup) = try old.downgrade(in: writer)
        #expect(report.steps.map(\.identifier) == ["0003", "0002"] && report.verified)
        #expect(try Contents(of: writer) == before)
        let path = try #require(backup)
        #expect(try backups() == [URL(fileURLWithPath: path).lastPathComponent])
        let copy = try DatabaseQueue(path: path, configuration: writer.configuration)
        #expect(try Everything(of: copy).rows["tag"] == newer.rows["tag"])
        #expect(
            try GRDBMigrationRunner.history(in: writer).suffix(2).map(\.backup) == [path, path]
        )
        #expect(try old.migrate(in: writer).newer.isEmpty)

        try migrate(Self.second, Self.third)
        #expect(try Everything(of: writer).rows["tag"] == newer.rows["tag"])
    }

    @Test func targetMayBeAStepThatTheProgramDoesNotKnow() throws {
        try migrate(Self.second, Self.third)
        let (report, _, _) = try old.downgrade(in: writer, to: "0002")
        #expect(report.steps.map(\.identifier) == ["0003"])
        #expect(try old.appliedMigrationIdentifiers(in: writer) == ["0001", "0002"])
        #expect(throws: MigrationKitError.rollbackTargetNotApplied("0009")) {
            try old.downgrade(in: writer, to: "0009")
        }
    }

    @Test func nothingToTakeBackMakesNoCopy() throws {
        try old.migrate(in: writer)
        let (report, _, backup) = try old.downgrade(in: writer)
        #expect(report.steps.isEmpty && backup == nil)
        #expect(try old.plannedDowngrade(in: writer).steps.isEmpty)
        #expect(try backups().isEmpty)
    }

    private func expectRefusal(
        of steps: [MigrationStep<Database>],
        _ isExpected: (MigrationKitError) -> Bool
    ) throws {
        try GRDBMigrationRunner(steps: [Self.first] + steps, appVersion: "2.0").migrate(in: writer)
        let before = try Everything(of: writer)
        let refusal = #expect(throws: MigrationKitError.self) { try old.downgrade(in: writer) }
        #expect(refusal.map(isExpected) == true, "\(String(describing: refusal))")
        #expect(try Everything(of: writer) == before)
        #expect(try backups().isEmpty)
    }

    @Test func stepWithoutSQLIsNamedWithItsVersion() throws {
        try expectRefusal(of: [Self.second, Self.step("0003", "DROP TABLE note")]) {
            guard case .cannotDowngrade(let steps) = $0 else { return false }
            return steps.map(\.identifier) == ["0003"] && steps[0].appVersion == "2.0"
                && $0.recoverySuggestion?.contains("version 2.0 or a later one") == true
        }
    }

    @Test func rollbackThatLeavesAnotherSchemaIsUndone() throws {
        let step = Self.step(
            "0002",
            "CREATE TABLE tag (name); DROP TABLE note",
            down: "DROP TABLE tag"
        )
        try expectRefusal(of: [step]) {
            $0 == .downgradeDiffers(["table note is missing"])
        }
    }

    @Test(
        arguments: [
            ("ATTACH ':memory:' AS x", RefusedStatement.attachment),
            ("DROP TABLE tag; COMMIT", .transactionControl),
            ("PRAGMA rekey = 'x'", .encryptionPragma),
            ("explain pragma main . key = 'x'", .encryptionPragma),
        ]
    )
    func rollbackHasTheGuardsOfAFile(_ sql: String, _ refused: RefusedStatement) throws {
        let step = Self.step("0002", "DROP TABLE note; CREATE TABLE tag (name)", down: sql)
        try expectRefusal(of: [step]) { $0 == .refusedRollback("0002", refused) }
    }

    /// The ledger and its journal are the runner's own.
    @Test(
        arguments: [
            "DELETE FROM grdb_migrations", "DELETE FROM grdb_migrationkit_journal",
            "UPDATE grdb_migrationkit_journal SET checksum = 'x'",
            "DROP TABLE grdb_migrationkit_journal",
            "ALTER TABLE grdb_migrationkit_journal RENAME TO other; DROP TABLE other",
            "CREATE VIEW v AS SELECT * FROM grdb_migrationkit_journal; "
                + "CREATE TRIGGER x INSTEAD OF DELETE ON v BEGIN DELETE FROM grdb_migrationkit_journal; END; "
                + "DELETE FROM v; DROP VIEW v",
        ]
    )
    func rollbackThatChangesTheRecordIsRefused(_ sql: String) throws {
        let step = Self.step("0002", "CREATE TABLE tag (name)", down: "DROP TABLE tag; \(sql)")
        try expectRefusal(of: [step]) { $0 == .stepChangedLedger("0002") }
        let runner = try GRDBMigrationRunner(steps: [Self.first, step])
        let before = try Everything(of: writer)
        #expect(throws: MigrationKitError.stepChangedLedger("0002")) {
            try runner.rollbackLastMigration(in: writer)
        }
        #expect(try Everything(of: writer) == before)
    }

    @Test func aProgramThatKnowsNoneOfThemTakesNothingBack() throws {
        try migrate(Self.second)
        let before = try Everything(of: writer)
        let stranger = try GRDBMigrationRunner(steps: [Self.step("0000_zero", "SELECT 1")])
        #expect(throws: MigrationKitError.noKnownMigration(applied: ["0001", "0002"])) {
            try stranger.downgrade(in: writer)
        }
        #expect(try Everything(of: writer) == before)
    }

    @Test(
        arguments: [
            ("UPDATE note SET body = NULL", ["values of column note.body, in 1 row"]),
            (
                "UPDATE note SET title = 'longer' WHERE id = 1",
                ["values of column note.title, in 1 row"]
            ),
            ("UPDATE note SET title = 'z'", ["values of column note.title, in 2 rows"]),
            (
                "DELETE FROM note WHERE id = 1; UPDATE note SET title = 'z'",
                ["values of column note.title, in 1 row", "1 row of table note"]
            ),
            ("UPDATE note SET id = id + 10", ["2 rows of table note"]),
            ("DELETE FROM note WHERE id = 1", ["1 row of table note"]),
            ("ALTER TABLE note RENAME TO n; ALTER TABLE n RENAME TO note", []),
        ]
    )
    func lossesAreListed(_ down: String, _ losses: [String]) throws {
        try migrate(Self.step("0002", "SELECT 1", down: down))
        #expect(try old.plannedDowngrade(in: writer).losses.map(\.description) == losses)
        let (_, lost, _) = try old.downgrade(in: writer)
        #expect(lost.map(\.description) == losses)
    }

    /// More values than are kept one by one.
    @Test(
        arguments: [
            ("UPDATE note SET title = 'z'", ["values of column note.title"]),
            ("DELETE FROM note WHERE id = 1; UPDATE note SET title = 'z'", ["1 row of table note"]),
            ("ALTER TABLE note RENAME COLUMN title TO name", []),
            ("UPDATE note SET title = title || ''; ALTER TABLE note ADD COLUMN x", []),
        ]
    )
    func lossesOfALargeDatabaseAreListedBySums(_ sql: String, _ losses: [String]) throws {
        try migrate()
        let found = try writer.write { db in
            let before = try TableHashes(of: db, keepingAtMost: 2)
            try db.execute(sql: sql)
            return try before.losses(to: TableHashes(of: db, keepingAtMost: 2))
        }
        #expect(found.map(\.description) == losses)
    }

    @Test(arguments: ["CREATE TABLE tag (name)", "CREATE TABLE tag (name) "])
    func repairKeepsTheNewWayBack(_ text: String) throws {
        try migrate(Self.step("0002", "CREATE TABLE tag (name)", down: "DROP TABLE tagz"))
        #expect(throws: DatabaseError.self) { try old.downgrade(in: writer) }
        #expect(try backups().isEmpty)
        let corrected = Self.step("0002", text, down: "DROP TABLE tag")
        let runner = try GRDBMigrationRunner(steps: [Self.first, corrected])
        #expect(try runner.repairMigrations(["0002"], in: writer) == ["0002"])
        #expect(try runner.repairMigrations(["0002"], in: writer) == [])
        #expect(try old.downgrade(in: writer).report.steps.map(\.identifier) == ["0002"])
    }

    @Test func copyIsNeverPutOverAnotherFile() throws {
        try migrate(Self.second)
        let before = try Everything(of: writer)
        #expect(throws: MigrationBackupError.self) {
            try old.downgrade(in: writer, backup: store.path)
        }
        #expect(try Everything(of: writer) == before)
    }

    @Test func rollbackRunsTheSQLWhereThereIsNoClosure() throws {
        let runner = try GRDBMigrationRunner(steps: [Self.first, Self.second])
        #expect(runner.rollbackCapableMigrationIdentifiers == ["0002"])
        try runner.migrate(in: writer)
        try runner.rollbackLastMigration(in: writer)
        #expect(
            try writer.read { try $0.columns(in: "note").map(\.name) }
                == ["id", "title", "body"]
        )
    }
}
