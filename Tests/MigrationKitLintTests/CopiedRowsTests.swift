import GRDB
import MigrationKitLint
import TestSupport
import Testing

/// Rows that aren't copied before their table is dropped, because they are equal or have NULLs.
@Suite struct CopiedRowsTests {
    private static let tables = """
        CREATE TABLE t (id INTEGER PRIMARY KEY, a INTEGER NOT NULL, b TEXT);
        CREATE TABLE n (a, b);
        """

    private static let plain = "CREATE TABLE p (a INTEGER, b TEXT);"

    struct Case: CustomTestStringConvertible {
        let sql: String
        /// The rule, and what its message says.
        let rule: LintRule
        let words: String

        var testDescription: String { sql }
    }

    static let cases = [
        Case(
            sql: "INSERT INTO n SELECT a, b FROM t UNION SELECT a, b FROM t; DROP TABLE t;",
            rule: .dropTable,
            words: "equal"
        ),
        Case(
            sql: """
                CREATE TABLE q (a INTEGER, b TEXT);
                INSERT INTO q SELECT a, b FROM (SELECT DISTINCT a, b FROM p);
                DROP TABLE p;
                ALTER TABLE q RENAME TO p;
                """,
            rule: .rebuildLosesRows,
            words: "equal"
        ),
        Case(
            sql: """
                CREATE TABLE q (a INTEGER, b TEXT);
                WITH one AS (SELECT a, b FROM p GROUP BY a, b) INSERT INTO q SELECT * FROM one;
                DROP TABLE p;
                ALTER TABLE q RENAME TO p;
                """,
            rule: .rebuildLosesRows,
            words: "equal"
        ),
        Case(
            sql: "INSERT INTO n SELECT a, b FROM t WHERE b = b; DROP TABLE t;",
            rule: .dropTable,
            words: "NULL"
        ),
        Case(
            sql: """
                INSERT INTO n SELECT a, b FROM t WHERE b < 'c';
                INSERT INTO n SELECT a, b FROM t WHERE b >= 'c';
                DROP TABLE t;
                """,
            rule: .dropTable,
            words: "NULL"
        ),
        Case(
            sql: """
                CREATE TABLE u (b TEXT UNIQUE);
                INSERT OR IGNORE INTO u SELECT b FROM t;
                DROP TABLE t;
                """,
            rule: .dropTable,
            words: "equal"
        ),
    ]

    @Test(arguments: cases) func rowsThatAreLeftOutAreFound(_ test: Case) throws {
        let report = try lint([Self.tables + Self.plain, test.sql])
        let found = report.findings(of: test.rule)
        #expect(
            found.count == 1 && found.allSatisfy { $0.message.contains(test.words) },
            "\(found)"
        )
    }

    /// All rows are copied, or stay.
    @Test(arguments: [
        "INSERT INTO n SELECT a, b FROM t UNION ALL SELECT a, b FROM t WHERE 0; DROP TABLE t;",
        "INSERT INTO n SELECT DISTINCT a, b FROM t;",
        "UPDATE p SET b = (SELECT b FROM t WHERE t.a = p.a LIMIT 1); DROP TABLE t;",
        """
        INSERT INTO n SELECT a, b FROM t WHERE b < 'c';
        INSERT INTO n SELECT a, b FROM t WHERE b >= 'c' OR b IS NULL;
        DROP TABLE t;
        """,
        """
        CREATE TABLE word (id INTEGER PRIMARY KEY, b TEXT);
        INSERT INTO word (b) SELECT DISTINCT b FROM t;
        INSERT INTO n SELECT t.a, word.id FROM t LEFT JOIN word ON word.b IS t.b;
        DROP TABLE t;
        """,
        """
        CREATE TABLE q (a INTEGER, b TEXT);
        INSERT INTO q SELECT a, (SELECT max(b) FROM p AS o WHERE o.a = p.a) FROM p;
        DROP TABLE p;
        ALTER TABLE q RENAME TO p;
        """,
    ])
    func rowsThatAreCopiedAreNoFinding(_ sql: String) throws {
        let report = try lint([Self.tables + Self.plain, sql])
        let found = report.findings(of: .dropTable) + report.findings(of: .rebuildLosesRows)
        #expect(found.isEmpty, "\(found)")
    }

    /// The number of rows that have the key of another one.
    @Test(arguments: ["INSERT OR IGNORE", "INSERT OR REPLACE"])
    func rowsThatConflictAreCounted(_ insert: String) throws {
        let database = try DatabaseQueue()
        try database.write { db in
            try db.execute(sql: Self.plain)
            for b in ["x", "x", "X", "y"] {
                try db.execute(sql: "INSERT INTO p VALUES (1, ?)", arguments: [b])
            }
        }
        let rebuild = """
            CREATE TABLE q (a INTEGER, b TEXT UNIQUE COLLATE NOCASE);
            \(insert) INTO q SELECT a, b FROM p;
            DROP TABLE p;
            ALTER TABLE q RENAME TO p;
            """
        let report = try lint([Self.plain, rebuild]) { $0.database = database }
        let found = report.findings(of: .conflictDropsRows)
        #expect(
            found.count == 1 && found.allSatisfy { $0.message.contains("2 such rows") },
            "\(found)"
        )
    }

    /// A real database has the rows, or hasn't.
    @Test(arguments: [(2, 1), (1, 0)]) func realRowsDecide(_ rows: (equal: Int, lost: Int)) throws {
        let database = try DatabaseQueue()
        try database.write { db in
            try db.execute(sql: Self.plain)
            for _ in 0..<rows.equal { try db.execute(sql: "INSERT INTO p VALUES (1, 'x')") }
            try db.execute(sql: "INSERT INTO p VALUES (2, 'x')")
        }
        let report = try lint([Self.plain, Self.cases[1].sql]) { $0.database = database }
        let found = report.findings(of: .rebuildLosesRows)
        #expect(found.count == rows.lost && found.allSatisfy { $0.level == .error }, "\(found)")
    }
}

/// Generated columns whose expression doesn't suit the rows that are there.
@Suite struct ComputedColumnTests {
    private static let table = "CREATE TABLE t (id INTEGER PRIMARY KEY, j TEXT);"

    @Test(arguments: [
        ("ALTER TABLE t ADD COLUMN s TEXT NOT NULL AS (lower(j));", LintRule.mayViolateNotNull),
        ("ALTER TABLE t ADD COLUMN s INTEGER AS (length(j)) CHECK (s > 3);", .mayViolateCheck),
        (
            """
            CREATE TABLE t2 (id INTEGER PRIMARY KEY, j TEXT, s TEXT NOT NULL AS (j || 'x') STORED);
            INSERT INTO t2 (id, j) SELECT id, j FROM t;
            DROP TABLE t;
            ALTER TABLE t2 RENAME TO t;
            """, .mayViolateNotNull
        ),
        (
            """
            CREATE TABLE t2 (id INTEGER PRIMARY KEY, j TEXT, s INTEGER AS (trim(j))) STRICT;
            INSERT INTO t2 (id, j) SELECT id, j FROM t;
            DROP TABLE t;
            ALTER TABLE t2 RENAME TO t;
            """, .mayViolateStrict
        ),
    ])
    func valuesThatAreRefusedAreFound(_ sql: String, _ rule: LintRule) throws {
        let found = try lint([Self.table, sql]).findings(of: rule)
        #expect(found.count == 1, "\(found)")
        #expect(found.allSatisfy { $0.message.contains("t.s ") || $0.message.contains("s)") })
    }

    @Test(arguments: [
        "ALTER TABLE t ADD COLUMN s TEXT NOT NULL AS (coalesce(lower(j), ''));",
        "ALTER TABLE t ADD COLUMN s TEXT AS (lower(j));",
        "ALTER TABLE t ADD COLUMN s INTEGER AS (length(j)) CHECK (s >= 0);",
        "UPDATE t SET j = '' WHERE j IS NULL; ALTER TABLE t ADD COLUMN s TEXT NOT NULL AS (lower(j));",
    ])
    func valuesThatFitAreNoFinding(_ sql: String) throws {
        let report = try lint([Self.table, sql])
        let rules = [
            LintRule.mayViolateNotNull, .mayViolateCheck, .mayViolateStrict, .migrationFails,
        ]
        #expect(rules.flatMap(report.findings(of:)).isEmpty, "\(report.lines())")
    }
}
