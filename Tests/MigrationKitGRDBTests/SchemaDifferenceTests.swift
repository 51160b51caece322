import GRDB
import Testing

@testable import MigrationKitGRDB

/// What differs between two schemas.
@Suite struct SchemaDifferenceTests {
    // MARK: - No Difference

    static let same: [(String, String)] = [
        (
            "CREATE TABLE t (a TEXT NOT NULL)",
            "create  table \"T\"([A] text/* c */NOT\nnull) -- end"
        ),
        ("CREATE TABLE t (a INTEGER PRIMARY KEY)", "CREATE TABLE t (a INTEGER, PRIMARY KEY (a))"),
        // The direction of a rowid means nothing, except beside the column.
        (
            "CREATE TABLE t (a INTEGER PRIMARY KEY)",
            "CREATE TABLE t (a INTEGER, PRIMARY KEY (a DESC))"
        ),
        (
            "CREATE TABLE t (a INTEGER PRIMARY KEY)",
            "CREATE TABLE t (a INTEGER PRIMARY KEY ASC ON CONFLICT ABORT)"
        ),
        ("CREATE TABLE t (a, b UNIQUE)", "CREATE TABLE t (a, b, UNIQUE (b))"),
        ("CREATE TABLE t (a, b UNIQUE)", "CREATE TABLE t (a, b CONSTRAINT u UNIQUE, UNIQUE (b))"),
        ("CREATE TABLE t (a, b, UNIQUE (a), UNIQUE (b))", "CREATE TABLE t (a UNIQUE, b UNIQUE)"),
        ("CREATE TABLE t (a TEXT PRIMARY KEY)", "CREATE TABLE t (a TEXT UNIQUE, PRIMARY KEY (a))"),
        ("CREATE TABLE t (a CHECK (a > 0), b)", "CREATE TABLE t (a, b, CHECK (a>0))"),
        ("CREATE TABLE t (a, CHECK (a > 0))", "CREATE TABLE t (a, CHECK ((\"a\" > 0)))"),
        (
            "CREATE TABLE t (a, CHECK (a > 0), CHECK (a <> 'X'))",
            "CREATE TABLE t (a, CHECK (A != 'X'), CHECK (a>/**/0))"
        ),
        (
            "CREATE TABLE t (a, CHECK (a > 0) ON CONFLICT IGNORE)",
            "CREATE TABLE t (a, CHECK (a > 0))"
        ),
        (
            "CREATE TABLE t (a, b, CHECK (a = X'00FF' AND b == 1E-3 OR b = .5))",
            "CREATE TABLE t (a, b, CHECK (a = x'00ff' and b=1e-3 or b= .5))"
        ),
        (
            "CREATE TABLE t (a REFERENCES p)",
            "CREATE TABLE t (a, FOREIGN KEY (a) REFERENCES P ON DELETE NO ACTION MATCH FULL)"
        ),
        (
            "CREATE TABLE p (id INTEGER PRIMARY KEY); CREATE TABLE t (a REFERENCES p)",
            "CREATE TABLE p (id INTEGER PRIMARY KEY); CREATE TABLE t (a REFERENCES p (id))"
        ),
        (
            "CREATE TABLE t (a REFERENCES p DEFERRABLE INITIALLY IMMEDIATE)",
            "CREATE TABLE t (a REFERENCES p NOT DEFERRABLE)"
        ),
        (
            "CREATE TABLE t (a REFERENCES p DEFERRABLE INITIALLY DEFERRED)",
            """
            CREATE TABLE t (a CONSTRAINT f REFERENCES p CONSTRAINT g UNIQUE, \
            FOREIGN KEY (a) REFERENCES p DEFERRABLE INITIALLY DEFERRED); DROP TABLE t;
            CREATE TABLE t (a, FOREIGN KEY (a) REFERENCES p DEFERRABLE INITIALLY DEFERRED)
            """
        ),
        ("CREATE TABLE t (a DEFAULT 'x')", "CREATE TABLE t (a DEFAULT ( 'x' ))"),
        ("CREATE TABLE t (a DEFAULT 'x y')", "CREATE TABLE t (a DEFAULT (('x y')))"),
        ("CREATE TABLE t (a DEFAULT x)", "CREATE TABLE t (a DEFAULT 'x')"),
        ("CREATE TABLE t (a DEFAULT NULL)", "CREATE TABLE t (a)"),
        ("CREATE TABLE t (a VARCHAR(20))", "CREATE TABLE t (a varchar ( 20 ))"),
        (
            "CREATE TABLE t (a, b AS (a || 'X'))",
            "CREATE TABLE t (a, b GENERATED ALWAYS AS (A||'X') VIRTUAL)"
        ),
        (
            "CREATE TABLE t (a PRIMARY KEY) WITHOUT ROWID, STRICT".replacing(
                "a P",
                with: "a INT P"
            ),
            "CREATE TABLE t (a INT NOT NULL, PRIMARY KEY (a)) STRICT, WITHOUT ROWID"
        ),
        (
            "CREATE TABLE t (a COLLATE NOCASE, b); CREATE INDEX i ON t (a, b DESC) WHERE b > 1",
            """
            CREATE TABLE t (a COLLATE nocase, b);
            CREATE INDEX IF NOT EXISTS main.I ON T ("a" COLLATE NOCASE ASC, (b) DESC) WHERE (b>1)
            """
        ),
        (
            "CREATE TABLE t (a); CREATE INDEX i ON t (lower(a), a + 1)",
            "CREATE TABLE t (a); CREATE INDEX i ON t (LOWER( [a] ), (a+1))"
        ),
        (
            "CREATE TABLE t (a, b); CREATE TRIGGER r UPDATE OF a, b ON t BEGIN SELECT 1; END",
            """
            CREATE TABLE t (a, b);
            CREATE TRIGGER R BEFORE UPDATE OF B, "A" ON main.t FOR EACH ROW BEGIN SELECT 1 ; END
            """.replacing("main.", with: "")
        ),
        (
            "CREATE TABLE t (a); CREATE VIEW v AS SELECT a AS \"Is\" FROM t WHERE a = 'X'",
            "CREATE TABLE t (a); CREATE VIEW V as select \"a\" AS \"Is\" from [t] WHERE a=='X'"
        ),
        (
            "CREATE VIRTUAL TABLE f USING fts5(body, tokenize = 'porter')",
            "CREATE VIRTUAL TABLE f USING FTS5 (\"body\",tokenize='porter')"
        ),
        ("CREATE TABLE \"Ö\" (a)", "CREATE TABLE Ö (A)"),
        // What ALTER TABLE leads to.
        (
            "CREATE TABLE t (a PRIMARY KEY); ALTER TABLE t ADD COLUMN b TEXT NOT NULL DEFAULT 'x'",
            "CREATE TABLE t (a PRIMARY KEY, b TEXT NOT NULL DEFAULT 'x')"
        ),
        (
            "CREATE TABLE t (a, CHECK (a > 0)); ALTER TABLE t ADD COLUMN b CHECK (b > 1)",
            "CREATE TABLE t (a, b CHECK (b > 1), CHECK (a > 0))"
        ),
        (
            "CREATE TABLE t (a, CHECK (a > 0)); ALTER TABLE t ADD COLUMN b REFERENCES t",
            "CREATE TABLE t (a CHECK (a > 0), b, FOREIGN KEY (b) REFERENCES t)"
        ),
        (
            "CREATE TABLE t (a, b, CHECK (b > 0)); ALTER TABLE t DROP COLUMN a",
            "CREATE TABLE t (b, CHECK (b > 0))"
        ),
        (
            """
            CREATE TABLE old (a REFERENCES old (b), b UNIQUE, CHECK (old.a > b));
            CREATE INDEX i ON old (a) WHERE b > 1;
            CREATE VIEW v AS SELECT b, old.a FROM old;
            CREATE TRIGGER r AFTER UPDATE OF b ON old BEGIN DELETE FROM old WHERE b = new.b; END;
            ALTER TABLE old RENAME TO "new one"; ALTER TABLE "new one" RENAME COLUMN b TO c
            """,
            """
            CREATE TABLE "new one" (a REFERENCES "new one" (c), c UNIQUE, CHECK ("new one".a > c));
            CREATE INDEX i ON "new one" (a) WHERE c > 1;
            CREATE VIEW v AS SELECT c, "new one".a FROM "new one";
            CREATE TRIGGER r AFTER UPDATE OF c ON "new one"
            BEGIN DELETE FROM "new one" WHERE c = new.c; END
            """
        ),
    ]

    @Test(arguments: same)
    func spellingIsNoDifference(one: String, other: String) throws {
        let (one, other) = (try DatabaseSchema(sql: one), try DatabaseSchema(sql: other))
        #expect(try SchemaDifference(from: one, to: other).changes.map(\.description) == [])
        #expect(try SchemaDifference(from: other, to: one).isEmpty)
    }

    // MARK: - Differences

    static let different: [(String, String, [String])] = [
        (
            "CREATE TABLE t (a TEXT)", "CREATE TABLE t (a TEXT NOT NULL DEFAULT 'x')",
            ["column t.a: TEXT -> TEXT NOT NULL DEFAULT 'x'"]
        ),
        (
            "CREATE TABLE t (a TEXT)", "CREATE TABLE t (a TEXT COLLATE NOCASE)",
            ["column t.a: TEXT -> TEXT COLLATE NOCASE"]
        ),
        ("CREATE TABLE t (a TEXT)", "CREATE TABLE t (a)", ["column t.a: TEXT -> no type"]),
        (
            "CREATE TABLE t (a VARCHAR(20))", "CREATE TABLE t (a VARCHAR(30))",
            ["column t.a: VARCHAR(20) -> VARCHAR(30)"]
        ),
        (
            "CREATE TABLE t (a NOT NULL)", "CREATE TABLE t (a NOT NULL ON CONFLICT IGNORE)",
            ["column t.a: NOT NULL -> NOT NULL ON CONFLICT IGNORE"]
        ),
        (
            "CREATE TABLE t (a DEFAULT 'x')", "CREATE TABLE t (a DEFAULT 'X')",
            ["column t.a: DEFAULT 'x' -> DEFAULT 'X'"]
        ),
        (
            "CREATE TABLE t (a DEFAULT abc)", "CREATE TABLE t (a DEFAULT ABC)",
            ["column t.a: DEFAULT abc -> DEFAULT ABC"]
        ),
        (
            "CREATE TABLE t (a DEFAULT true)", "CREATE TABLE t (a DEFAULT 'true')",
            ["column t.a: DEFAULT true -> DEFAULT 'true'"]
        ),
        (
            "CREATE TABLE t (a DEFAULT (1 + 1))", "CREATE TABLE t (a DEFAULT -1)",
            ["column t.a: DEFAULT (1 + 1) -> DEFAULT -1"]
        ),
        (
            "CREATE TABLE t (a, b AS (a || 'x'))", "CREATE TABLE t (a, b AS (a || 'X') STORED)",
            ["column t.b: AS (a || 'x') VIRTUAL -> AS (a || 'X') STORED"]
        ),
        (
            "CREATE TABLE t (a)", "CREATE TABLE t (a, b INT)", ["column t.b: added, INT"]
        ),
        (
            "CREATE TABLE t (a, b INT)", "CREATE TABLE t (a)", ["column t.b: dropped"]
        ),
        (
            "CREATE TABLE t (a, b)", "CREATE TABLE t (b, a)",
            ["table t, order of columns: a, b -> b, a"]
        ),
        (
            "CREATE TABLE t (a, b)", "CREATE TABLE t (a, c INT, b)",
            ["column t.c: added, INT", "table t, order of columns: a, b -> a, c, b"]
        ),
        (
            "CREATE TABLE t (a INTEGER PRIMARY KEY)", "CREATE TABLE t (a INTEGER PRIMARY KEY DESC)",
            ["table t, PRIMARY KEY: PRIMARY KEY (a), the rowid -> PRIMARY KEY (a DESC)"]
        ),
        (
            "CREATE TABLE t (a INTEGER PRIMARY KEY)", "CREATE TABLE t (a INT PRIMARY KEY)",
            [
                "column t.a: INTEGER -> INT",
                "table t, PRIMARY KEY: PRIMARY KEY (a), the rowid -> PRIMARY KEY (a)",
            ]
        ),
        (
            "CREATE TABLE t (a, b, PRIMARY KEY (a, b))",
            "CREATE TABLE t (a, b, PRIMARY KEY (b, a))",
            ["table t, PRIMARY KEY: PRIMARY KEY (a, b) -> PRIMARY KEY (b, a)"]
        ),
        (
            "CREATE TABLE t (a PRIMARY KEY)",
            "CREATE TABLE t (a, PRIMARY KEY (a COLLATE RTRIM) ON CONFLICT REPLACE)",
            [
                "table t, PRIMARY KEY: PRIMARY KEY (a) "
                    + "-> PRIMARY KEY (a COLLATE RTRIM) ON CONFLICT REPLACE"
            ]
        ),
        (
            "CREATE TABLE t (a INTEGER PRIMARY KEY)",
            "CREATE TABLE t (a INTEGER PRIMARY KEY ON CONFLICT IGNORE AUTOINCREMENT)",
            [
                "table t, PRIMARY KEY: PRIMARY KEY (a), the rowid "
                    + "-> PRIMARY KEY (a) ON CONFLICT IGNORE, the rowid",
                "table t, AUTOINCREMENT: added",
            ]
        ),
        (
            "CREATE TABLE t (a UNIQUE)", "CREATE TABLE t (a UNIQUE ON CONFLICT IGNORE)",
            ["table t, UNIQUE (a) ON CONFLICT IGNORE: UNIQUE (a) -> UNIQUE (a) ON CONFLICT IGNORE"]
        ),
        (
            "CREATE TABLE t (a, b UNIQUE)", "CREATE TABLE t (a, b, UNIQUE (a, b))",
            ["table t, UNIQUE (b): dropped", "table t, UNIQUE (a, b): added"]
        ),
        (
            "CREATE TABLE t (a CHECK (a > 0))", "CREATE TABLE t (a CHECK (a > 1))",
            ["table t, CHECK (a > 0): dropped", "table t, CHECK (a > 1): added"]
        ),
        (
            "CREATE TABLE t (a CHECK (a = 'x'))", "CREATE TABLE t (a CHECK (a = 'X'))",
            ["table t, CHECK (a = 'x'): dropped", "table t, CHECK (a = 'X'): added"]
        ),
        (
            "CREATE TABLE t (a, b, CHECK (a = \"null\"))".replacing("b,", with: "\"null\","),
            "CREATE TABLE t (a, b, CHECK (a = null))".replacing("b,", with: "\"null\","),
            ["table t, CHECK (a = \"null\"): dropped", "table t, CHECK (a = null): added"]
        ),
        (
            "CREATE TABLE t (a CHECK (a > 0))", "CREATE TABLE t (a CONSTRAINT big CHECK (a > 0))",
            [
                "table t, CONSTRAINT big CHECK (a > 0): "
                    + "CHECK (a > 0) -> CONSTRAINT big CHECK (a > 0)"
            ]
        ),
        (
            "CREATE TABLE t (a REFERENCES p)",
            "CREATE TABLE t (a REFERENCES p DEFERRABLE INITIALLY DEFERRED)",
            [
                "table t, FOREIGN KEY (a) REFERENCES p DEFERRABLE INITIALLY DEFERRED: "
                    + "FOREIGN KEY (a) REFERENCES p "
                    + "-> FOREIGN KEY (a) REFERENCES p DEFERRABLE INITIALLY DEFERRED"
            ]
        ),
        (
            "CREATE TABLE t (a REFERENCES p)",
            "CREATE TABLE t (a REFERENCES p ON DELETE CASCADE ON UPDATE SET NULL)",
            [
                "table t, FOREIGN KEY (a) REFERENCES p ON UPDATE SET NULL ON DELETE CASCADE: "
                    + "FOREIGN KEY (a) REFERENCES p "
                    + "-> FOREIGN KEY (a) REFERENCES p ON UPDATE SET NULL ON DELETE CASCADE"
            ]
        ),
        (
            "CREATE TABLE t (a INT PRIMARY KEY)", "CREATE TABLE t (a INT PRIMARY KEY) STRICT",
            ["column t.a: INT -> INT NOT NULL", "table t, STRICT: added"]
        ),
        (
            "CREATE TABLE t (a NOT NULL PRIMARY KEY)",
            "CREATE TABLE t (a NOT NULL PRIMARY KEY) WITHOUT ROWID",
            ["table t, WITHOUT ROWID: added"]
        ),
        (
            "CREATE TABLE t (a); CREATE INDEX i ON t (a)",
            "CREATE TABLE t (a); CREATE INDEX i ON t (a DESC)",
            ["index i on t: CREATE INDEX i ON t (a) -> CREATE INDEX i ON t (a DESC)"]
        ),
        (
            "CREATE TABLE t (a); CREATE INDEX i ON t (a)",
            "CREATE TABLE t (a); CREATE UNIQUE INDEX i ON t (a COLLATE NOCASE) WHERE a = 'A'",
            [
                "index i on t: CREATE INDEX i ON t (a) "
                    + "-> CREATE UNIQUE INDEX i ON t (a COLLATE NOCASE) WHERE a = 'A'"
            ]
        ),
        (
            "CREATE TABLE t (a); CREATE INDEX i ON t (a || 'x')",
            "CREATE TABLE t (a); CREATE INDEX j ON t (a || 'X')",
            ["index i on t: dropped", "index j on t: added"]
        ),
        // The index follows its column's collation.
        (
            "CREATE TABLE t (a); CREATE INDEX i ON t (a)",
            "CREATE TABLE t (a COLLATE NOCASE); CREATE INDEX i ON t (a)",
            [
                "column t.a: no type -> COLLATE NOCASE",
                "index i on t: CREATE INDEX i ON t (a) -> CREATE INDEX i ON t (a)",
            ]
        ),
        (
            "CREATE TABLE t (a); CREATE TRIGGER r AFTER DELETE ON t BEGIN SELECT 'x'; END",
            "CREATE TABLE t (a); CREATE TRIGGER r AFTER DELETE ON t BEGIN SELECT 'X'; END",
            ["trigger r on t: changed"]
        ),
        (
            "CREATE TABLE t (a, b); CREATE TRIGGER r UPDATE OF a ON t BEGIN SELECT 1; END",
            "CREATE TABLE t (a, b); CREATE TRIGGER r UPDATE OF b ON t BEGIN SELECT 1; END",
            ["trigger r on t: changed"]
        ),
        (
            "CREATE VIEW v AS SELECT 1 AS one", "CREATE VIEW v AS SELECT 2 AS one",
            ["view v: changed"]
        ),
        (
            "CREATE VIRTUAL TABLE f USING fts5(a)",
            "CREATE VIRTUAL TABLE f USING fts5(a, prefix=2)",
            ["table f, module: fts5(a) -> fts5(a , prefix = 2)"]
        ),
        (
            "CREATE TABLE gone (a); CREATE INDEX g ON gone (a)", "CREATE VIEW new AS SELECT 1",
            ["table gone: dropped", "index g on gone: dropped", "view new: added"]
        ),
        (
            "CREATE TABLE t (a)", "CREATE VIEW t AS SELECT 1 AS a",
            ["table t: dropped", "view t: added"]
        ),
        (
            "CREATE TABLE \"Ö\" (a)", "CREATE TABLE \"ö\" (a)",
            ["table Ö: dropped", "table ö: added"]
        ),
    ]

    @Test(arguments: different)
    func everyDifferenceIsFound(one: String, other: String, changes: [String]) throws {
        let (one, other) = (try DatabaseSchema(sql: one), try DatabaseSchema(sql: other))
        #expect(try SchemaDifference(from: one, to: other).changes.map(\.description) == changes)
        #expect(try !SchemaDifference(from: other, to: one).isEmpty)
    }

    @Test func stringsInDoubleQuotesAreCompared() throws {
        func schema(_ value: String) throws -> DatabaseSchema {
            var configuration = Configuration()
            configuration.acceptsDoubleQuotedStringLiterals = true
            return try DatabaseSchema(
                sql: """
                    CREATE TABLE t ("a" CHECK ("a" <> "\(value)"));
                    CREATE TRIGGER r AFTER DELETE ON "t" BEGIN SELECT "\(value)"; END;
                    CREATE VIEW v AS SELECT "a" FROM t WHERE "a" = "\(value)";
                    """,
                configuration: configuration
            )
        }
        let difference = try SchemaDifference(from: schema("Done"), to: schema("done"))
        #expect(difference.changes.map(\.kind) == [.check, .check, .trigger, .view])
        #expect(try SchemaDifference(from: schema("A"), to: schema("a")).isEmpty)
    }
}
