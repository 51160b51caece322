import Foundation
import TestSupport
import Testing

/// A database that another tool has migrated is continued.
@Suite struct AdoptionTests {
    let tool: Tool

    init() throws {
        tool = try Tool()
        try tool.writeItems()
    }

    /// What a command needs to open the database in the clear that the other tools write.
    private func onPlain(_ command: String, _ arguments: String...) throws -> ProcessResult {
        try tool.run(
            [command, "--db-path", tool.database, "--no-encryption"]
                + ["--migrations", tool.migrations] + arguments
        )
    }

    private func rows(_ sql: String) throws -> String {
        try SQLiteShell.run(tool.database, sql)
    }

    @Test func databaseOfDbmatesIsAdoptedAndContinued() throws {
        // dbmate knows of two migrations; the third comes later.
        let third = tool.folder.path("migrations/0003_tags.sql")
        let aside = tool.folder.path("0003_tags.sql")
        try FileManager.default.moveItem(atPath: third, toPath: aside)
        try Dbmate.run("up", on: tool.database, migrations: tool.migrations)
        try FileManager.default.moveItem(atPath: aside, toPath: third)
        let versions = try rows("SELECT * FROM schema_migrations")

        // Without the adoption, the first migration would run again.
        #expect(try onPlain("migrate").status == 1)

        let first = try onPlain("migrate", "--adopt", "dbmate")
        #expect(first.status == 0)
        #expect(
            first.stdout.hasPrefix(
                """
                Recorded 2 migrations as applied, without running:
                  0001_items
                  0002_row
                Applied 1 migration
                """
            )
        )
        #expect(try rows("SELECT count(*) FROM item") == "1\n")
        #expect(try rows("SELECT * FROM schema_migrations") == versions)

        // Once: the second time there is a ledger.
        let second = try onPlain("migrate", "--adopt", "dbmate")
        #expect(second.status == 0)
        #expect(
            second.stderr == "note: migrations are recorded as applied already: nothing to adopt\n"
        )
        #expect(second.stdout.hasPrefix("Nothing to apply."))
        #expect(try onPlain("rollback", "--all").status == 0)
    }

    @Test(arguments: [
        (
            "goose",
            "CREATE TABLE goose_db_version (id INTEGER PRIMARY KEY, version_id INTEGER, is_applied INTEGER, tstamp TIMESTAMP); INSERT INTO goose_db_version (version_id, is_applied) VALUES (0, 1), (1, 1), (2, 1)"
        ),
        (
            "golang-migrate",
            "CREATE TABLE schema_migrations (version uint64, dirty bool); INSERT INTO schema_migrations VALUES (2, 0)"
        ),
        (
            "sqlx",
            "CREATE TABLE _sqlx_migrations (version BIGINT PRIMARY KEY, description TEXT, installed_on TIMESTAMP, success BOOLEAN, checksum BLOB, execution_time BIGINT); INSERT INTO _sqlx_migrations VALUES (1, 'items', '', 1, x'', 1), (2, 'row', '', 1, x'', 1)"
        ),
        (
            "diesel",
            "CREATE TABLE __diesel_schema_migrations (version VARCHAR(50) PRIMARY KEY NOT NULL, run_on TIMESTAMP NOT NULL DEFAULT CURRENT_TIMESTAMP); INSERT INTO __diesel_schema_migrations (version) VALUES ('0001'), ('0002')"
        ),
        (
            "refinery",
            "CREATE TABLE refinery_schema_history (version INT4 PRIMARY KEY, name VARCHAR(255), applied_on VARCHAR(255), checksum VARCHAR(255)); INSERT INTO refinery_schema_history VALUES (1, 'items', '', ''), (2, 'row', '', '')"
        ),
    ])
    func tableOfEachOtherToolIsAdoptedAndLeft(_ name: String, _ table: String) throws {
        _ = try rows("CREATE TABLE item (id INTEGER); INSERT INTO item VALUES (1); " + table)
        let before = try rows(".dump")
        let baseline = try onPlain("baseline", "--adopt", name, "--json").json()
        #expect(baseline["recorded"] as? [String] == ["0001_items", "0002_row"])
        #expect(baseline["pending"] as? [String] == ["0003_tags"])
        let after = try rows(".dump").split(separator: "\n")
        #expect(before.split(separator: "\n").allSatisfy(after.contains))

        let migrated = try onPlain("migrate", "--json").json()
        #expect((migrated["applied"] as? [[String: Any]])?.count == 1)
        #expect(try rows("SELECT count(*) FROM item") == "1\n")
        let history = try tool.run(
            "history",
            "--db-path",
            tool.database,
            "--no-encryption"
        )
        #expect(history.stdout.contains(/recorded +0002_row/))
    }

    @Test func encryptedDatabaseIsAdopted() throws {
        _ = try tool.shell("CREATE TABLE schema_migrations (version)")
        _ = try tool.shell("INSERT INTO schema_migrations VALUES ('0001'); CREATE TABLE item (id)")
        #expect(try tool.onStore("migrate", "--adopt", "dbmate").status == 0)
        #expect(try tool.onStore("status", "--exit-code").status == 0)
    }

    @Test func databaseThatIsNotThereIsNotMadeToBeAdopted() throws {
        #expect(try onPlain("migrate", "--adopt", "dbmate").status == 66)
        #expect(!FileManager.default.fileExists(atPath: tool.database))
    }

    @Test func whatCanNotBeAdoptedChangesNothing() throws {
        _ = try rows("CREATE TABLE schema_migrations (version, dirty); CREATE TABLE item (id)")
        let before = try tool.folder.data("store.db")
        for (name, status, code) in [
            ("dbmate", 65, "unexpectedVersionTable"), ("goose", 66, "noVersionTable"),
        ] as [(String, Int32, String)] {
            let refused = try onPlain("migrate", "--adopt", name, "--json")
            #expect(refused.status == status)
            #expect(try refused.jsonError()["code"] as? String == code)
        }
        _ = try rows("INSERT INTO schema_migrations VALUES (7, 0)")
        let unknown = try onPlain("baseline", "--adopt", "golang-migrate", "--json")
        #expect(unknown.status == 65)
        #expect(try unknown.jsonError()["code"] as? String == "unknownVersions")
        _ = try rows("UPDATE schema_migrations SET version = 2, dirty = 1")
        let dirty = try onPlain("baseline", "--adopt", "golang-migrate", "--json")
        #expect(try dirty.jsonError()["code"] as? String == "unfinishedMigration")
        #expect(try onPlain("baseline", "--adopt", "rails").status == 64)
        #expect(try onPlain("baseline", "0001", "--adopt", "dbmate").status == 64)
        #expect(try onPlain("baseline").status == 64)
        _ = try rows("DELETE FROM schema_migrations")
        #expect(try rows(".tables").split(separator: " ").count == 2)
        #expect(before.count == (try tool.folder.data("store.db")).count)
    }
}
