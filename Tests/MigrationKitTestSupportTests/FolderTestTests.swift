import Foundation
import GRDB
import MigrationKit
import MigrationKitGRDB
import MigrationKitSQL
import TestSupport
import Testing

@testable import MigrationKitTestSupport

/// Planted faults, each found by the test that should find it, and a near miss that passes.
@Suite struct FolderTestTests {
    /// A folder with a fault. Where its texts have `«wrong¦right»`, the fault has what is wrong, and
    /// the near miss what is right.
    struct Fault: CustomTestStringConvertible {
        let testDescription: String
        let kind: FolderTestReport.Kind
        /// Up and down parts after the first two migrations; without the down part, there is none.
        let migrations: [(up: String, down: String?)]
        /// What the difference or the message must name.
        let names: String
        var test: String?

        init(
            _ kind: FolderTestReport.Kind,
            _ description: String,
            _ migrations: (up: String, down: String?)...,
            names: String,
            test: String? = nil
        ) {
            (testDescription, self.kind, self.migrations) = (description, kind, migrations)
            (self.names, self.test) = (names, test)
        }
    }

    static let rollbacks = [
        Fault(
            .rollback,
            "forgets an index",
            (
                "ALTER TABLE users ADD COLUMN mail TEXT; CREATE INDEX notes_text ON notes (text);",
                "«¦DROP INDEX notes_text; »ALTER TABLE users DROP COLUMN mail;"
            ),
            names: "notes_text"
        ),
        Fault(
            .rollback,
            "forgets a column",
            (
                "ALTER TABLE users ADD COLUMN a TEXT; ALTER TABLE users ADD COLUMN b TEXT;",
                "ALTER TABLE users DROP COLUMN b;«¦ ALTER TABLE users DROP COLUMN a;»"
            ),
            names: "a TEXT"
        ),
        Fault(
            .rollback,
            "forgets a trigger",
            (
                """
                CREATE TABLE log (id INTEGER PRIMARY KEY);
                CREATE TRIGGER t AFTER DELETE ON notes BEGIN DELETE FROM users WHERE id = 0; END;
                """,
                "«¦DROP TRIGGER t; »DROP TABLE log;"
            ),
            names: "TRIGGER t"
        ),
        Fault(
            .rollback,
            "leaves a table",
            (
                "CREATE TABLE a (id INTEGER PRIMARY KEY); CREATE TABLE b (id INTEGER PRIMARY KEY);",
                "DROP TABLE a;«¦ DROP TABLE b;»"
            ),
            names: "CREATE TABLE b"
        ),
        Fault(
            .rollback,
            "drops what isn't there",
            ("CREATE TABLE tags (id INTEGER PRIMARY KEY);", "DROP TABLE «tag¦tags»;"),
            names: "no such table: tag"
        ),
        Fault(
            .rollback,
            "drops a table that was there, since IF NOT EXISTS made none",
            (
                "CREATE TABLE IF NOT EXISTS «notes¦tags» (id INTEGER PRIMARY KEY);",
                "DROP TABLE «notes¦tags»;"
            ),
            names: "CREATE TABLE notes"
        ),
        Fault(
            .rollback,
            "leaves the rows that the migration inserts",
            (
                "INSERT INTO users (id, name) VALUES (100, 'root');",
                "«SELECT 1;¦DELETE FROM users WHERE id = 100;»"
            ),
            names: "table users"
        ),
        Fault(
            .rollback,
            "can't be applied again",
            (
                "CREATE TABLE kinds (name TEXT UNIQUE);", "DROP TABLE kinds;"
            ),
            (
                "INSERT INTO kinds VALUES ('note');",
                "«SELECT 1;¦DELETE FROM kinds WHERE name = 'note';»"
            ),
            names: "kinds"
        ),
        Fault(
            .rollback,
            "deletes the rows of others",
            (
                "INSERT INTO notes (id, text) SELECT 100, 'x';",
                "DELETE FROM notes WHERE «true¦id = 100»;"
            ),
            names: "table notes"
        ),
        Fault(
            .rollback,
            "loses rows in a copy",
            (
                "ALTER TABLE notes ADD COLUMN mail TEXT;",
                """
                CREATE TABLE n (
                    id INTEGER PRIMARY KEY,
                    user INTEGER REFERENCES users (id) ON DELETE CASCADE,
                    text TEXT
                );
                INSERT INTO n SELECT id, user, text FROM notes« LIMIT 1¦»;
                DROP TABLE notes;
                ALTER TABLE n RENAME TO notes;
                """
            ),
            names: "table notes"
        ),
        Fault(
            .rollback,
            "fails if there are rows",
            (
                "CREATE TABLE items (id INTEGER PRIMARY KEY, code TEXT NOT NULL«¦ DEFAULT ''»);",
                "DROP TABLE items;"
            ),
            (
                "ALTER TABLE items DROP COLUMN code;",
                "ALTER TABLE items ADD COLUMN code TEXT NOT NULL«¦ DEFAULT ''»;"
            ),
            names: "NOT NULL"
        ),
    ]

    private static func rebuild(_ definition: String, _ copy: String) -> String {
        """
        CREATE TABLE new (id INTEGER PRIMARY KEY, \(definition));
        \(copy)
        DROP TABLE users;
        ALTER TABLE new RENAME TO users;
        """
    }

    static let upgrades = [
        Fault(
            .upgrade,
            "a new column without a default",
            ("ALTER TABLE users ADD COLUMN mail TEXT NOT NULL«¦ DEFAULT ''»;", nil),
            names: "NOT NULL"
        ),
        Fault(
            .upgrade,
            "a default that isn't constant",
            ("ALTER TABLE users ADD COLUMN made TEXT DEFAULT «CURRENT_TIMESTAMP¦''»;", nil),
            names: "non-constant"
        ),
        Fault(
            .upgrade,
            "a required column that the copy doesn't fill",
            (
                rebuild(
                    "name TEXT NOT NULL, age INTEGER, mail TEXT NOT NULL«¦ DEFAULT ''»",
                    "INSERT INTO new (id, name, age) SELECT id, name, age FROM users;"
                ), nil
            ),
            names: "mail"
        ),
        Fault(
            .upgrade,
            "parents deleted without their children",
            ("DELETE FROM users WHERE id > «0¦100000»;", nil),
            names: "from notes(user) to users(id)"
        ),
        Fault(
            .install,
            "a statement that SQLite refuses",
            ("CREATE «TABEL¦TABLE» tags (id INTEGER PRIMARY KEY);", nil),
            names: "TABEL"
        ),
        Fault(
            .install,
            "a row that needs another, which a new database doesn't have",
            ("INSERT INTO notes (user) VALUES («1¦NULL»);", nil),
            names: "from notes(user) to users(id)"
        ),
        Fault(
            .again,
            "an insertion outside of a transaction",
            (
                "INSERT OR IGNORE INTO users (id, name) VALUES («NULL¦100», 'root');", nil
            ),
            names: "table users"
        ),
        Fault(
            .again,
            "a sum outside of a transaction",
            ("UPDATE users SET age = «age + ¦»1;", nil),
            names: "table users"
        ),
    ]

    static let rows = [
        Fault(
            .rows,
            "equal rows that become one",
            (
                """
                CREATE TABLE new (user INTEGER, text TEXT);
                INSERT INTO new SELECT user, text FROM notes
                «UNION¦UNION ALL» SELECT user, text FROM notes WHERE false;
                DROP TABLE notes;
                ALTER TABLE new RENAME TO notes;
                """, nil
            ),
            names: "rows that are equal"
        ),
        Fault(
            .rows,
            "rows with NULLs that a condition leaves out",
            (
                """
                CREATE TABLE new (id INTEGER PRIMARY KEY, user INTEGER, text TEXT);
                INSERT INTO new SELECT id, user, text FROM notes WHERE «text = text¦text IS text»;
                DROP TABLE notes;
                ALTER TABLE new RENAME TO notes;
                """, nil
            ),
            names: "rows with NULLs"
        ),
        Fault(
            .rows,
            "a condition in a copy",
            (
                rebuild(
                    "name TEXT NOT NULL, age INTEGER",
                    "INSERT INTO new SELECT id, name, age FROM users« WHERE id > 1¦»;"
                ) + "DELETE FROM notes WHERE user NOT IN (SELECT id FROM users);", nil
            ),
            names: "table users"
        ),
        Fault(
            .rows,
            "a copy that isn't made",
            (
                """
                CREATE TABLE new (id INTEGER PRIMARY KEY, text TEXT);
                «¦INSERT INTO new SELECT id, text FROM notes;»
                DROP TABLE notes;
                ALTER TABLE new RENAME TO notes;
                """, nil
            ),
            names: "table notes"
        ),
        Fault(
            .rows,
            "columns in another order",
            (
                rebuild(
                    "name TEXT, age INTEGER",
                    "INSERT INTO new SELECT id, «age, name¦name, age» FROM users;"
                ), nil
            ),
            names: "name, age"
        ),
        Fault(
            .rows,
            "a value of another column",
            (
                rebuild(
                    "name TEXT, age INTEGER",
                    "INSERT INTO new (id, age, name) SELECT id, age, «age¦name» FROM users;"
                ), nil
            ),
            names: "other values in name"
        ),
        Fault(
            .rows,
            "a trigger that changes another table",
            (
                """
                CREATE TRIGGER t AFTER UPDATE ON notes BEGIN UPDATE users SET age = 0; END;
                """, nil
            ),
            ("«¦DROP TRIGGER t; »UPDATE notes SET text = 'x';", nil),
            names: "other values in age"
        ),
        Fault(
            .rows,
            "a conflict that is ignored",
            (
                """
                CREATE TABLE new (id INTEGER PRIMARY KEY CHECK (id > «1¦0»), text TEXT);
                INSERT OR IGNORE INTO new SELECT id, text FROM notes;
                DROP TABLE notes;
                ALTER TABLE new RENAME TO notes;
                """, nil
            ),
            names: "table notes"
        ),
        Fault(
            .rows,
            "a conflict that replaces",
            ("CREATE TABLE items (id INTEGER PRIMARY KEY, code TEXT UNIQUE);", nil),
            ("UPDATE OR REPLACE items SET code = «'x'¦code || 'x'»;", nil),
            names: "table items"
        ),
        Fault(
            .rows,
            "a join in a copy",
            (
                rebuild(
                    "name TEXT NOT NULL, age INTEGER",
                    """
                    INSERT INTO new SELECT users.id, users.name, users.age
                    FROM users «JOIN¦LEFT JOIN» notes ON notes.id = users.id + 1;
                    """
                ) + "DELETE FROM notes WHERE user NOT IN (SELECT id FROM users);", nil
            ),
            names: "table users"
        ),
        Fault(
            .older,
            "a column that older versions read",
            (
                "-- migrate:older works\nALTER TABLE users «DROP COLUMN age¦ADD COLUMN mail TEXT»;",
                nil
            ),
            names: "age"
        ),
        Fault(
            .older,
            "a view that older versions read",
            ("CREATE VIEW names AS SELECT name FROM users;", nil),
            ("-- migrate:older works\n«DROP VIEW names¦CREATE VIEW n AS SELECT 1»;", nil),
            names: "names"
        ),
        Fault(
            .older,
            "a trigger that refuses what older versions write",
            (
                """
                -- migrate:older works
                CREATE TRIGGER t BEFORE INSERT ON users «WHEN true¦WHEN NEW.age < -1»
                BEGIN SELECT RAISE(ABORT, 'no'); END;
                INSERT OR IGNORE INTO notes (id) VALUES (1);
                """, nil
            ),
            names: "INSERT INTO main.\"users\""
        ),
    ]

    static let own = [
        Fault(
            .tests,
            "a value",
            ("ALTER TABLE users ADD COLUMN full TEXT; UPDATE users SET full = name«|| '!'¦»;", nil),
            names: "- (1, 'Ada')\n+ (1, 'Ada!')",
            test: """
                -- migrate:at 2
                INSERT INTO users (id, name) VALUES (1, 'Ada'), (2, 'Bo');
                -- migrate:after 0003
                SELECT id, full FROM users WHERE id = 1;
                -- migrate:gives
                VALUES (1, 'Ada');
                """
        ),
        Fault(
            .tests,
            "a type",
            ("UPDATE users SET age = «'x'¦NULL»;", nil),
            names: "- (NULL)\n+ ('x')",
            test: """
                -- migrate:at 0002_notes
                INSERT INTO users (id, name, age) VALUES (1, 'Ada', 3);
                -- migrate:after 0003_step
                SELECT age FROM users;
                -- migrate:gives
                VALUES (NULL);
                """
        ),
        Fault(
            .tests,
            "a number and a text",
            ("SELECT 1;", nil),
            names: "- ('1')\n+ (1)",
            test: """
                -- migrate:after 3
                SELECT 1;
                SELECT 2 WHERE false;
                -- migrate:gives
                VALUES («'1'¦1»);
                SELECT 3 WHERE false;
                """
        ),
        Fault(
            .tests,
            "a row that is missing, at the second version",
            ("SELECT 1;", nil),
            ("DELETE FROM users WHERE name = '«Bo¦Cy»';", nil),
            names: "- ('Bo')",
            test: """
                -- migrate:at 2
                INSERT INTO users (name) VALUES ('Ada');
                -- migrate:at 3
                INSERT INTO users (name) VALUES ('Bo');
                -- migrate:after 3
                SELECT count(*) FROM users;
                -- migrate:gives
                VALUES (2);
                -- migrate:after 4
                SELECT name FROM users ORDER BY name;
                -- migrate:gives
                VALUES ('Ada'), ('Bo');
                """
        ),
        Fault(
            .tests,
            "a row that stops a migration",
            ("CREATE UNIQUE INDEX users_name ON users (name);", nil),
            names: "UNIQUE",
            test: """
                -- migrate:at 2
                INSERT INTO users (name) VALUES ('Ada'), ('«Ada¦Bo»');
                -- migrate:after 3
                SELECT count(*) FROM users;
                -- migrate:gives
                VALUES (2);
                """
        ),
        Fault(
            .tests,
            "a statement that SQLite refuses",
            ("SELECT 1;", nil),
            names: "no such table: user",
            test: """
                -- migrate:at 2
                INSERT INTO «user¦users» (name) VALUES ('Ada');
                -- migrate:after 3
                SELECT count(*) FROM users;
                -- migrate:gives
                VALUES (1);
                """
        ),
        Fault(
            .tests,
            "a query that SQLite refuses",
            ("ALTER TABLE users RENAME COLUMN age TO years;", nil),
            names: "no such column: age",
            test: """
                -- migrate:after 3
                SELECT «age¦years» FROM users;
                -- migrate:gives
                SELECT 1 WHERE false;
                """
        ),
    ]

    private func report(_ fault: Fault, isNearMiss: Bool) throws -> FolderTestReport {
        func text(_ text: String) -> String {
            text.replacing(/«([^¦]*)¦([^»]*)»/) { match in
                isNearMiss ? match.output.2 : match.output.1
            }
        }
        let folder = try TemporaryFolder()
        try folder.makeFolder("migrations")
        let first = [
            (
                "users",
                "CREATE TABLE users (id INTEGER PRIMARY KEY, name TEXT NOT NULL, age INTEGER);",
                Optional("DROP TABLE users;")
            ),
            (
                "notes",
                """
                CREATE TABLE notes (
                    id INTEGER PRIMARY KEY,
                    user INTEGER REFERENCES users (id) ON DELETE CASCADE,
                    text TEXT
                );
                """,
                "DROP TABLE notes;"
            ),
        ]
        let others = fault.migrations.map { ("step", text($0.up), $0.down.map(text)) }
        for (number, (name, up, down)) in (first + others).enumerated() {
            let options = fault.kind == .again && number > 1 ? " transaction:false" : ""
            try folder.write(
                "migrations/000\(number + 1)_\(name).sql",
                ("-- migrate:up\(options)\n\(up)\n"
                    + (down.map { "-- migrate:down\n\($0)\n" } ?? "")).utf8
            )
        }
        if let test = fault.test {
            try folder.makeFolder("tests")
            try folder.write("tests/own.sql", text(test).utf8)
        }
        return try Self.report(folder, tests: fault.test != nil)
    }

    private static func report(
        _ folder: TemporaryFolder,
        tests: Bool = false
    ) throws -> FolderTestReport {
        let migrations = try MigrationFolder(path: folder.path("migrations"))
        let runner = try GRDBMigrationRunner(
            steps: migrations.steps,
            enforceLexicographicOrder: false
        )
        var test = FolderTest(migrations, runner: runner, configuration: Configuration())
        if tests {
            let files = try TestFile.inFolder(folder.path("tests"), ofStranger: false)
            try test.add(files) { text in
                runner.migrationIdentifiers.first {
                    $0 == text || $0.hasPrefix("000\(text)_") || $0.hasPrefix("\(text)_")
                }
            }
        }
        return try test.report()
    }

    /// The rename has left a foreign key to a table that is gone.
    @Test func tableThatOlderVersionsCannotUseIsNotTheFaultOfTheNextMigration() throws {
        let fault = Fault(
            .older,
            "a reference to a table that is gone",
            (
                """
                ALTER TABLE users RENAME TO gone;
                CREATE TABLE users (id INTEGER PRIMARY KEY, name TEXT NOT NULL, age INTEGER);
                INSERT INTO users SELECT * FROM gone;
                DROP TABLE gone;
                """, nil
            ),
            ("-- migrate:older works\nALTER TABLE notes ADD COLUMN mail TEXT;", nil),
            names: ""
        )
        let older = try report(fault, isNearMiss: false).cases.filter { $0.kind == .older }
        #expect(older.contains { $0.name == "0004_step" })
        #expect(older.allSatisfy { $0.failure == nil }, "\(older)")
    }

    /// 'migrate' says the same.
    /// What is written otherwise, and means the same, is no difference.
    @Test(arguments: [
        (
            "CREATE TABLE [order] (id INTEGER PRIMARY KEY, a TEXT DEFAULT 'x');",
            "CREATE TABLE new (id INTEGER PRIMARY KEY, a TEXT); INSERT INTO new SELECT id, a FROM [order];"
                + " DROP TABLE [order]; ALTER TABLE new RENAME TO \"order\";",
            "CREATE TABLE new (id INTEGER PRIMARY KEY, a TEXT DEFAULT 'x');"
                + " INSERT INTO new SELECT id, a FROM [order];"
                + " DROP TABLE [order]; ALTER TABLE new RENAME TO \"order\";"
        ),
        (
            "CREATE TABLE t (id INTEGER PRIMARY KEY, n INTEGER);",
            "CREATE TABLE new (id INTEGER PRIMARY KEY, n TEXT); INSERT INTO new SELECT id, n FROM t;"
                + " DROP TABLE t; ALTER TABLE new RENAME TO t;",
            "CREATE TABLE new (id INTEGER PRIMARY KEY, n INTEGER); INSERT INTO new SELECT id, n FROM t;"
                + " DROP TABLE t; ALTER TABLE new RENAME TO t;"
        ),
        (
            "CREATE TABLE t (a TEXT, c TEXT AS (a || 'x'));",
            "ALTER TABLE t DROP COLUMN c; ALTER TABLE t ADD COLUMN c TEXT AS (a || 'y');",
            "ALTER TABLE t DROP COLUMN c; ALTER TABLE t ADD COLUMN c TEXT AS (a || 'x');"
        ),
    ])
    func conversionsAreNoLoss(_ first: String, _ up: String, _ down: String) throws {
        let fault = Fault(.rollback, "none", (first, nil), (up, down), names: "")
        let failed = try report(fault, isNearMiss: true).cases.filter { $0.failure != nil }
        #expect(failed.isEmpty, "\(failed)")
    }

    @Test func adviceIsThatForTheError() throws {
        let fault = Fault(
            .install,
            "a string in double quotes",
            ("UPDATE users SET name = \"x\";", nil),
            names: ""
        )
        let failures = try report(fault, isNearMiss: false).cases.compactMap(\.failure)
        #expect(failures.count == 1)
        #expect(failures.first?.advice.contains("double-quoted-strings = true") == true)
    }

    @Test(arguments: rollbacks + upgrades + rows + own)
    func faultIsFoundAndItsNearMissIsNot(_ fault: Fault) throws {
        let found = try report(fault, isNearMiss: false).cases.filter { $0.failure != nil }
        #expect(found.map(\.kind).first == fault.kind, "\(found)")
        #expect(Set(found.map(\.kind)) == [fault.kind], "\(found)")
        let text = found.compactMap(\.failure).map { "\($0.message)\n\($0.difference)" }
            .joined(separator: "\n")
        #expect(text.contains(fault.names), "\(text)")
        #expect(found.allSatisfy { $0.file != nil && $0.line != nil })
        let near = try report(fault, isNearMiss: true)
        #expect(near.cases.filter { $0.failure != nil }.isEmpty, "\(near.cases)")
        #expect(
            near.cases.contains { test in
                if case .passed = test.outcome { test.kind == fault.kind } else { false }
            }
        )
    }
}
