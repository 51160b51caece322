import Foundation
import GRDB
import MigrationKit
import MigrationKitGRDB
import TestSupport
import Testing

/// A statement has the result of the whole in batches, or is refused before the first one.
@Suite struct BatchReachTests {
    private static let tables = """
        CREATE TABLE address (
            id INTEGER PRIMARY KEY, person INTEGER, main INTEGER NOT NULL DEFAULT 0, city TEXT, zip TEXT,
            modified TEXT, done INTEGER
        );
        CREATE INDEX address_zip ON address (zip, id DESC);
        CREATE TABLE person (id INTEGER PRIMARY KEY, city TEXT, count INTEGER NOT NULL DEFAULT 0);
        CREATE TABLE log (address INTEGER, city TEXT);
        CREATE TABLE zips (zip TEXT, UNIQUE (zip));
        CREATE TABLE copy (id INTEGER PRIMARY KEY, city TEXT, zip TEXT);
        CREATE TABLE numbered (n INTEGER PRIMARY KEY AUTOINCREMENT, address INTEGER UNIQUE, city TEXT);
        CREATE TABLE once (address INTEGER UNIQUE ON CONFLICT IGNORE, zip TEXT NOT NULL ON CONFLICT REPLACE
            DEFAULT 'none');
        CREATE TABLE last (zip TEXT UNIQUE ON CONFLICT REPLACE, address INTEGER);
        CREATE TABLE pair (zip INTEGER, id INTEGER, main UNIQUE, PRIMARY KEY (zip DESC, id)) WITHOUT ROWID;
        CREATE TABLE cities (zip TEXT, name TEXT, person INTEGER PRIMARY KEY);
        CREATE UNIQUE INDEX cities_zip ON cities (zip);
        CREATE TABLE tree (id INTEGER PRIMARY KEY, parent REFERENCES tree, note TEXT);
        CREATE VIEW main_address AS SELECT person, city FROM address WHERE main = 1;
        CREATE VIEW behind AS SELECT * FROM main_address;
        CREATE VIRTUAL TABLE found USING fts5(city, content='address', content_rowid='id');
        WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 60)
        INSERT INTO address (id, person, main, city, zip)
            SELECT i, i % 12, i <= 12, iif(i % 5, NULL, 'city ' || i), 'z' || (i * 7 % 10) FROM n;
        INSERT INTO person (id) SELECT DISTINCT person FROM address;
        INSERT INTO pair SELECT i % 9, i, NULL FROM (SELECT id AS i FROM address);
        INSERT INTO cities SELECT 'z' || id, 'name ' || id, id FROM address WHERE id < 9;
        INSERT INTO tree SELECT id, nullif(id - 1, 0), NULL FROM address WHERE id < 20;
        INSERT INTO found (rowid, city) SELECT id, city FROM address WHERE id < 3;
        """

    private static let oneMain = """
        CREATE TRIGGER one_main AFTER UPDATE OF main ON address WHEN new.main = 1
        BEGIN UPDATE address SET main = 0 WHERE person = new.person AND id <> new.id; END;
        """

    private static let counts = """
        CREATE TRIGGER counts AFTER UPDATE OF done ON address
        BEGIN UPDATE person SET count = count * 2 + new.id WHERE id = new.person; END;
        """

    private func content(_ setup: String, _ sql: String, inBatches: Bool) throws -> [String] {
        let queue = try DatabaseQueue()
        let runner = try GRDBMigrationRunner(steps: [
            step("1", Self.tables + setup),
            MigrationStep(identifier: "2", batched: [MigrationBatch(sql, rows: 7)]),
        ])
        try runner.migrate(in: queue, upTo: "1")
        if inBatches {
            do {
                try runner.migrate(in: queue)
            } catch let error as MigrationKitError {
                // It was refused before anything was changed, by a dry run, too.
                #expect(try GRDBMigrationRunner.history(in: queue).map(\.event) == [.applied])
                #expect(throws: (any Error).self) { try runner.dryRun(in: queue) }
                throw error
            }
        } else {
            try queue.write { try $0.execute(sql: sql) }
        }
        let tables = [
            "address", "person", "log", "zips", "copy", "numbered", "once", "last", "pair", "tree",
        ]
        return try tables.flatMap { table in
            try queue.read { db in
                try Row.fetchAll(db, sql: "SELECT * FROM \(table)").map { "\(table) \($0)" }
            }
        }
    }

    @Test(arguments: [
        ("", "UPDATE address SET city = '' WHERE city IS NULL"),
        // What a trigger changes isn't read.
        (
            """
            CREATE TRIGGER touched AFTER UPDATE OF city ON address
            BEGIN UPDATE address SET modified = 'now' WHERE id = new.id; END;
            """,
            "UPDATE address SET city = '' WHERE city IS NULL"
        ),
        (
            "CREATE TRIGGER noted AFTER UPDATE ON address BEGIN INSERT INTO log VALUES (new.id, new.city); END;",
            "UPDATE address SET city = '' WHERE city IS NULL"
        ),
        // The rows are taken in the same order.
        (counts, "UPDATE address SET done = 1 WHERE done IS NULL"),
        (oneMain, "UPDATE address SET main = 1, done = 1 WHERE done IS NULL"),
        // It is about other columns, another event.
        (oneMain, "UPDATE address SET city = '' WHERE city IS NULL AND main >= 0"),
        (oneMain, "DELETE FROM address WHERE main = 0"),
        (
            "",
            "INSERT INTO log SELECT id, city FROM address WHERE id NOT IN (SELECT address FROM log)"
        ),
        (
            "",
            """
            INSERT INTO log (city, address) SELECT a.city, a.id + 100 FROM address AS a
            WHERE NOT EXISTS (SELECT 1 FROM log WHERE log.address = a.id + 100)
            """
        ),
        // No two of the rows have the same key.
        ("", "INSERT OR IGNORE INTO copy SELECT id, city, zip FROM address"),
        (
            "INSERT INTO copy VALUES (3, 'x', 'y');",
            """
            INSERT INTO copy SELECT a.id, a.city, a.zip FROM address AS a WHERE true
            ON CONFLICT (id) DO UPDATE SET city = excluded.city WHERE city IS NOT excluded.city
            """
        ),
        ("", "INSERT OR IGNORE INTO once (address) SELECT id FROM address WHERE main >= 0"),
        // All of a key, or one without NULL.
        (
            """
            CREATE TABLE paid (who INT, year INT, PRIMARY KEY (who, year)) WITHOUT ROWID;
            INSERT INTO paid SELECT id / 3, id FROM address; CREATE TABLE was (who INT, year INT);
            """,
            """
            INSERT INTO was SELECT who, year FROM paid
            WHERE NOT EXISTS (SELECT 1 FROM was AS w WHERE w.who = paid.who AND w.year = paid.year)
            """
        ),
        (
            """
            CREATE TABLE word (id INTEGER PRIMARY KEY, u INT UNIQUE NOT NULL);
            INSERT INTO word SELECT id, id FROM address; CREATE TABLE number (u INT);
            """,
            "INSERT INTO number SELECT u FROM word WHERE u NOT IN (SELECT u FROM number)"
        ),
        ("", "DELETE FROM pair WHERE id > 9"),
        ("", "UPDATE OR IGNORE address SET city = zip WHERE city IS NULL"),
        ("", "UPDATE address SET city = 'city changes(1)' WHERE city IS NULL"),
        // Numbers in the order of the key.
        (
            "",
            """
            INSERT INTO numbered (address, city) SELECT id, city FROM address
            WHERE id NOT IN (SELECT address FROM numbered)
            """
        ),
        // One row for each.
        (
            "",
            "UPDATE address SET city = c.name FROM cities AS c WHERE c.person = address.person AND city IS NULL"
        ),
        (
            "",
            "UPDATE address SET city = name FROM cities c WHERE address.zip = c.zip AND city IS NULL"
        ),
        // A table of this name is no function.
        (
            """
            CREATE TABLE changes (id); CREATE TRIGGER noted AFTER UPDATE ON address
            BEGIN INSERT INTO changes (id) VALUES (new.id); END;
            """,
            "UPDATE address SET city = date('2026-01-01', 'localtime') WHERE city IS NULL"
        ),
        // The rows stay where they are.
        ("", "UPDATE tree SET note = 'x' WHERE note IS NULL"),
        ("", "UPDATE tree SET parent = 1 WHERE parent IS NULL AND id > 0"),
    ])
    func resultIsThatOfTheWhole(_ setup: String, _ sql: String) throws {
        #expect(
            try content(setup, sql, inBatches: true) == content(setup, sql, inBatches: false)
        )
    }

    @Test(arguments: [
        (oneMain, "UPDATE address SET main = 1 WHERE main = 0", "the trigger 'one_main'"),
        (
            oneMain, "UPDATE address SET main = 1, done = 1 WHERE done IS NULL AND main = 0",
            "the trigger 'one_main'"
        ),
        // By way of another table's trigger.
        (
            """
            CREATE TRIGGER counted AFTER UPDATE OF done ON address
            BEGIN UPDATE person SET count = 1 WHERE id = new.person; END;
            CREATE TRIGGER spread AFTER UPDATE OF count ON person
            BEGIN UPDATE address SET city = 'x' WHERE person = new.id; END;
            """,
            "UPDATE address SET done = 1 WHERE done IS NULL AND city IS NULL",
            "the trigger 'spread'"
        ),
        (
            "CREATE TRIGGER more AFTER UPDATE ON address BEGIN INSERT INTO address (city) VALUES ('x'); END;",
            "UPDATE address SET city = '' WHERE city IS NULL", "the trigger 'more'"
        ),
        (
            "CREATE TRIGGER less AFTER DELETE ON address BEGIN DELETE FROM address WHERE person = old.person; END;",
            "DELETE FROM address WHERE city IS NULL", "the trigger 'less'"
        ),
        (
            """
            CREATE TRIGGER home AFTER UPDATE OF done ON address
            BEGIN UPDATE person SET city = new.city WHERE id = new.person; END;
            """,
            """
            UPDATE address SET done = 1
            WHERE done IS NULL AND EXISTS (SELECT 1 FROM person AS p WHERE p.id = person AND p.city IS NULL)
            """,
            "the trigger 'home'"
        ),
        // The whole goes by the index.
        (
            counts, "UPDATE address SET done = 1 WHERE done IS NULL AND zip > 'z3'",
            "'counts' may depend"
        ),
        (
            "",
            """
            UPDATE address SET city = (SELECT max(city) FROM main_address AS m WHERE m.person = address.person)
            WHERE city IS NULL
            """,
            "through 'main_address'"
        ),
        ("", "DELETE FROM address WHERE person IN (SELECT person FROM behind)", "through 'behind'"),
        (
            "",
            "UPDATE address SET done = 1 WHERE done IS NULL AND id IN (SELECT rowid FROM found)",
            "through 'found'"
        ),
        ("", "UPDATE address SET done = total_changes() WHERE done IS NULL", "total_changes()"),
        (
            "",
            "INSERT INTO log (city) SELECT zip FROM address WHERE zip NOT IN (SELECT city FROM log)",
            "its key"
        ),
        (
            "",
            """
            INSERT INTO zips SELECT zip FROM address AS a
            WHERE NOT EXISTS (SELECT 1 FROM zips WHERE zips.zip = a.zip)
            """,
            "its key"
        ),
        (
            "",
            """
            INSERT INTO log SELECT id / 2, city FROM address AS a
            WHERE NOT EXISTS (SELECT 1 FROM log WHERE address = a.id)
            """,
            "its key"
        ),
        // Which of several rows with one key is kept.
        // The question is answered by a row of another key: a part of it, another way to compare, NULL.
        (
            "CREATE TABLE paid (who INT, year INT, PRIMARY KEY (who, year)) WITHOUT ROWID;",
            """
            INSERT INTO log (address, city) SELECT who, year FROM paid
            WHERE NOT EXISTS (SELECT 1 FROM log WHERE log.address = paid.who)
            """,
            "its key"
        ),
        (
            "CREATE TABLE paid (who INT, year INT, PRIMARY KEY (who, year));",
            "INSERT INTO log (address) SELECT who FROM paid WHERE who NOT IN (SELECT address FROM log)",
            "its key"
        ),
        (
            "CREATE TABLE word (w TEXT PRIMARY KEY); CREATE TABLE plain (w TEXT COLLATE NOCASE);",
            "INSERT INTO plain SELECT w FROM word WHERE NOT EXISTS (SELECT 1 FROM plain p WHERE p.w = word.w)",
            "its key"
        ),
        (
            "CREATE TABLE word (w TEXT PRIMARY KEY) WITHOUT ROWID; CREATE TABLE number (w INT);",
            "INSERT INTO number SELECT w FROM word WHERE w NOT IN (SELECT w FROM number)", "its key"
        ),
        (
            "CREATE TABLE word (w TEXT PRIMARY KEY) WITHOUT ROWID; CREATE TABLE number (w TEXT);",
            "INSERT INTO number SELECT w + 1 FROM word WHERE w + 1 NOT IN (SELECT w FROM number)",
            "its key"
        ),
        (
            "CREATE TABLE word (id INTEGER PRIMARY KEY, u INT UNIQUE); CREATE TABLE number (u INT);",
            "INSERT INTO number SELECT u FROM word WHERE NOT EXISTS (SELECT 1 FROM number n WHERE n.u IS word.u)",
            "its key"
        ),
        (
            "CREATE TABLE word (id INTEGER PRIMARY KEY, u INT UNIQUE); CREATE TABLE number (u INT);",
            "INSERT INTO number SELECT u FROM word WHERE u NOT IN (SELECT u FROM number)", "its key"
        ),
        // The question's table has the name of the other one.
        (
            "",
            """
            INSERT INTO copy (id) SELECT address.id FROM address
            WHERE NOT EXISTS (SELECT 1 FROM copy AS address WHERE address.id = address.id)
            """,
            "its key"
        ),
        (
            "",
            """
            INSERT INTO copy (id) SELECT a.id FROM address AS a
            WHERE NOT EXISTS (SELECT 1 FROM copy JOIN person AS a WHERE copy.id = a.id)
            """,
            "its key"
        ),
        // VACUUM in another program.
        (
            "",
            """
            INSERT INTO copy SELECT rowid, city, '' FROM log
            WHERE NOT EXISTS (SELECT 1 FROM copy WHERE copy.id = log.rowid)
            """,
            "no INTEGER PRIMARY KEY"
        ),
        (
            "", "INSERT OR IGNORE INTO copy SELECT _rowid_, city, '' FROM log",
            "no INTEGER PRIMARY KEY"
        ),
        (
            "CREATE TABLE counted (id INTEGER PRIMARY KEY, n DEFAULT (total_changes()));",
            "INSERT INTO counted (id) SELECT id FROM address WHERE id NOT IN (SELECT id FROM counted)",
            "total_changes() in the table"
        ),
        (
            """
            CREATE VIRTUAL TABLE f USING fts5(city); CREATE TRIGGER found_too AFTER UPDATE ON address
            BEGIN INSERT INTO f VALUES (new.city); END;
            """,
            "UPDATE address SET done = (SELECT count(*) FROM f_content) WHERE done IS NULL",
            "'found_too' changes what the statement reads"
        ),
        ("", "INSERT OR IGNORE INTO zips SELECT zip FROM address", "the same key of 'zips'"),
        (
            "", "INSERT INTO zips SELECT zip FROM address WHERE true ON CONFLICT DO NOTHING",
            "the same key"
        ),
        (
            "",
            """
            INSERT INTO copy SELECT id, city, zip FROM address WHERE true
            ON CONFLICT (id) DO UPDATE SET id = excluded.id + 1 WHERE false
            """,
            "DO UPDATE changes a key"
        ),
        ("", "INSERT OR IGNORE INTO copy SELECT person, city, zip FROM address", "the same key"),
        ("", "INSERT OR IGNORE INTO copy SELECT 1, zip, * FROM zips", "the same key"),
        (
            "",
            "INSERT OR IGNORE INTO copy SELECT a.id, p.city, '' FROM address AS a JOIN person AS p ON p.id < 5",
            "the same key"
        ),
        ("", "INSERT INTO once SELECT person, zip FROM address", "ON CONFLICT IGNORE"),
        ("", "INSERT INTO last SELECT zip, id FROM address", "ON CONFLICT REPLACE"),
        (
            "", "UPDATE OR IGNORE pair SET main = id % 3 WHERE main IS NULL",
            "the same key of 'pair'"
        ),
        ("", "UPDATE OR IGNORE copy SET id = 1 WHERE id > 5", "the same key of 'copy'"),
        (
            "CREATE UNIQUE INDEX done ON address (person) WHERE done = 1;",
            "UPDATE OR IGNORE address SET done = 1 WHERE done IS NULL", "the same key of 'address'"
        ),
        ("", "UPDATE once SET address = 1 WHERE address IS NULL", "ON CONFLICT IGNORE"),
        // Numbers that SQLite gives.
        ("", "INSERT OR IGNORE INTO numbered (address) SELECT id FROM address", "AUTOINCREMENT"),
        (
            "",
            """
            INSERT INTO copy (zip) SELECT zip FROM address
            WHERE zip > 'z5' AND id NOT IN (SELECT id FROM copy)
            """,
            "its key"
        ),
        (
            "",
            """
            INSERT INTO numbered (address) SELECT id FROM address
            WHERE zip > 'z5' AND id NOT IN (SELECT address FROM numbered)
            """,
            "other numbers"
        ),
        (
            """
            CREATE TRIGGER numbers AFTER UPDATE OF done ON address
            BEGIN INSERT INTO numbered (address) VALUES (new.id); END;
            """,
            "UPDATE address SET done = 1 WHERE done IS NULL AND zip > 'z3'", "'numbers' may depend"
        ),
        (
            "",
            "UPDATE address SET done = (SELECT max(seq) FROM sqlite_sequence) WHERE done IS NULL",
            "sqlite_sequence"
        ),
        // Several rows for one.
        (
            "",
            "UPDATE address SET city = p.city FROM person AS p WHERE p.count = main AND done IS NULL",
            "FROM may have"
        ),
        (
            "",
            "UPDATE address SET city = c.name FROM cities c, person WHERE c.person = address.id AND done IS NULL",
            "FROM may have"
        ),
        (
            "",
            "UPDATE address SET city = c.name FROM cities c WHERE c.person = address.id OR done IS NULL",
            "FROM may have"
        ),
        (
            "",
            "UPDATE address SET city = c.name FROM cities c WHERE c.zip = address.id AND done IS NULL",
            "FROM may have"
        ),
        (
            "",
            "UPDATE address SET city = b.city FROM behind b WHERE b.person = address.id AND done IS NULL",
            "through 'behind'"
        ),
        (
            "",
            """
            WITH c AS (SELECT * FROM cities) UPDATE address SET city = c.name FROM c
            WHERE c.person = address.id AND done IS NULL
            """,
            "FROM may have"
        ),
        (
            "DROP INDEX cities_zip; CREATE UNIQUE INDEX cities_zip ON cities (zip COLLATE NOCASE);",
            "UPDATE address SET city = c.name FROM cities c WHERE c.zip = address.zip AND done IS NULL",
            "FROM may have"
        ),
        // What the rows before have to do with.
        (
            """
            CREATE TRIGGER counted AFTER UPDATE OF done ON address
            BEGIN INSERT INTO log VALUES (changes(), 'x'); END;
            """,
            "UPDATE address SET done = 1 WHERE done IS NULL", "changes() in the trigger 'counted'"
        ),
        // An aggregate whose columns are the statement's own is the statement's, even in a subquery.
        (
            "",
            """
            INSERT INTO log SELECT id, (SELECT max(address.city)) FROM address
            WHERE id NOT IN (SELECT address FROM log)
            """,
            "depends on all rows"
        ),
        (
            "",
            """
            WITH few AS (SELECT id FROM person)
            INSERT INTO log SELECT id, (SELECT count(address.id) FROM few) FROM address
            WHERE id NOT IN (SELECT address FROM log)
            """,
            "depends on all rows"
        ),
        // One time in the whole, one in each batch.
        (
            "", "UPDATE address SET modified = datetime('now') WHERE modified IS NULL",
            "datetime('now')"
        ),
        (
            "", "UPDATE address SET modified = CURRENT_TIMESTAMP WHERE modified IS NULL",
            "CURRENT_TIMESTAMP"
        ),
        ("", "DELETE FROM address WHERE modified < strftime('%s')", "strftime('now')"),
        ("", "DELETE FROM address WHERE modified < unixepoch()", "unixepoch('now')"),
        (
            "", "UPDATE address SET done = (SELECT random()) WHERE done IS NULL",
            "random() in a subquery"
        ),
        // Foreign keys are enforced in a batch.
        ("", "DELETE FROM tree WHERE id > 0", "refer to others of the same table"),
        ("", "UPDATE tree SET id = id + 100 WHERE id < 100", "refer to others of the same table"),
        (
            "", "UPDATE tree SET rowid = id + 100 WHERE id < 100",
            "refer to others of the same table"
        ),
        (
            "", "INSERT INTO tree (id, parent) SELECT id + 100, id + 101 FROM address",
            "refer to others of the same table"
        ),
        (
            "CREATE TABLE tag (person REFERENCES person ON DELETE CASCADE); INSERT INTO tag VALUES (3);",
            "DELETE FROM person WHERE id > 2", "'tag' refers to 'person' with CASCADE"
        ),
        (
            "CREATE TABLE tag (person REFERENCES person ON UPDATE SET NULL); INSERT INTO tag VALUES (3);",
            "UPDATE person SET rowid = id + 100 WHERE id < 100",
            "'tag' refers to 'person' with SET NULL"
        ),
    ])
    func whatCannotBeProvedIsRefused(_ setup: String, _ sql: String, _ reason: String) throws {
        let error = #expect(throws: MigrationKitError.self) {
            try content(setup, sql, inBatches: true)
        }
        guard case .unusableBatch("2", let given) = error else {
            Issue.record("\(String(describing: error))")
            return
        }
        #expect(given.contains(reason), "\(given)")
    }

    /// A row that others change or add behind the copy would be deleted without one.
    @Test(arguments: ["DELETE FROM address", "DELETE FROM address WHERE main = 1"])
    func rowsAreNotCopiedAndDeletedInOneStep(_ delete: String) throws {
        let queue = try DatabaseQueue()
        let copy =
            "INSERT INTO log SELECT id, city FROM address WHERE id NOT IN (SELECT address FROM log)"
        let runner = try GRDBMigrationRunner(steps: [
            step("1", Self.tables),
            MigrationStep(
                identifier: "2",
                batched: [MigrationBatch(copy), MigrationBatch(delete)]
            ),
        ])
        try runner.migrate(in: queue, upTo: "1")
        let error = #expect(throws: MigrationKitError.self) { try runner.migrate(in: queue) }
        guard let error, case .unusableBatch(_, let reason) = error else {
            Issue.record("\(String(describing: error))")
            return
        }
        #expect(reason.contains("which an earlier statement of the migration copies"), "\(reason)")
        #expect(throws: error) { try runner.dryRun(in: queue) }
        #expect(try queue.number("SELECT count(*) FROM log") == 0)
    }

    /// As a whole, foreign keys are checked at the end.
    @Test(arguments: [
        [
            "DELETE FROM person WHERE id > 3", "DELETE FROM tag WHERE who > 3",
        ],
        [
            "INSERT INTO tag SELECT id + 100 FROM address WHERE id + 100 NOT IN (SELECT who FROM tag)",
            "INSERT INTO person (id) SELECT id + 100 FROM address WHERE id + 100 NOT IN (SELECT id FROM person)",
        ],
    ])
    func statementsAreInTheOrderOfForeignKeys(_ sql: [String]) throws {
        func migrate(_ sql: [String]) throws -> Int? {
            let queue = try DatabaseQueue()
            let table =
                "CREATE TABLE tag (who PRIMARY KEY REFERENCES person); INSERT INTO tag VALUES (2), (4);"
            let runner = try GRDBMigrationRunner(steps: [
                step("1", Self.tables + table),
                MigrationStep(identifier: "2", batched: sql.map { MigrationBatch($0) }),
            ])
            try runner.migrate(in: queue)
            return try queue.number("SELECT count(*) FROM tag")
        }
        let error = #expect(throws: MigrationKitError.self) { try migrate(sql) }
        guard case .unusableBatch(_, let reason) = error else {
            Issue.record("\(String(describing: error))")
            return
        }
        #expect(reason.contains("above the earlier statement"), "\(reason)")
        #expect(try migrate(sql.reversed()) != 2)
    }

    /// What others commit in between couldn't be told from what the later statement has changed.
    @Test(arguments: [
        [
            "UPDATE address SET done = 1 WHERE done IS NULL",
            "UPDATE address SET done = NULL WHERE done = 1",
        ],
        [
            "INSERT INTO log SELECT id, city FROM address WHERE id NOT IN (SELECT address FROM log)",
            "DELETE FROM log WHERE city IS NULL",
        ],
    ])
    func laterStatementThatChangesWhatAnEarlierOneReadsIsRefused(_ sql: [String]) throws {
        let queue = try DatabaseQueue()
        let runner = try GRDBMigrationRunner(steps: [
            step("1", Self.tables),
            MigrationStep(identifier: "2", batched: sql.map { MigrationBatch($0) }),
        ])
        let error = #expect(throws: MigrationKitError.self) { try runner.migrate(in: queue) }
        guard case .unusableBatch(_, let reason) = error else {
            Issue.record("\(String(describing: error))")
            return
        }
        #expect(reason.contains("an earlier statement"), "\(reason)")
    }
}
