import Foundation
import TestSupport
import Testing

/// A database whose migrations an app has counted itself, a record that has gaps, and the ways back.
@Suite struct CounterTests {
    private var tool: Tool

    init() throws {
        tool = try Tool(isRawKey: true)
        try tool.writeItems()
        try tool.useSettings()
    }

    private func rows(_ sql: String) throws -> String { try SQLiteShell.run(tool.database, sql) }

    private func onPlain(_ words: [String]) throws -> ProcessResult {
        try tool.run(
            words + [
                "--db-path", tool.database, "--no-encryption", "--migrations", tool.migrations,
            ]
        )
    }

    private func onPlain(_ words: String...) throws -> ProcessResult { try onPlain(words) }

    private func code(_ words: [String]) throws -> String? {
        try onPlain(words + ["--json"]).jsonError()["code"] as? String
    }

    /// Makes the database as an app has left it.
    private func make(_ table: String, upTo version: Int = 2) throws {
        _ = try rows(
            "CREATE TABLE item (id INTEGER); INSERT INTO item VALUES (1);"
                + (version > 2 ? "CREATE TABLE tag (id INTEGER);" : "") + table
        )
    }

    private static let counters = [
        "CREATE TABLE schema_version (version); INSERT INTO schema_version VALUES (2)",
        "CREATE TABLE db_version (version INTEGER); INSERT INTO db_version VALUES (2)",
        "CREATE TABLE schema_migrations (version varchar NOT NULL PRIMARY KEY); INSERT INTO schema_migrations VALUES ('0001'), ('0002')",
        "CREATE TABLE schema_migrations (version INTEGER PRIMARY KEY, inserted_at TEXT); INSERT INTO schema_migrations VALUES (1, ''), (2, '')",
        "CREATE TABLE migrations (version INTEGER, name TEXT, checksum TEXT); INSERT INTO migrations VALUES (1, 'a', ''), (2, 'b', '')",
        "CREATE TABLE SequelizeMeta (name TEXT PRIMARY KEY); INSERT INTO SequelizeMeta VALUES ('0001_items.sql'), ('0002_row.sql')",
        "CREATE TABLE meta (key TEXT PRIMARY KEY, value); INSERT INTO meta VALUES ('schema_version', 2)",
    ]

    @Test(arguments: counters)
    func anAppsCounterIsOfferedAsABaseline(_ table: String) throws {
        try make(table)
        let before = try tool.folder.data("store.db")
        for command in [
            ["migrate"], ["migrate", "--dry-run"], ["migrate", "--all-or-nothing"], ["plan"],
            ["rehearse"], ["rollback"], ["status", "--exit-code"],
        ] {
            let refused = try onPlain(command + ["--json"])
            #expect(refused.status == 65, "\(command): \(refused)")
            let error = try refused.jsonError()
            #expect(error["code"] as? String == "notAdopted", "\(command): \(refused)")
            let hint = try #require(error["hint"] as? String)
            #expect(hint.contains("'baseline 0002_row'"), "\(hint)")
            #expect(!hint.contains("migrate --adopt"), "\(hint)")
        }
        let status = try onPlain("status", "--json").json()
        let counter = try #require(status["counter"] as? [String: String])
        #expect(counter["migration"] == "0002_row")
        #expect(try tool.folder.data("store.db") == before)

        #expect(try onPlain("baseline", "0002").status == 0)
        #expect(try onPlain("migrate").status == 0)
        #expect(try rows("SELECT count(*) FROM item") == "1\n")
        // No migration makes it, and nobody is told to drop it.
        let verified = try onPlain("verify")
        #expect(verified.status == 0, "\(verified)")
        #expect(try onPlain("status", "--json").json()["drift"] as? [String] == [])
        #expect(try !onPlain("repair", "--schema").stdout.contains("DROP"))
        _ = try rows("CREATE TABLE mine (a)")
        let repair = try onPlain("repair", "--schema").stdout
        let dropped = repair.split(separator: "\n").filter { $0.hasPrefix("DROP TABLE \"") }
        #expect(dropped == ["DROP TABLE \"mine\";"], "\(repair)")
    }

    /// A table of that name that a migration makes is compared as any other.
    @Test func counterThatAMigrationMakesIsCompared() throws {
        try tool.write("0004_counter", up: "CREATE TABLE db_version (version INTEGER);")
        #expect(try onPlain("migrate").status == 0)
        _ = try rows("INSERT INTO db_version VALUES (2); ALTER TABLE db_version ADD COLUMN more")
        let verified = try onPlain("verify")
        #expect(verified.status == 2 && verified.stdout.contains("db_version.more"), "\(verified)")
    }

    @Test func counterThatHasNothingToDoWithItIsNamedInTheSettings() throws {
        try make(
            "DROP TABLE item; CREATE TABLE db_version (version); INSERT INTO db_version VALUES (2)"
        )
        let refused = try onPlain("migrate")
        #expect(refused.status == 65)
        #expect(refused.stderr.contains("- table item is missing"), "\(refused)")
        #expect(refused.stderr.contains("ignore-table"), "\(refused)")
        try tool.writeSettings("ignore-table = [\"db_*\"]")
        #expect(try onPlain("migrate").status == 0)
        #expect(try rows("SELECT count(*) FROM item") == "1\n")
    }

    /// The schema says that it counts them, whatever the settings say.
    @Test func ignoredCounterWithItsSchemaIsStillNoticed() throws {
        try make("CREATE TABLE db_version (version); INSERT INTO db_version VALUES (2)")
        try tool.writeSettings("ignore-table = [\"db_version\"]")
        #expect(try code(["migrate"]) == "notAdopted")
    }

    // MARK: - Refused runs

    private static let gap =
        "CREATE TABLE schema_migrations (version varchar(128) primary key); INSERT INTO schema_migrations VALUES ('0003')"

    @Test(arguments: [
        ["migrate"], ["migrate", "--dry-run"], ["migrate", "--all-or-nothing"],
        ["migrate", "--backup", "BACKUP"], ["migrate", "--to", "0003"], ["baseline"],
    ])
    func refusedRunRecordsNothing(_ words: [String]) throws {
        try make(Self.gap, upTo: 3)
        let before = try rows(".dump")
        let copy = tool.folder.path("copy.db")
        let command = words.map { $0 == "BACKUP" ? copy : $0 } + ["--adopt", "dbmate", "--json"]
        let refused = try onPlain(command)
        #expect(refused.status == 65, "\(refused)")
        let error = try refused.jsonError()
        #expect(error["code"] as? String == "pendingBeforeApplied")
        #expect((error["hint"] as? String)?.contains("'baseline 0003_tags'") == true)
        #expect(try rows(".dump") == before)
        #expect(!FileManager.default.fileExists(atPath: copy))
    }

    @Test func refusedFleetRecordsNothing() throws {
        try make(Self.gap, upTo: 3)
        let before = try rows(".dump")
        for dry in [[], ["--dry-run"]] {
            let refused = try tool.run(
                ["fleet", "migrate", "--stores", tool.database, "--no-encryption"]
                    + ["--migrations", tool.migrations, "--adopt", "dbmate"] + dry
            )
            #expect(refused.status != 0)
            #expect(refused.stdout.contains("dbmate's record has 0003_tags"), "\(refused)")
            #expect(try rows(".dump") == before)
        }
    }

    @Test func targetBehindTheRecordRecordsNothing() throws {
        try make(
            "CREATE TABLE schema_migrations (version varchar(128) primary key); INSERT INTO schema_migrations VALUES ('0001'), ('0002')"
        )
        #expect(
            try code(["migrate", "--adopt", "dbmate", "--to", "0001"]) == "targetBehindDatabase"
        )
        #expect(try !rows(".tables").contains("grdb_migrations"))
    }

    @Test func failedRunInOneTransactionRecordsNothing() throws {
        try make(
            "CREATE TABLE tag (other); CREATE TABLE schema_migrations (version varchar(128) primary key); INSERT INTO schema_migrations VALUES ('0001'), ('0002')"
        )
        #expect(try onPlain("migrate", "--adopt", "dbmate", "--all-or-nothing").status == 1)
        #expect(try !rows(".tables").contains("grdb_migrations"))
        _ = try rows("DROP TABLE tag")
        let run = try onPlain("migrate", "--adopt", "dbmate", "--all-or-nothing", "--json").json()
        #expect(run["recorded"] as? [String] == ["0001_items", "0002_row"])
        #expect((run["applied"] as? [[String: Any]])?.count == 1)
    }

    /// The database lacks what the record says, so the first migration that runs fails.
    @Test(arguments: [false, true])
    func runThatFailsAtOnceLeavesNoRecord(_ isFleet: Bool) throws {
        try make(
            "CREATE TABLE tag (other); CREATE TABLE schema_migrations (version varchar(128) primary key); INSERT INTO schema_migrations VALUES ('0001'), ('0002')"
        )
        let failed =
            isFleet
            ? try tool.run(
                ["fleet", "migrate", "--stores", tool.database, "--no-encryption"]
                    + ["--migrations", tool.migrations, "--adopt", "dbmate"]
            ) : try onPlain("migrate", "--adopt", "dbmate")
        #expect(failed.status != 0)
        #expect(isFleet || failed.stderr.contains("the record was taken out again"), "\(failed)")
        #expect(try rows("SELECT count(*) FROM grdb_migrations") == "0\n")
        #expect(try code(["migrate"]) == "notAdopted")
        // What is advised isn't what was just done.
        for words in [["--dry-run"], ["--all-or-nothing"], []] {
            let hint = try onPlain(["migrate", "--adopt", "dbmate"] + words).stderr
            #expect(!hint.contains("migrate --adopt TOOL"), "\(hint)")
        }
        _ = try rows("DROP TABLE tag")
        let adopted = try onPlain("migrate", "--adopt", "dbmate", "--json").json()
        #expect(adopted["recorded"] as? [String] == ["0001_items", "0002_row"])
    }

    /// What was applied needs the record of what came before it.
    @Test func runThatFailsLaterKeepsTheRecord() throws {
        try tool.write("0004_fails", up: "INSERT INTO missing VALUES (1);")
        try make(
            "CREATE TABLE schema_migrations (version varchar(128) primary key); INSERT INTO schema_migrations VALUES ('0001'), ('0002')"
        )
        #expect(try onPlain("migrate", "--adopt", "dbmate").status == 1)
        #expect(try rows("SELECT count(*) FROM grdb_migrations") == "3\n")
    }

    // MARK: - Ways back

    @Test func wrongAdoptionIsTakenBack() throws {
        try make(Self.gap, upTo: 3)
        let adopted = try onPlain(
            "migrate",
            "--adopt",
            "dbmate",
            "--allow-out-of-order",
            "--steps",
            "0"
        )
        #expect(adopted.status == 0, "\(adopted)")
        #expect(try onPlain("repair", "--forget", "0003_tags", "--yes").status == 0)
        #expect(try code(["migrate"]) == "notAdopted")
        #expect(try onPlain("baseline", "0003").status == 0)
        #expect(try onPlain("migrate").status == 0)
        #expect(try onPlain("verify").status == 0)
        #expect(try rows("SELECT count(*) FROM item") == "1\n")
    }

    /// What has run is undone by a rollback, not by forgetting it.
    @Test func whatHasRunIsNotForgotten() throws {
        try make("")
        #expect(try onPlain("baseline", "0002").status == 0)
        #expect(try onPlain("migrate").status == 0)
        #expect(try code(["repair", "--forget", "0003_tags", "--yes"]) == "stillThere")
        #expect(try code(["repair", "--forget", "0009", "--yes"]) == "notApplied")
        #expect(try onPlain("repair", "--forget", "0002_row", "--yes").status == 0)
        #expect(try code(["repair", "--forget", "0002_row", "--yes"]) == "notApplied")
        // It may be recorded again. A run isn't advised to run it twice only.
        let refused = try onPlain("migrate")
        #expect(refused.stderr.contains("repair --applied 0002_row"), "\(refused)")
        #expect(try onPlain("repair", "--applied", "0002", "--yes").status == 0)
        #expect(try onPlain("migrate").status == 0)
        #expect(try rows("SELECT count(*) FROM item") == "1\n")
    }

    // MARK: - An effect that isn't recorded

    @Test func stepWhoseEffectIsThereIsRecordedByName() throws {
        try make("")
        #expect(try onPlain("baseline", "0002").status == 0)
        // Not without its effect, with a part of it, or with another.
        let missing = try onPlain("repair", "--applied", "0003", "--yes", "--json")
        #expect(try missing.jsonError()["code"] as? String == "otherSchema")
        #expect(missing.stderr.contains("table tag is missing"), "\(missing)")
        _ = try rows("CREATE TABLE tag (id INTEGER, more)")
        #expect(try code(["repair", "--applied", "0003", "--yes"]) == "otherSchema")
        _ = try rows("ALTER TABLE tag DROP COLUMN more")
        let failed = try onPlain("migrate")
        #expect(failed.status == 1 && failed.stderr.contains("repair --applied"), "\(failed)")
        // Nobody is there to ask.
        #expect(try code(["repair", "--applied", "0003"]) == "needsConfirmation")
        let recorded = try onPlain("repair", "--applied", "0003", "--yes", "--json").json()
        #expect(recorded["recorded"] as? [String] == ["0003_tags"])
        #expect(try code(["repair", "--applied", "0003", "--yes"]) == "alreadyApplied")
        #expect(try onPlain("verify").status == 0)
        #expect(try onPlain("migrate").stdout.hasPrefix("Nothing to apply."))
    }

    /// What else differs is no matter of the migration's.
    @Test func otherDriftDoesNotPreventTheRecord() throws {
        try make("CREATE TABLE mine (a); CREATE TABLE tag (id INTEGER)")
        #expect(try onPlain("baseline", "0002").status == 0)
        #expect(try onPlain("repair", "--applied", "0003", "--yes").status == 0)
    }

    @Test func laterStepIsRecordedOnlyWithThoseBeforeIt() throws {
        try tool.write("0004_last", up: "CREATE TABLE last (id INTEGER);")
        try make("CREATE TABLE tag (id INTEGER); CREATE TABLE last (id INTEGER)")
        #expect(try onPlain("baseline", "0002").status == 0)
        let early = ["repair", "--applied", "0004", "--yes"]
        #expect(try code(early) == "pendingBeforeApplied")
        #expect(try onPlain(early + ["--applied", "0003"]).status == 0)
        #expect(try onPlain("verify").status == 0)
    }

    @Test func halfOfAStepWithoutATransactionIsFinishedByHand() throws {
        let goose = try Tool(isRawKey: true)
        try goose.folder.write(
            "migrations/00001_t.sql",
            "-- +goose Up\nCREATE TABLE t (id INTEGER);\n-- +goose Down\nDROP TABLE t;\n".utf8
        )
        try goose.folder.write(
            "migrations/00002_v.sql",
            """
            -- +goose NO TRANSACTION
            -- +goose Up
            ALTER TABLE t ADD COLUMN v;
            CREATE INDEX t_v ON t (v, missing);
            -- +goose Down
            SELECT 1;

            """.utf8
        )
        let failed = try goose.onStore("migrate")
        #expect(failed.status == 1)
        #expect(failed.stderr.contains("'repair --applied 00002_v'"), "\(failed)")
        try goose.folder.write(
            "migrations/00002_v.sql",
            """
            -- +goose NO TRANSACTION
            -- +goose Up
            ALTER TABLE t ADD COLUMN v;
            CREATE INDEX t_v ON t (v);
            -- +goose Down
            SELECT 1;

            """.utf8
        )
        let again = try goose.onStore("migrate")
        #expect(again.stderr.contains("duplicate column name"), "\(again)")
        let half = try goose.onStore("repair", "--applied", "2", "--yes")
        #expect(half.status == 65 && half.stderr.contains("index t_v is missing"), "\(half)")
        _ = try goose.shell("CREATE INDEX t_v ON t (v)")
        #expect(try goose.onStore("repair", "--applied", "2", "--yes").status == 0)
        #expect(try goose.onStore("verify").status == 0)
        #expect(try goose.onStore("migrate").stdout.hasPrefix("Nothing to apply."))
    }
}
