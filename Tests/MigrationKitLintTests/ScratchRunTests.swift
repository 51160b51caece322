import GRDB
import MigrationKit
import MigrationKitSQL
import TestSupport
import Testing

@testable import MigrationKitLint

/// What the scratch run promises, whatever the rules make of it.
@Suite struct ScratchRunTests {
    private static let note =
        "CREATE TABLE note (id INTEGER PRIMARY KEY, title TEXT NOT NULL, body TEXT);"

    // MARK: - Checks that end early

    @Test func aStepThatLoopsEndsOnlyItsOwnCheck() throws {
        let endless = """
            WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n)
            SELECT count(*) FROM n;
            """
        let report = try lint([Self.note, endless, "DROP TABLE note;"]) {
            $0.budget.looks = 1_000
        }
        #expect(report.lines() == ["2:1 check-incomplete (error)", "3:1 drop-table"])
        #expect(
            report.findings(of: .checkIncomplete).first?.message.contains("doesn't end") == true
        )
    }

    /// What a slow statement hides is judged, and the check fails in any case.
    @Test func whatFollowsASlowStatementIsJudged() throws {
        let slow = """
            CREATE TABLE k AS WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n LIMIT 100000000)
            SELECT x FROM n;
            """
        let report = try lint([Self.note, slow + "\nDROP TABLE note;\nDROP TABLE k;"])
        #expect(report.lines() == ["2:1 check-incomplete (error)", "2:3 drop-table"])
    }

    /// A migration that writes over the schema's page ends the check, and the findings before it stay.
    @Test func aDatabaseThatCanNotBeReadIsAFinding() throws {
        let destroys = """
            CREATE VIRTUAL TABLE dp USING sqlite_dbpage;
            UPDATE dp SET data = zeroblob(4096) WHERE pgno = 1;
            """
        let report = try lint([
            Self.note, "DROP TABLE note;", destroys, "CREATE TABLE other (id INTEGER PRIMARY KEY);",
        ])
        #expect(report.lines() == ["4 check-incomplete (error)", "2:1 drop-table"])
    }

    @Test func aClosureThatLoopsEndsOnlyItsOwnCheck() throws {
        let steps = [
            MigrationStep<Database>(identifier: "1") { db in
                while true { try db.execute(sql: "SELECT 1") }
            },
            MigrationStep<Database>(identifier: "2") { try $0.execute(sql: Self.note) },
            MigrationStep<Database>(identifier: "3") { try $0.drop(table: "note") },
        ]
        var lint = MigrationLint(steps: steps)
        lint.budget.statements = 10_000
        #expect(try lint.report().lines() == ["1 check-incomplete (error)", "3 drop-table"])
    }

    @Test func aFunctionOfTheAppGetsAStandIn() throws {
        let report = try lint([
            Self.note, "UPDATE note SET body = shorten(body) WHERE id > 0;", "DROP TABLE note;",
        ])
        #expect(report.lines() == ["2:1 check-incomplete", "3:1 drop-table"])
        let message = try #require(report.findings(of: .checkIncomplete).first?.message)
        #expect(message.contains("function 'shorten'"))
    }

    @Test func theAppsConfigurationHasItsFunctions() throws {
        let report = try lint([
            Self.note, "UPDATE note SET body = shorten(body) WHERE id > 0;",
        ]) {
            $0.configuration.prepareDatabase { db in
                db.add(function: DatabaseFunction("shorten", argumentCount: 1) { $0[0] })
            }
        }
        #expect(report.lines() == [])
    }

    @Test func aCollationOfTheAppGetsAStandIn() throws {
        let report = try lint([
            "CREATE TABLE word (text TEXT COLLATE german);\nCREATE INDEX by_text ON word (text);",
            "ALTER TABLE word ADD COLUMN meaning TEXT;", "DROP INDEX by_text;",
        ])
        #expect(Set(report.lines()) == ["1:1 check-incomplete"])
    }

    @Test func whatFailsForLackOfAModuleHasNoFindingsOfItsOwn() throws {
        let report = try lint([
            "CREATE VIRTUAL TABLE place USING geo (x, y);",
            "ALTER TABLE place RENAME TO places;", "DROP TABLE places;",
        ])
        #expect(report.lines() == ["1:1 check-incomplete"])
    }

    @Test func aTableThatNoMigrationCreatesIsNoError() throws {
        let report = try lint(["ALTER TABLE settings ADD COLUMN x;", "UPDATE settings SET x = 1;"])
        #expect(report.lines() == ["1:1 check-incomplete"])
        let misspelled = try lint([Self.note, "ALTER TABLE notes ADD COLUMN x;"])
        #expect(misspelled.lines(from: .error) == ["2:1 migration-fails"])
    }

    @Test func aMessageRepeatsNoValue() throws {
        let report = try lint([
            "CREATE TABLE t (a);",
            "INSERT INTO t (a) VALUES ('hunter2hunter2') WHERE 'hunter2hunter2';",
            "INSERT INTO t (a, b) VALUES ('hunter2hunter2', 2);",
            "SELECT 'hunter2hunter2' 'hunter2hunter2' 'hunter2hunter2';",
        ])
        #expect(report.findings(of: .migrationFails).count == 3)
        for finding in report.findings {
            #expect(!finding.message.contains("hunter2"), "\(finding.message)")
        }
    }

    // MARK: - Steps in Swift

    @Test func aClosureWhoseStatementsDontRepeatKeepsItsResult() throws {
        let steps = [
            MigrationStep<Database>(identifier: "1") { db in
                db.add(function: DatabaseFunction("suffix") { _ in "x" })
                let name = try String.fetchOne(db, sql: "SELECT 'note_' || suffix()") ?? ""
                try db.execute(sql: "CREATE TABLE \(name) (id INTEGER PRIMARY KEY)")
            },
            MigrationStep<Database>(identifier: "2") { try $0.drop(table: "note_x") },
        ]
        let lines = try MigrationLint(steps: steps).report().lines()
        #expect(lines.last == "2 drop-table")
        #expect(!lines.contains { $0.contains("migration-fails") })
    }

    @Test func aClosureThatHandlesAFailureHasNone() throws {
        let steps = [
            MigrationStep<Database>(identifier: "1") { db in
                try db.execute(sql: Self.note)
                try? db.execute(sql: "INSERT INTO note (id, title) VALUES (1, NULL)")
            },
            MigrationStep<Database>(identifier: "2") { db in
                try db.execute(sql: "ALTER TABLE note ADD COLUMN body TEXT")
            },
        ]
        #expect(try MigrationLint(steps: steps).report().lines() == ["2 migration-fails"])
    }

    @Test func aRollbackThatFailsIsRecorded() throws {
        let step = MigrationStep<Database>(
            identifier: "1",
            apply: { try $0.execute(sql: Self.note) },
            rollback: { try $0.drop(table: "nodes") }
        )
        let run = try LintRun(
            folder: nil,
            configuration: Configuration(),
            budget: StepBudget(),
            database: nil
        )
        let down = try #require(try run.record(step).down)
        #expect(down.failure == "no such table: nodes")
        #expect(down.after.table("note") != nil)
    }

    @Test func aColumnThatGetsOtherValuesIsOnlyDoubtful() throws {
        let report = try lint([
            "CREATE TABLE user (id INTEGER PRIMARY KEY, bio TEXT, html TEXT);",
            """
            CREATE TABLE user_new (id INTEGER PRIMARY KEY, bio TEXT, html TEXT, role TEXT);
            INSERT INTO user_new SELECT id, bio, bio, 'x' FROM user;
            DROP TABLE user;
            ALTER TABLE user_new RENAME TO user;
            """,
        ])
        #expect(report.lines() == ["2:2 rebuild-loses-column (warning)"])
    }

    // MARK: - Generated rows

    @Test(
        arguments: [
            "state TEXT NOT NULL CHECK (state IN ('open', 'done'))",
            "state INTEGER NOT NULL CHECK (state BETWEEN 7 AND 9)", "code TEXT NOT NULL UNIQUE",
            "owner INTEGER NOT NULL REFERENCES person (id)", "data TEXT CHECK (json_valid(data))",
            "self INTEGER REFERENCES item (id)", "n INTEGER, twice INTEGER AS (n * 2) STORED",
        ]
    )
    func tablesWithConstraintsGetRows(_ column: String) throws {
        // A copy of one row out of several is only noticed if there are several.
        let report = try lint([
            "CREATE TABLE person (id INTEGER PRIMARY KEY, name TEXT NOT NULL);",
            "CREATE TABLE item (id INTEGER PRIMARY KEY, \(column)) STRICT;",
            """
            CREATE TABLE item_new (id INTEGER PRIMARY KEY, more TEXT) STRICT;
            INSERT INTO item_new (id) SELECT id FROM item ORDER BY id LIMIT 1;
            DROP TABLE item;
            ALTER TABLE item_new RENAME TO item;
            """,
        ])
        #expect(report.findings(of: .rebuildLosesRows).count == 1)
    }

    // MARK: - Rebuilds

    private static let full = """
        CREATE TABLE list (id INTEGER PRIMARY KEY, name TEXT);
        CREATE TABLE item (
            id INTEGER PRIMARY KEY, list INTEGER NOT NULL REFERENCES list (id) ON DELETE CASCADE,
            name TEXT NOT NULL COLLATE NOCASE DEFAULT 'x' CHECK (name <> ''),
            low TEXT AS (lower(name)) VIRTUAL, UNIQUE (list, name)
        );
        CREATE INDEX item_name ON item (name DESC) WHERE list > 0;
        CREATE TRIGGER item_touched AFTER UPDATE ON item BEGIN UPDATE list SET name = name; END;
        CREATE VIEW items AS SELECT name FROM item;
        """

    private static let rebuilt = """
        CREATE TABLE item_new (
            id INTEGER PRIMARY KEY, list INTEGER NOT NULL REFERENCES list (id) ON DELETE CASCADE,
            name TEXT NOT NULL COLLATE NOCASE DEFAULT 'x' CHECK (name <> ''),
            low TEXT AS (lower(name)) VIRTUAL, note TEXT, UNIQUE (list, name)
        );
        """

    private static let rest = """
        CREATE INDEX item_name ON item (name DESC) WHERE list > 0;
        CREATE TRIGGER item_touched AFTER UPDATE ON item BEGIN UPDATE list SET name = name; END;
        """

    @Test(
        arguments: [
            """
            DROP VIEW items;
            \(rebuilt)
            INSERT INTO item_new (id, list, name) SELECT id, list, name FROM item;
            DROP TABLE item;
            ALTER TABLE item_new RENAME TO item;
            \(rest)
            CREATE VIEW items AS SELECT name FROM item;
            """,
            """
            DROP VIEW items;
            CREATE TEMPORARY TABLE kept AS SELECT id, list, name FROM item;
            DROP TABLE item;
            \(rebuilt.replacing("item_new", with: "item"))
            INSERT INTO item (id, list, name) SELECT id, list, name FROM kept;
            DROP TABLE kept;
            \(rest)
            CREATE VIEW items AS SELECT name FROM item;
            """,
        ]
    )
    func aRebuildThatKeepsAllIsNoFinding(_ script: String) throws {
        let report = try lint([Self.full, script])
        let lost = report.findings.filter { finding in
            finding.level >= .warning && finding.migration == "2_step"
                && finding.rule != .breaksInstalledVersion && finding.rule != .temporaryObject
        }
        #expect(lost.map(\.message) == [])
    }

    @Test func rowsThatSQLiteCopiesAsAWholeAreCopied() throws {
        // SQLite's authorizer doesn't report what such a copy reads.
        let report = try lint([
            Self.note,
            """
            CREATE TABLE copy (id INTEGER PRIMARY KEY, title TEXT NOT NULL, body TEXT);
            INSERT INTO copy SELECT * FROM note;
            DROP TABLE note;
            ALTER TABLE copy RENAME TO note;
            """,
        ])
        #expect(report.lines() == [])
    }

    // MARK: - Settings

    @Test func levelsAndSelectionDecideWhatIsReported() throws {
        let scripts = [Self.note, "ALTER TABLE note DROP COLUMN body;", "DROP TABLE note;"]
        func lines(_ configure: (inout MigrationLint) -> Void) throws -> [String] {
            try lint(scripts, configure).lines().filter { !$0.contains("installed") }
        }
        #expect(try lines { _ in } == ["2:1 drop-column", "3:1 drop-table"])
        #expect(
            try lines { $0.levels = [.dropTable: .error, .dropColumn: nil as LintLevel?] }
                == ["3:1 drop-table (error)"]
        )
        #expect(try lines { $0.selection = ["3_step"] } == ["3:1 drop-table"])
        #expect(try lint(scripts) { $0.selection = ["3_step"] }.checked == 1)
    }

    @Test func aDatabaseDecidesWhetherRowsAreLost() throws {
        let database = try DatabaseQueue()
        try database.write { db in
            try db.execute(sql: Self.note + "CREATE TABLE empty (id INTEGER);")
            try db.execute(sql: "INSERT INTO note (title) VALUES ('a'), ('b')")
        }
        let before = try database.read { try Int.fetchOne($0, sql: "PRAGMA data_version") }
        let report = try lint([
            Self.note + "CREATE TABLE empty (id INTEGER);", "DROP TABLE empty;", "DROP TABLE note;",
        ]) {
            $0.database = database
            $0.selection = ["2_step", "3_step"]
        }
        #expect(
            report.lines().filter { $0.contains("drop-table") } == ["3:1 drop-table (error)"]
        )
        #expect(report.findings(of: .dropTable).first?.message.contains("2 such rows") == true)
        let after = try database.read { try Int.fetchOne($0, sql: "PRAGMA data_version") }
        #expect(before == after)
    }

    // MARK: - Comments

    @Test(
        arguments: [
            ("-- migrationkit:allow drop-table old\nDROP TABLE note;", [String]()),
            ("DROP TABLE note; -- migrationkit:allow drop-table old", []),
            ("-- migrationkit:allow drop-table old\n\nSELECT 1;\nDROP TABLE note;", []),
            (
                "-- migrationkit:allow drop-table old\nSELECT 1;\nDROP TABLE note;",
                ["2:1 unused-allow", "2:3 drop-table"]
            ),
            (
                "-- migrationkit:allow drop-table\nDROP TABLE note;",
                ["2:1 unused-allow", "2:2 drop-table"]
            ),
            (
                "-- migrationkit:allow dorp-table old\nDROP TABLE note;",
                ["2:1 unused-allow", "2:2 drop-table"]
            ),
            ("-- migrationkit:allow drop-column old\nSELECT 1;", ["2:1 unused-allow"]),
        ]
    )
    func aCommentSilencesARule(_ script: String, _ expected: [String]) throws {
        let lines = try lint([Self.note, script]).lines().filter {
            $0.contains("allow") || $0.contains("drop-")
        }
        #expect(lines == expected)
    }
}
