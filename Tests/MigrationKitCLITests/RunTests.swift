import Foundation
import TestSupport
import Testing

/// The ways of a run: all or nothing, tried, backed up.
@Suite struct RunTests {
    let tool: Tool

    init() throws {
        tool = try Tool(isRawKey: true)
        try tool.writeItems()
    }

    private func pending() throws -> [String]? {
        try tool.onStore("status", "--json").json()["pending"] as? [String]
    }

    // MARK: - All or Nothing

    @Test func allOrNothingLeavesNothingWhereTheLastStepFails() throws {
        #expect(try tool.onStore("migrate", "--to", "0001_items").status == 0)
        try tool.write("0004_broken", up: "CREATE TABLE half (id INTEGER);\nINSERT INTO nowhere;")
        let before = try tool.folder.data("store.db")
        let result = try tool.onStore("migrate", "--all-or-nothing")
        #expect(result.status == 1)
        #expect(result.stderr.contains("0004_broken.sql:3"))
        #expect(result.stderr.contains("nothing has changed"))
        #expect(try tool.folder.data("store.db") == before)
        #expect(try pending() == ["0002_row", "0003_tags", "0004_broken"])
    }

    @Test func allOrNothingDoesAllAndUndoesAll() throws {
        #expect(try tool.onStore("migrate", "--all-or-nothing").status == 0)
        #expect(try pending() == [])
        #expect(try tool.onStore("rollback", "--steps", "3", "--all-or-nothing").status == 0)
        #expect(try pending()?.count == 3)
    }

    @Test func stepOutsideOfATransactionRunsAloneAndInNoBatch() throws {
        try tool.folder.write(
            "migrations/0004_compact.sql",
            "-- migrate:up transaction:false\nVACUUM;\n".utf8
        )
        let batch = try tool.onStore("migrate", "--all-or-nothing", "--json")
        #expect(batch.status == 65)
        #expect(try batch.jsonError()["code"] as? String == "notForAllOrNothing")
        let dry = try tool.onStore("migrate", "--dry-run")
        #expect(dry.status == 0, "\(dry)")
        #expect(dry.stdout.contains("Would apply 3 migrations"))
        #expect(
            dry.stdout.contains("Would also apply 1 migration, not tried here:\n  0004_compact\n")
        )
        let document = try tool.onStore("migrate", "--dry-run", "--json").json()
        #expect(document["notTried"] as? [String] == ["0004_compact"])
        let only = try tool.onStore("migrate", "--dry-run", "--to", "0003")
        #expect(only.status == 0 && !only.stdout.contains("not tried"), "\(only)")
        #expect(try tool.onStore("migrate").status == 0)
        #expect(try pending() == [])
    }

    // MARK: - Batches

    /// What is refused before the first batch is refused by all that look at it, and nothing is begun.
    @Test(arguments: [
        (
            "CREATE TABLE t (id INTEGER PRIMARY KEY, a REFERENCES t); INSERT INTO t VALUES (1, NULL), (2, 1);",
            "DELETE FROM t WHERE id > 0"
        ),
        (
            """
            CREATE TABLE t (id INTEGER PRIMARY KEY); CREATE TABLE k (t REFERENCES t ON DELETE CASCADE);
            INSERT INTO t VALUES (1); INSERT INTO k VALUES (1);
            """,
            "DELETE FROM t WHERE id > 0"
        ),
        (
            """
            CREATE TABLE t (id INTEGER PRIMARY KEY, a); INSERT INTO t VALUES (1, 7), (2, 7);
            CREATE TABLE u (k UNIQUE ON CONFLICT REPLACE, t UNIQUE);
            """,
            "INSERT INTO u SELECT a, id FROM t WHERE NOT EXISTS (SELECT 1 FROM u WHERE u.t = t.id)"
        ),
    ])
    func planDryRunAndRunRefuseABatchAlike(_ tables: String, _ sql: String) throws {
        try tool.write("0004_tables", up: tables)
        #expect(try tool.onStore("migrate").status == 0)
        try tool.write("0005_batch", up: "-- migrate:batch rows=1\n\(sql);")
        let results = [
            try tool.onStore("plan", "--json"), try tool.onStore("migrate", "--dry-run", "--json"),
            try tool.onStore("migrate", "--json"),
        ]
        for result in results {
            #expect(result.status == 65)
            let error = try result.jsonError()
            #expect(error["code"] as? String == "unusableBatch")
            #expect((error["hint"] as? String)?.contains("Batches that were done") == false)
        }
        #expect(try tool.onStore("migrate").stderr.contains("nothing has changed"))
        #expect(try tool.onStore("status").stdout.contains("down") == true)
        #expect(try tool.onStore("history").stdout.contains("begun") == false)
        #expect(try tool.onStore("migrate", "--all-or-nothing", "--dry-run").status != 65)
    }

    @Test func onlyBatchesThatAreDoneAreSaidToStay() throws {
        try tool.write(
            "0004_tables",
            up:
                "CREATE TABLE t (id INTEGER PRIMARY KEY, a NOT NULL); INSERT INTO t VALUES (1, 1), (2, 1);"
        )
        #expect(try tool.onStore("migrate").status == 0)
        for (id, isDone) in [(1, false), (2, true)] {
            try tool.write(
                "0005_batch",
                up:
                    "-- migrate:batch rows=1\nUPDATE t SET a = iif(id = \(id), NULL, 2) WHERE a = 1;"
            )
            let result = try tool.onStore("migrate")
            #expect(result.status == 1)
            #expect(
                result.stderr.contains("Batches that were done before the error stay") == isDone
            )
            #expect(result.stderr.contains("nothing has changed") != isDone)
            #expect(try tool.onStore("status").stdout.contains("begun") == isDone)
        }
    }

    // MARK: - Looking Before

    @Test func dryRunTellsAndChangesNothing() throws {
        #expect(try tool.onStore("migrate", "--to", "0001_items").status == 0)
        let before = try tool.folder.data("store.db")
        let human = try tool.onStore("migrate", "--dry-run")
        #expect(human.status == 0)
        #expect(human.stdout.contains("Would apply 2 migrations"))
        #expect(human.stdout.contains(/0002_row +1 row +\d/))
        #expect(human.stdout.contains(/0003_tags +0 rows +\d/))
        #expect(human.stdout.contains("created table tag"))
        #expect(human.stdout.contains("+ CREATE TABLE tag (id INTEGER);"))
        let document = try tool.onStore("migrate", "--dry-run", "--json").json()
        let steps = try #require(document["wouldApply"] as? [[String: Any]])
        #expect(steps.map { $0["identifier"] as? String } == ["0002_row", "0003_tags"])
        #expect(steps.map { $0["rowsChanged"] as? Int } == [1, 0])
        #expect(try tool.folder.data("store.db") == before)
        #expect(try pending()?.count == 2)
    }

    @Test func dryRunFailsAsTheRunWould() throws {
        try tool.write("0004_broken", up: "INSERT INTO nowhere DEFAULT VALUES;")
        #expect(try tool.onStore("migrate", "--to", "0001_items").status == 0)
        let result = try tool.onStore("migrate", "--dry-run")
        #expect(result.status == 1)
        #expect(result.stderr.contains("0004_broken.sql:2"))
    }

    @Test func dryRunCreatesNoFile() throws {
        #expect(try tool.onStore("migrate", "--dry-run").status == 0)
        #expect(!FileManager.default.fileExists(atPath: tool.database))
    }

    @Test func backupHasWhatWasThereBeforeAndTheSameKey() throws {
        #expect(try tool.onStore("migrate", "--to", "0002_row").status == 0)
        let backup = tool.folder.path("backup.db")
        #expect(try tool.onStore("migrate", "--backup", backup).status == 0)
        #expect(tool.folder.mode("backup.db") == 0o600)
        let rows = try SQLCipherShell.run(
            backup,
            key: tool.shellKey,
            "SELECT count(*) FROM item; SELECT max(identifier) FROM grdb_migrations;"
        )
        #expect(rows == "1\n0002_row")

        // A backup never replaces a file, and nothing is migrated without the backup.
        #expect(try tool.onStore("rollback").status == 0)
        let again = try tool.onStore("migrate", "--backup", backup, "--json")
        #expect(again.status == 73)
        #expect(try pending() == ["0003_tags"])
    }

    @Test func documentsStandAlone() throws {
        #expect(try tool.onStore("migrate").status == 0)
        try tool.write("0099_more", up: "CREATE TABLE more(a);")
        let result = try tool.onStore(
            "migrate",
            "--backup",
            tool.folder.path("backup.db"),
            "--json"
        )
        #expect(result.status == 0, "\(result)")
        #expect(result.stderr == "")
        #expect(try result.json()["applied"] as? [Any] != nil)
        #expect(try tool.folder.names.contains("backup.db"))
    }

    // MARK: - Odd Ledgers

    @Test func lateMigrationIsRefusedUnlessAllowed() throws {
        #expect(try tool.onStore("migrate").status == 0)
        try tool.write("0000_late", up: "CREATE TABLE late (id INTEGER);")
        let refused = try tool.onStore("migrate", "--json")
        #expect(refused.status == 65)
        #expect(try refused.jsonError()["code"] as? String == "pendingBeforeApplied")
        #expect(try tool.onStore("migrate", "--allow-out-of-order").status == 0)
        #expect(try pending() == [])
    }

    @Test func databaseOfOtherMeansIsTakenOverByABaseline() throws {
        _ = try SQLCipherShell.run(
            tool.database,
            key: tool.shellKey,
            "CREATE TABLE item (id INTEGER);"
        )
        let failed = try tool.onStore("migrate")
        #expect(failed.status == 1)
        #expect(failed.stderr.contains("'baseline' records them as applied"))

        let recorded = try tool.run(
            ["baseline", "0001_items", "--json"] + tool.opening
                + ["--migrations", tool.migrations]
        )
        #expect(try recorded.json()["recorded"] as? [String] == ["0001_items"])
        #expect(try tool.onStore("migrate").status == 0)
        #expect(try pending() == [])
        let again = try tool.run(
            ["baseline", "0001_items"] + tool.opening + ["--migrations", tool.migrations]
        )
        #expect(again.status == 64)
    }

    // MARK: - What Has No Effect

    /// SQLite ignores it without an error, and the report would list it as applied.
    @Test(arguments: [[], ["--dry-run"], ["--all-or-nothing"]])
    func journalModeInATransactionIsNotedBeforehand(_ options: [String]) throws {
        try tool.write("0004_mode", up: "PRAGMA journal_mode = WAL;")
        try tool.write("0005_more", up: "CREATE TABLE more (id INTEGER);")
        let note = "0004_mode.sql:2:1: PRAGMA journal_mode has no effect in a transaction"
        let arguments = tool.opening + ["--migrations", tool.migrations] + options
        if options == ["--dry-run"] {
            #expect(try tool.onStore("migrate", "--to", "0001").status == 0)
        }
        let json = try tool.run(["migrate", "--json"] + arguments)
        #expect(json.status == 0, "\(json)")
        let notes = try #require(try json.json()["notes"] as? [String])
        #expect(notes.count == 1 && notes[0].contains(note), "\(notes)")
        // Nothing is said of what was applied before.
        if options != ["--dry-run"] {
            let again = try tool.run(["migrate", "--json"] + arguments)
            #expect(try again.json()["notes"] == nil)
            #expect(try tool.shell("PRAGMA journal_mode;") == "delete")
        }
    }

    // MARK: - Others at Work

    @Test func nothingButTheDatabaseIsLeft() throws {
        #expect(try tool.onStore("migrate").status == 0)
        #expect(try tool.folder.names.sorted() == ["migrations", "password", "store.db"])
    }
}
