import Foundation
import TestSupport
import Testing

/// A database that another tool has migrated is continued.
@Suite struct AdoptionTests {
    let tool: Tool

    init() throws {
        tool = try Tool(isRawKey: true)
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

    /// The tables of tools that have applied the first two migrations.
    private static let tables = [
        (
            "goose",
            "CREATE TABLE goose_db_version (id INTEGER PRIMARY KEY AUTOINCREMENT, version_id INTEGER NOT NULL, is_applied INTEGER NOT NULL, tstamp TIMESTAMP DEFAULT (datetime('now'))); INSERT INTO goose_db_version (version_id, is_applied) VALUES (0, 1), (1, 1), (2, 1)"
        ),
        (
            "golang-migrate",
            "CREATE TABLE schema_migrations (version uint64, dirty bool); INSERT INTO schema_migrations VALUES (2, 0)"
        ),
        (
            "sqlx",
            "CREATE TABLE _sqlx_migrations (version BIGINT PRIMARY KEY, description TEXT NOT NULL, installed_on TIMESTAMP NOT NULL DEFAULT CURRENT_TIMESTAMP, success BOOLEAN NOT NULL, checksum BLOB NOT NULL, execution_time BIGINT NOT NULL); INSERT INTO _sqlx_migrations VALUES (1, 'items', '', 1, x'SHA384_1', 1), (2, 'row', '', 1, x'SHA384_2', 1)"
        ),
        (
            "flyway",
            "CREATE TABLE flyway_schema_history (installed_rank INT NOT NULL PRIMARY KEY, version VARCHAR(50), description VARCHAR(200) NOT NULL, type VARCHAR(20) NOT NULL, script VARCHAR(1000) NOT NULL, checksum INT, installed_by VARCHAR(100) NOT NULL, installed_on TEXT NOT NULL DEFAULT (strftime('%Y-%m-%d %H:%M:%f','now')), execution_time INT NOT NULL, success BOOLEAN NOT NULL); INSERT INTO flyway_schema_history VALUES (1, '1', 'items', 'SQL', '', CRC32_1, 'me', '', 1, 1), (2, '2', 'row', 'SQL', '', CRC32_2, 'me', '', 1, 1)"
        ),
        (
            "diesel",
            "CREATE TABLE __diesel_schema_migrations (version VARCHAR(50) PRIMARY KEY NOT NULL, run_on TIMESTAMP NOT NULL DEFAULT CURRENT_TIMESTAMP); INSERT INTO __diesel_schema_migrations (version) VALUES ('0001'), ('0002')"
        ),
        (
            "refinery",
            "CREATE TABLE refinery_schema_history (version INT4 PRIMARY KEY, name VARCHAR(255), applied_on VARCHAR(255), checksum VARCHAR(255)); INSERT INTO refinery_schema_history VALUES (1, 'items', '2024-01-05T12:00:00Z', '11'), (2, 'row', '2024-01-05T12:00:01Z', '18446744073709551615')"
        ),
    ]

    /// Makes the database that such a tool leaves.
    private func make(_ table: String) throws {
        var table = table
        for (number, file) in [(1, "0001_items"), (2, "0002_row")] {
            let path = tool.folder.path("migrations/\(file).sql")
            let program = """
                import hashlib, sys, zlib
                data = open(sys.argv[1], "rb").read()
                lines = zlib.crc32(data.replace(b"\\n", b""))
                print(hashlib.sha384(data).hexdigest(), lines - (lines >> 31 << 32))
                """
            let sums = try TestSupport.run("/usr/bin/python3", ["-c", program, path]).stdout
                .split(whereSeparator: \.isWhitespace)
            table = table.replacing("SHA384_\(number)", with: sums[0])
                .replacing("CRC32_\(number)", with: sums[1])
        }
        _ = try rows("CREATE TABLE item (id INTEGER); INSERT INTO item VALUES (1); " + table)
    }

    // MARK: - Before the adoption

    @Test func twoHistoriesInOneDatabaseAreSaidToBeUnsupported() throws {
        try make(Self.tables[0].1 + "; " + Self.tables[2].1)
        let refused = try onPlain("migrate")
        #expect(refused.status == 65)
        let status = try onPlain("status")
        #expect(status.status == 0)
        for result in [refused, status] {
            #expect(
                result.stderr.contains("goose and sqlx have migrated this database"),
                "\(result)"
            )
            #expect(result.stderr.contains("Several histories in one database are not supported"))
            #expect(result.stderr.contains("Folders.md"), "\(result)")
            #expect(!result.stderr.contains("--adopt"), "\(result)")
        }
    }

    /// What it costs not to notice: the row is there twice.
    @Test func databaseOfDbmatesIsNotMigratedASecondTime() throws {
        try tool.write("0001_items", up: "CREATE TABLE IF NOT EXISTS item (id INTEGER);", down: "")
        try tool.write("0002_row", up: "INSERT INTO item VALUES (1);", down: "")
        try FileManager.default.removeItem(atPath: tool.folder.path("migrations/0003_tags.sql"))
        try Dbmate.run("up", on: tool.database, migrations: tool.migrations)
        #expect(try onPlain("migrate").status == 65)
        #expect(try rows("SELECT count(*) FROM item") == "1\n")
    }

    @Test(arguments: Self.tables)
    func everyChangingCommandRefusesAnotherToolsDatabase(_ name: String, _ table: String) throws {
        try make(table)
        let before = try tool.folder.data("store.db")
        for command in [
            ["migrate"], ["migrate", "--to", "0001"], ["migrate", "--steps", "0"], ["rollback"],
            ["migrate", "--backup", tool.folder.path("copy.db")], ["redo"],
            ["repair", "0001", "--yes"], ["repair", "--forget", "0009", "--yes"],
            ["repair", "--applied", "0001", "--yes"], ["rehearse"],
            // What only looks agrees with what runs.
            ["plan"], ["plan", "--to", "0001"], ["migrate", "--dry-run"],
            ["migrate", "--dry-run", "--steps", "0"], ["status", "--exit-code"],
        ] {
            let refused = try tool.run(
                command + ["--db-path", tool.database, "--no-encryption"]
                    + ["--migrations", tool.migrations, "--json"]
            )
            #expect(refused.status == 65, "\(command)")
            let error = try refused.jsonError()
            #expect(error["code"] as? String == "notAdopted")
            #expect((error["message"] as? String)?.hasPrefix("\(name) has migrated") == true)
            #expect((error["hint"] as? String)?.contains("'migrate --adopt \(name)'") == true)
        }
        #expect(try tool.folder.data("store.db") == before)
        #expect(!FileManager.default.fileExists(atPath: tool.folder.path("copy.db")))
    }

    /// The database may be a stranger's.
    @Test func namesInNotesControlNoTerminal() throws {
        let name = "schema_migrations\u{1B}[31m\n::error::\u{9B}"
        _ = try rows(
            "CREATE TABLE '\(name)' (version VARCHAR(128) PRIMARY KEY); INSERT INTO '\(name)' VALUES ('0009'), ('0010')"
        )
        for command in ["status", "plan", "verify", "migrate"] {
            let shown = try onPlain(command)
            #expect(shown.stderr.contains("dbmate has migrated this database"), "\(shown)")
            expectNoControls(in: shown.stderr)
        }
    }

    @Test func namesThatAreAdoptedControlNoTerminal() throws {
        let script = "R__x.sql\u{1B}[31m\n::error::\u{9B}"
        let flyway = try #require(Self.tables.first { $0.0 == "flyway" })
        try make(
            "\(flyway.1); INSERT INTO flyway_schema_history VALUES "
                + "(3, NULL, 'x', 'SQL', '\(script)', 7, 'me', '', 1, 1)"
        )
        for shown in [
            try onPlain("migrate", "--adopt", "flyway", "--dry-run"),
            try onPlain("baseline", "--adopt", "flyway"),
        ] {
            #expect(shown.stderr.contains("note: These scripts have no version."), "\(shown)")
            expectNoControls(in: shown.stderr)
        }
    }

    @Test(arguments: Self.tables)
    func commandsThatChangeNothingSayWhoseDatabaseItIs(_ name: String, _ table: String) throws {
        try make(table)
        let before = try tool.folder.data("store.db")
        for command in ["status", "verify"] {
            let shown = try onPlain(command)
            #expect(shown.status == 0, "\(command): \(shown.stderr)")
            #expect(shown.stderr.hasPrefix("note: \(name) has migrated this database"))
            #expect(!shown.stdout.contains("'migrate' applies"))
            let others = try onPlain(command, "--json").json()["otherTools"] as? [[String: String]]
            #expect(others?.map { $0["tool"] } == [name])
        }

        let preview = try onPlain("migrate", "--adopt", name, "--dry-run")
        #expect(preview.status == 0, "\(preview.stderr)")
        #expect(
            preview.stdout.hasPrefix(
                """
                Would record 2 migrations as applied, without running:
                  0001_items
                  0002_row
                Would apply 1 migration
                """
            )
        )
        let document = try onPlain("migrate", "--adopt", name, "--dry-run", "--json").json()
        #expect(document["wouldRecord"] as? [String] == ["0001_items", "0002_row"])
        #expect((document["wouldApply"] as? [[String: Any]])?.count == 1)
        #expect(try tool.folder.data("store.db") == before)

        // Who knows it better than the table may say so.
        #expect(try onPlain("baseline", "0002").status == 0)
        #expect(try onPlain("status").stderr == "")
        #expect(try onPlain("migrate").status == 0)
    }

    @Test func tableUnderAnotherNameIsNoticedAndAdopted() throws {
        _ = try rows(
            "CREATE TABLE item (id INTEGER); INSERT INTO item VALUES (1); CREATE TABLE status_go_schema_migrations (version uint64, dirty bool); INSERT INTO status_go_schema_migrations VALUES (2, 'false')"
        )
        let refused = try onPlain("migrate", "--json")
        #expect(refused.status == 65)
        let hint = try refused.jsonError()["hint"] as? String
        let adoption = [
            "--adopt", "golang-migrate", "--adopt-table", "status_go_schema_migrations",
        ]
        #expect(hint?.contains("'migrate \(adoption.joined(separator: " "))'") == true)
        let others = try onPlain("status", "--json").json()["otherTools"] as? [[String: String]]
        #expect(
            others == [["tool": "golang-migrate", "table": "status_go_schema_migrations"]]
        )

        #expect(try onPlain("migrate", "--adopt-table", "status_go_schema_migrations").status == 64)
        let other = try onPlain("migrate", "--adopt", "golang-migrate")
        #expect(other.status == 66)
        #expect(other.stderr.contains("--adopt-table"))
        let migrated = try tool.run(
            ["migrate", "--db-path", tool.database, "--no-encryption", "--json"]
                + ["--migrations", tool.migrations] + adoption
        ).json()
        #expect(migrated["recorded"] as? [String] == ["0001_items", "0002_row"])
        #expect(try rows("SELECT count(*) FROM item") == "1\n")
        // The table stays, and isn't taken for the app's.
        let drift = try onPlain("status", "--json").json()["drift"] as? [[String: Any]]
        #expect(
            drift?.contains { $0["table"] as? String == "status_go_schema_migrations" } == false
        )
    }

    @Test func goosesTableWithoutAMigrationIsNoTools() throws {
        _ = try rows(
            "CREATE TABLE goose_db_version (id INTEGER PRIMARY KEY, version_id INTEGER, is_applied INTEGER, tstamp TIMESTAMP); INSERT INTO goose_db_version (version_id, is_applied) VALUES (0, 1)"
        )
        #expect(try onPlain("status").stderr == "")
        #expect(try onPlain("migrate").status == 0)
    }

    @Test func migrationThatSqlxHasAppliedOtherwiseIsNamed() throws {
        let table = try #require(Self.tables.first { $0.0 == "sqlx" }).1
        try make(table)
        let file = tool.folder.path("migrations/0002_row.sql")
        let text = try String(contentsOfFile: file, encoding: .utf8)
        try tool.folder.write("migrations/0002_row.sql", (text + "-- more\n").utf8)
        for command in [["migrate"], ["migrate", "--dry-run"], ["baseline"]] {
            let refused = try tool.run(
                command + ["--adopt", "sqlx", "--json", "--no-encryption"]
                    + ["--db-path", tool.database, "--migrations", tool.migrations]
            )
            #expect(refused.status == 65)
            let error = try refused.jsonError()
            #expect(error["code"] as? String == "adoptedMigrationsChanged")
            let message = error["message"] as? String
            #expect(message?.hasPrefix("0002_row changed after sqlx applied it") == true)
        }
        #expect(try !rows(".tables").contains("grdb_migrations"))
    }

    @Test func orderOfDbmatesIsSaidBeforeAnythingRuns() throws {
        try tool.write("10_last", up: "CREATE TABLE last (id);")
        try tool.write("9_failing", up: "SELECT nothing;")
        _ = try rows(
            "CREATE TABLE item (id INTEGER); CREATE TABLE schema_migrations (version varchar(128) primary key); INSERT INTO schema_migrations VALUES ('0001')"
        )
        let failed = try onPlain("migrate", "--adopt", "dbmate")
        #expect(failed.status == 1)
        #expect(
            failed.stderr.hasPrefix(
                "note: dbmate runs files in the order of their names as text, 10_last.sql before "
                    + "9_failing.sql."
            )
        )
    }

    // MARK: - The adoption

    @Test func databaseOfDbmatesIsAdoptedAndContinued() throws {
        // dbmate knows of two migrations; the third comes later.
        let third = tool.folder.path("migrations/0003_tags.sql")
        let aside = tool.folder.path("0003_tags.sql")
        try FileManager.default.moveItem(atPath: third, toPath: aside)
        try Dbmate.run("up", on: tool.database, migrations: tool.migrations)
        try FileManager.default.moveItem(atPath: aside, toPath: third)
        let versions = try rows("SELECT * FROM schema_migrations")

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
            second.stderr == "note: nothing to adopt: migrations are already recorded here\n"
        )
        #expect(second.stdout.hasPrefix("Nothing to apply."))
        #expect(try onPlain("rollback", "--all").status == 0)
        // Its own table is as it was, and yet nothing is adopted a second time.
        #expect(try onPlain("migrate").status == 0)
        #expect(try rows("SELECT count(*) FROM item") == "1\n")
        #expect(try onPlain("rollback", "--all").status == 0)
    }

    @Test(arguments: Self.tables)
    func tableOfEachOtherToolIsAdoptedAndLeft(_ name: String, _ table: String) throws {
        try make(table)
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
        _ = try tool.shell("CREATE TABLE schema_migrations (version varchar(128) primary key)")
        _ = try tool.shell("INSERT INTO schema_migrations VALUES ('0001')")
        _ = try tool.shell("CREATE TABLE item (id INTEGER)")
        #expect(try tool.onStore("migrate", "--adopt", "dbmate").status == 0)
        #expect(try tool.onStore("status", "--exit-code").status == 0)
    }

    @Test func databaseThatIsNotThereIsNotMadeToBeAdopted() throws {
        #expect(try onPlain("migrate", "--adopt", "dbmate").status == 66)
        #expect(!FileManager.default.fileExists(atPath: tool.database))
    }

    @Test func whatCanNotBeAdoptedChangesNothing() throws {
        _ = try rows(
            "CREATE TABLE schema_migrations (version uint64, dirty bool); CREATE TABLE item (id)"
        )
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
