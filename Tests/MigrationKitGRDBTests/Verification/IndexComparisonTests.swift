import Foundation
import GRDB
import MigrationKit
import TestSupport
import Testing

@testable import MigrationKitSchema

/// Indexes are compared with their tables without SQLite's `integrity_check`.
@Suite struct IndexComparisonTests {
    private func suspects(in db: Database) throws -> [IndexComparison.Outcome] {
        let tables = try String.fetchAll(db, sql: GRDBMigrationVerifier.tableNames)
        return try GRDBMigrationVerifier.compareIndexes(of: tables, in: db)
    }

    private func check(_ queue: DatabaseQueue) throws -> VerificationCheck {
        let checks = try GRDBMigrationRunner(steps: []).verificationChecks(in: queue, isFull: true)
        return try #require(checks.first { $0.name == "integrity_check" })
    }

    private func integrity(_ queue: DatabaseQueue) throws -> [String] {
        try queue.read { try String.fetchAll($0, sql: "PRAGMA integrity_check") }
    }

    // MARK: - Sound Databases

    /// Sorts by length, then by bytes.
    private static let odd = DatabaseCollation("odd") { one, other in
        one.utf8.count != other.utf8.count
            ? (one.utf8.count < other.utf8.count ? .orderedAscending : .orderedDescending)
            : (one < other ? .orderedAscending : one > other ? .orderedDescending : .orderedSame)
    }

    private static let schema = """
        CREATE TABLE mix (
            id INTEGER PRIMARY KEY, t TEXT, r REAL, n NUMERIC, b BLOB, x,
            low TEXT COLLATE NOCASE, trim TEXT COLLATE RTRIM,
            v AS (t || n), s REAL AS (r * 2) STORED
        );
        CREATE INDEX mix_t ON mix (t);
        CREATE INDEX mix_r ON mix (r DESC, n);
        CREATE INDEX mix_n ON mix (n, b DESC, x);
        CREATE INDEX mix_low ON mix (low, trim DESC);
        CREATE INDEX mix_trim ON mix (trim COLLATE NOCASE, x COLLATE RTRIM DESC);
        CREATE UNIQUE INDEX mix_unique ON mix (x, t, r, n, b, low, trim, s, v);
        CREATE INDEX mix_expression ON mix (lower(t), -- a comment, with ) and (
            r + 1 DESC);
        CREATE INDEX mix_cast ON mix (CAST(r AS REAL), CAST(n AS INTEGER), CAST(t AS NUMERIC), +r);
        CREATE INDEX mix_virtual ON mix (v);
        CREATE INDEX mix_stored ON mix (s DESC);
        CREATE INDEX mix_partial ON mix (t) WHERE x IS NOT NULL -- at the end
        ;
        CREATE INDEX mix_like ON mix (n) WHERE low LIKE 'a%' /* ) */ AND r > 3;
        CREATE INDEX mix_range ON mix (n) WHERE n > 3;
        CREATE INDEX mix_odd ON mix (t COLLATE odd DESC, x COLLATE odd);
        CREATE INDEX mix_rowid ON mix (b, x);

        CREATE TABLE "it's. ""a"" (note" ("select" TEXT UNIQUE, "a, b" INT NOT NULL, rowid TEXT, PRIMARY KEY ("a, b"));
        CREATE INDEX "x) WHERE (" ON "it's. ""a"" (note" ("a, b" DESC, "select") WHERE "a, b" <> 'where (';

        CREATE TABLE grown (a REAL, b TEXT DEFAULT 'x');
        CREATE INDEX grown_a ON grown (a, b);

        CREATE TABLE pair (a TEXT COLLATE NOCASE, b REAL, c, d, PRIMARY KEY (b DESC, a)) WITHOUT ROWID;
        CREATE INDEX pair_c ON pair (c);
        CREATE UNIQUE INDEX pair_d ON pair (d DESC, c) WHERE c > 0;
        CREATE TABLE single (k TEXT PRIMARY KEY, v ANY) STRICT, WITHOUT ROWID;
        CREATE TABLE keyed (
            a TEXT NOT NULL COLLATE NOCASE, b REAL NOT NULL, c, PRIMARY KEY (b DESC, a)
        );
        CREATE TABLE keyed_odd (a TEXT PRIMARY KEY NOT NULL COLLATE odd);
        """

    /// Indexes that have to be left to SQLite: a column twice, an expression that SQLite doesn't take
    /// from the index of such a table, and a primary key that is NULL.
    private static let undecided = """
        CREATE TABLE twice (x, y);
        CREATE INDEX twice_x ON twice (x, x COLLATE NOCASE);
        CREATE TABLE computed (x PRIMARY KEY, y) WITHOUT ROWID;
        CREATE INDEX computed_y ON computed (y || x);
        CREATE TABLE keyless (x TEXT PRIMARY KEY, y);
        CREATE TABLE taken (rowid, _rowid_, oid);
        CREATE INDEX taken_oid ON taken (oid);
        """

    private static let values = [
        "NULL", "0", "-0.0", "0.0", "1", "1.0", "'1'", "' 1 '", "'1.50'", "-7", "2.5", "1e300",
        "9e999", "-9e999", "9007199254740993", "9007199254740992.0", "-9007199254740993",
        "9223372036854775807", "9223372036854775807.0", "-9223372036854775808",
        "-9223372036854775808.0", "4611686018427387905", "4.611686018427388e18", "0.1",
        "140737488355328", "-140737488355329", "''", "'a'", "'A'", "'a '", "'a  '", "'ab'", "'É'",
        "'é'", "'ß'", "'ÄB'", "'äb'", "'a' || char(0) || 'b'", "'A' || char(0) || 'c'",
        "char(0)", "CAST(x'ff41' AS TEXT)", "CAST(x'fe41' AS TEXT)", "CAST(x'c3' AS TEXT)",
        "CAST(x'd800d8004100' AS TEXT)", "char(65533)", "char(128512)", "x''", "x'00'", "x'61'",
        "x'6100'", "x'ff41'", "zeroblob(3000)", "hex(zeroblob(2000))", "randomblob(700)",
        "random()", "random() / 3.0", "abs(random() % 50)", "'a' || (random() % 9)",
    ]

    @Test(arguments: ["UTF-8", "UTF-16le", "UTF-16be"], 1...6)
    func soundDatabasesHaveNoFindings(encoding: String, seed: UInt64) throws {
        var generator = SeededGenerator(seed: seed)
        var configuration = Configuration()
        configuration.prepareDatabase { $0.add(collation: Self.odd) }
        let queue = try DatabaseQueue(configuration: configuration)
        func value() -> String {
            let value = Self.values.randomElement(using: &generator) ?? "NULL"
            // In UTF-16, SQLite damages indexes on expressions itself if it makes text of blobs.
            let isBlob = value.contains("x'") || value.contains("blob")
            return isBlob && encoding != "UTF-8" ? "NULL" : value
        }
        try queue.writeWithoutTransaction { db in
            try db.execute(
                sql: "PRAGMA encoding = '\(encoding)'; \(Self.schema) \(Self.undecided)"
            )
            func fill(_ count: Int) throws {
                for _ in 0..<count {
                    func values(_ count: Int) -> String {
                        (0..<count).map { _ in value() }.joined(separator: ", ")
                    }
                    try db.execute(
                        sql: """
                            INSERT OR IGNORE INTO mix (t, r, n, b, x, low, trim) VALUES (\(values(7)));
                            INSERT OR IGNORE INTO "it's. ""a"" (note" VALUES (\(values(3)));
                            INSERT OR IGNORE INTO grown (a, b) VALUES (\(values(2)));
                            INSERT OR IGNORE INTO pair VALUES (\(values(4)));
                            INSERT OR IGNORE INTO single VALUES (hex(\(values(1))), \(values(1)));
                            INSERT OR IGNORE INTO twice VALUES (\(values(2)));
                            INSERT OR IGNORE INTO computed VALUES (\(values(2)));
                            INSERT OR IGNORE INTO keyed VALUES (\(values(3)));
                            INSERT OR IGNORE INTO keyed_odd VALUES (\(values(1)));
                            INSERT OR IGNORE INTO keyless VALUES (\(values(1)), NULL);
                            INSERT OR IGNORE INTO keyless VALUES (NULL, \(values(1)));
                            INSERT OR IGNORE INTO taken VALUES (\(values(3)));
                            """
                    )
                }
            }
            try db.inTransaction {
                try fill(120)
                return .commit
            }
            try db.execute(
                sql: """
                    ALTER TABLE grown ADD COLUMN c REAL NOT NULL DEFAULT 5;
                    ALTER TABLE grown ADD COLUMN d DEFAULT 'D';
                    ALTER TABLE grown ADD COLUMN e AS (d || a);
                    CREATE INDEX grown_c ON grown (c, d COLLATE NOCASE);
                    CREATE INDEX grown_e ON grown (e) WHERE c = 5;
                    """
            )
            try db.inTransaction {
                try fill(60)
                for _ in 0..<60 {
                    try db.execute(
                        sql: """
                            UPDATE OR IGNORE mix SET t = \(value()), r = \(value()), low = upper(low)
                                WHERE id = \(Int.random(in: 1...150, using: &generator));
                            DELETE FROM mix WHERE id = \(Int.random(in: 1...150, using: &generator));
                            UPDATE OR IGNORE pair SET b = \(value()), c = \(value()) WHERE d IS \(value());
                            UPDATE grown SET c = 1.5 WHERE a IS \(value());
                            """
                    )
                }
                return .commit
            }
        }
        #expect(try integrity(queue) == ["ok"])
        let found = try queue.read { try suspects(in: $0) }
        #expect(found.flatMap(\.differences) == [])
        #expect(
            found.filter(\.isUndecided).map(\.table).sorted()
                == ["computed", "keyless", "taken", "twice"]
        )
        #expect(try check(queue).ok)
    }

    @Test func functionIsGoneAfterwards() throws {
        let queue = try DatabaseQueue()
        try queue.write { db in
            try db.execute(sql: "CREATE TABLE t (a); CREATE INDEX i ON t (a)")
        }
        #expect(try check(queue).ok)
        #expect(throws: DatabaseError.self) {
            try queue.read { try Row.fetchAll($0, sql: "SELECT migrationkit_entry(0, 1)") }
        }
    }

    // MARK: - Damaged Indexes

    /// A change that SQLite can't make, and the beginning of a text about it.
    struct Damage: CustomTestStringConvertible, Sendable {
        let name: String
        /// The index that isn't kept up to date meanwhile.
        var hidden: String?
        let sql: String
        var texts: (old: String, new: String)?
        /// What our own comparison says; `nil` if it leaves the table to SQLite.
        let finding: String?
        /// Whether SQLite finds it, too.
        var isKnownToSQLite = true

        var testDescription: String { name }
    }

    static let damages = [
        Damage(
            name: "lost entry",
            hidden: "t_a",
            sql: "INSERT INTO t VALUES (100, 'zz', 5)",
            finding: "the index 't_a' has 20 entries for 21 rows"
        ),
        Damage(
            name: "entry without row",
            hidden: "t_a",
            sql: "DELETE FROM t WHERE id = 3",
            finding: "the index 't_a' has 20 entries for 19 rows"
        ),
        Damage(
            name: "entry without row in a partial index",
            hidden: "t_part",
            sql: "DELETE FROM t WHERE id = 15",
            finding: "the index 't_part' has 10 entries for 9 rows",
            isKnownToSQLite: false
        ),
        Damage(
            name: "other value",
            hidden: "t_a",
            sql: "UPDATE t SET a = 'name 99' WHERE id = 3",
            finding: "entries of the index 't_a' don't match their rows"
        ),
        Damage(
            name: "values of two rows",
            hidden: "t_a",
            sql: "UPDATE t SET a = iif(id = 3, 'name 14', 'name 13') WHERE id IN (3, 4)",
            finding: "entries of the index 't_a' don't match their rows"
        ),
        Damage(
            name: "other case",
            hidden: "t_nocase",
            sql: "UPDATE t SET a = upper(a) WHERE id = 3",
            finding: "entries of the index 't_nocase' don't match their rows"
        ),
        Damage(
            name: "text for a blob",
            hidden: "t_a",
            sql: "UPDATE t SET a = CAST(a AS BLOB) WHERE id = 3",
            finding: "entries of the index 't_a' don't match their rows"
        ),
        Damage(
            name: "descending",
            sql: "",
            texts: ("t_a ON t (a)", "t_a ON t (a DESC)"),
            finding: nil
        ),
        Damage(
            name: "other collation",
            sql: "INSERT INTO t VALUES (30, 'NAME 5', 5), (31, 'zoe', 5), (32, 'Zoo', 5)",
            texts: ("t_a ON t (a)", "t_a ON t (a COLLATE NOCASE)"),
            finding: nil
        ),
        Damage(
            name: "not unique",
            sql: "",
            texts: ("CREATE INDEX t_b", "CREATE UNIQUE INDEX t_b"),
            finding: "entries of the UNIQUE index 't_b' are equal"
        ),
        Damage(
            name: "other expression",
            sql: "",
            texts: ("t (lower(a))", "t (upper(a))"),
            finding: "entries of the index 't_expr' don't match their rows"
        ),
        Damage(
            name: "further field",
            sql: "",
            texts: ("t (a, b)", "t (a)"),
            finding: nil
        ),
        Damage(
            name: "table out of order",
            sql: "",
            texts: ("PRIMARY KEY (b, a)", "PRIMARY KEY (b DESC, a)"),
            finding: "rows of 'w' are not in primary key order"
        ),
        Damage(
            name: "lost entry of a table WITHOUT ROWID",
            hidden: "w_c",
            sql: "INSERT INTO w VALUES ('q', 100, 1)",
            finding: "the index 'w_c' has 20 entries for 21 rows"
        ),
    ]

    private func damaged(_ damage: Damage) throws -> DatabaseQueue {
        let queue = try DatabaseQueue()
        try queue.writeWithoutTransaction { db in
            try db.execute(
                sql: """
                    CREATE TABLE t (id INTEGER PRIMARY KEY, a TEXT, b);
                    CREATE INDEX t_a ON t (a);
                    CREATE INDEX t_nocase ON t (a COLLATE NOCASE);
                    CREATE INDEX t_b ON t (b);
                    CREATE INDEX t_two ON t (a, b);
                    CREATE INDEX t_part ON t (a) WHERE id > 10;
                    CREATE INDEX t_expr ON t (lower(a));
                    CREATE TABLE w (a TEXT, b INT, c, PRIMARY KEY (b, a)) WITHOUT ROWID;
                    CREATE INDEX w_c ON w (c);
                    WITH RECURSIVE n (x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n LIMIT 20)
                    INSERT INTO t SELECT x, 'name ' || (x + 10), x / 2 FROM n;
                    INSERT INTO w SELECT a, id, b FROM t;
                    """
            )
            var hidden: Row?
            func rewrite(_ sql: String, _ arguments: StatementArguments) throws {
                try db.execute(sql: "PRAGMA writable_schema = 1")
                try db.execute(sql: sql, arguments: arguments)
                try #require(db.changesCount == 1)
                try db.execute(sql: "PRAGMA writable_schema = RESET")
            }
            if let index = damage.hidden {
                hidden = try Row.fetchOne(
                    db,
                    sql: "SELECT * FROM sqlite_master WHERE name = ?",
                    arguments: [index]
                )
                try rewrite("DELETE FROM sqlite_master WHERE name = ?", [index])
            }
            try db.execute(sql: damage.sql)
            if let hidden {
                try rewrite(
                    "INSERT INTO sqlite_master VALUES (?, ?, ?, ?, ?)",
                    StatementArguments(hidden.databaseValues)
                )
            }
            if let texts = damage.texts {
                try rewrite(
                    """
                    UPDATE sqlite_master SET sql = replace(sql, ?1, ?2)
                    WHERE sql LIKE '%' || ?1 || '%'
                    """,
                    [texts.old, texts.new]
                )
            }
        }
        queue.releaseMemory()
        return queue
    }

    @Test(arguments: damages)
    func damageIsFound(_ damage: Damage) throws {
        let queue = try damaged(damage)
        let found = try queue.read { try suspects(in: $0) }
        if let finding = damage.finding {
            #expect(found.flatMap(\.differences).map(\.text).contains(finding))
        } else {
            #expect(found.map(\.isUndecided) == [true])
        }
        #expect((try integrity(queue) != ["ok"]) == damage.isKnownToSQLite)
        let check = try check(queue)
        #expect(!check.ok)
        #expect(check.findings.allSatisfy { ["t", "w"].contains($0.table) })
        let isNamedByUs = check.findings.contains { $0.text.contains("names no row") }
        #expect(isNamedByUs == !damage.isKnownToSQLite)
    }

    @Test func findingThatSQLiteDoesNotHaveSaysWhatToDo() throws {
        let damage = try #require(Self.damages.first { !$0.isKnownToSQLite })
        #expect(
            try check(damaged(damage)).findings == [
                VerificationFinding(
                    """
                    the index 't_part' has 10 entries for 9 rows (SQLite's integrity_check names \
                    no row; REINDEX rebuilds the index)
                    """,
                    table: "t"
                )
            ]
        )
    }

    /// The same findings as by the letter.
    @Test(arguments: damages)
    func rowsAreNamedLikeInSQLite(_ damage: Damage) throws {
        guard damage.isKnownToSQLite else { return }
        let queue = try damaged(damage)
        var options = VerificationOptions()
        options.usesSQLiteIntegrityCheck = true
        let runner = try GRDBMigrationRunner(steps: [])
        let checks = try runner.verificationChecks(in: queue, isFull: true, options: options)
        let expected = try #require(checks.first { $0.name == "integrity_check" })
        let found = try check(queue)
        #expect(Set(found.findings.map(\.text)) == Set(expected.findings.map(\.text)))
        #expect(found.findings.map(\.rowID).count == expected.findings.map(\.rowID).count)
    }

    @Test func missingCollationIsSaid() throws {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent(
            "IndexComparisonTests-\(UUID())"
        )
        defer { try? FileManager.default.removeItem(at: folder) }
        var configuration = Configuration()
        configuration.prepareDatabase { $0.add(collation: Self.odd) }
        let queue = try DatabaseQueue(path: folder.path, configuration: configuration)
        try queue.write { db in
            try db.execute(
                sql:
                    "CREATE TABLE t (a); CREATE INDEX i ON t (a COLLATE odd); INSERT INTO t VALUES (1)"
            )
        }
        try queue.close()
        let check = try check(DatabaseQueue(path: folder.path))
        #expect(check.ok)
        #expect(check.note == "not checked: t needs the collation 'odd'")
    }
}
