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
        CREATE VIEW main_address AS SELECT person, city FROM address WHERE main = 1;
        CREATE VIEW behind AS SELECT * FROM main_address;
        CREATE VIRTUAL TABLE found USING fts5(city, content='address', content_rowid='id');
        WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 60)
        INSERT INTO address (id, person, main, city, zip)
            SELECT i, i % 12, i <= 12, iif(i % 5, NULL, 'city ' || i), 'z' || (i * 7 % 10) FROM n;
        INSERT INTO person (id) SELECT DISTINCT person FROM address;
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
        return try ["address", "person", "log", "zips"].flatMap { table in
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

    // MARK: - Keys

    private static func fill(_ rows: Int?) -> MigrationStep<Database> {
        MigrationStep(
            identifier: "2",
            batched: [MigrationBatch("UPDATE t SET s = 1 WHERE s IS NULL", rows: rows)]
        )
    }

    /// A key that isn't kept exactly would leave out rows, wherever it is in the table.
    @Test(
        arguments: ["'m' || char(0) || 'b'", "CAST(x'6dff' AS TEXT)", "9e999", "-9e999"],
        [1, 10_000]
    )
    func keyThatIsNotKeptExactlyIsRefusedBeforeTheFirstBatch(_ key: String, _ rows: Int) throws {
        let table = step(
            "1",
            """
            CREATE TABLE t (k PRIMARY KEY, s) WITHOUT ROWID;
            INSERT INTO t (k) VALUES (1), (2), ('a'), ('zß'), (x'00ff'), (\(key));
            """
        )
        let queue = try DatabaseQueue()
        let runner = try GRDBMigrationRunner(steps: [table, Self.fill(rows)])
        let error = #expect(throws: MigrationKitError.self) { try runner.migrate(in: queue) }
        guard let error, case .unusableBatch("2", let reason) = error else {
            Issue.record("\(String(describing: error))")
            return
        }
        #expect(reason.hasPrefix("a key of 't' is"))
        #expect(throws: error) { try runner.dryRun(in: queue) }
        #expect(try queue.number("SELECT count(s) FROM t") == 0)
        #expect(try GRDBMigrationRunner.history(in: queue).map(\.event) == [.applied])
    }

    @Test(arguments: [("TEXT", "'a'", false), ("INTEGER", "7", true)])
    func textIsNoKeyInAStoreInUTF16(_ type: String, _ key: String, _ works: Bool) throws {
        let queue = try DatabaseQueue()
        try queue.writeWithoutTransaction { try $0.execute(sql: "PRAGMA encoding = 'UTF-16'") }
        let table = step(
            "1",
            "CREATE TABLE t (k \(type) PRIMARY KEY, s) WITHOUT ROWID; INSERT INTO t (k) VALUES (\(key))"
        )
        let runner = try GRDBMigrationRunner(steps: [table, Self.fill(nil)])
        if works {
            try runner.migrate(in: queue)
        } else {
            #expect(throws: MigrationKitError.self) { try runner.migrate(in: queue) }
            #expect(try GRDBMigrationRunner.history(in: queue).map(\.event) == [.applied])
        }
        #expect(try queue.number("SELECT count(s) FROM t") == (works ? 1 : 0))
    }
}
