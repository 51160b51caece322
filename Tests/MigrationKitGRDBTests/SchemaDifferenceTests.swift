import Foundation
import GRDB
import MigrationKitCommon
import Testing

@testable import MigrationKitSchema

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

    // MARK: - Renames

    private static let notes = """
        CREATE TABLE notes (id INTEGER PRIMARY KEY, body TEXT NOT NULL, CHECK (notes.body <> ''));
        CREATE TABLE links (note REFERENCES notes (id), text);
        CREATE INDEX by_body ON notes (lower(body));
        CREATE VIEW bodies AS SELECT body FROM notes;
        CREATE TRIGGER link AFTER UPDATE OF body ON notes
        BEGIN INSERT INTO links SELECT id, new.body FROM notes; END;
        """
    private static let entries = """
        CREATE TABLE entries (id INTEGER PRIMARY KEY, text TEXT NOT NULL, CHECK (entries.text <> ''));
        CREATE TABLE links (note REFERENCES entries (id), text);
        CREATE INDEX by_body ON entries (lower(text));
        CREATE VIEW bodies AS SELECT text FROM entries;
        CREATE TRIGGER link AFTER UPDATE OF text ON entries
        BEGIN INSERT INTO links SELECT id, new.text FROM entries; END;
        """
    private static let renames = [
        SchemaRename(table: "NOTES", newName: "Entries"),
        SchemaRename(table: "notes", column: "Body", newName: "text"),
    ]

    @Test func aRenameIsFollowedByAllThatNamesIt() throws {
        let from = try DatabaseSchema(sql: Self.notes)
        let to = try DatabaseSchema(sql: Self.entries)
        let difference = try SchemaDifference(from: from, to: to, renames: Self.renames)
        #expect(
            difference.changes.map(\.description)
                == ["table entries: renamed from notes", "column entries.text: renamed from body"]
        )
        #expect(try SchemaDifference(from: from, to: to).changes.count > 4)
    }

    @Test func whatIsRenamedMayChangeToo() throws {
        let from = try DatabaseSchema(sql: Self.notes)
        let to = try DatabaseSchema(
            sql: Self.entries.replacing("text TEXT NOT NULL", with: "text TEXT, n INT")
        )
        let difference = try SchemaDifference(from: from, to: to, renames: Self.renames)
        #expect(
            difference.changes.map(\.description) == [
                "table entries: renamed from notes", "column entries.text: renamed from body",
                "column entries.text: TEXT NOT NULL -> TEXT", "column entries.n: added, INT",
            ]
        )
    }

    @Test func aRenameNeedsNothingThatOnlyTheAppHas() throws {
        let extras = """
            CREATE TABLE own (a COLLATE own_order CHECK (own_check(a)));
            CREATE INDEX own_index ON own (own_key(a));
            CREATE VIEW own_view AS SELECT own_function(TEXT) AS x FROM "NOTES";
            CREATE VIEW broken AS SELECT * FROM missing;
            """
        let from = try DatabaseSchema(
            sql: Self.notes
                + extras.replacing("TEXT", with: "body").replacing("NOTES", with: "notes")
        )
        let to = try DatabaseSchema(
            sql: Self.entries
                + extras.replacing("TEXT", with: "text").replacing("NOTES", with: "entries")
        )
        let difference = try SchemaDifference(from: from, to: to, renames: Self.renames)
        #expect(difference.changes.map(\.action) == [.renamed, .renamed])
    }

    @Test(
        arguments: [
            (
                SchemaRename(table: "gone", newName: "entries"),
                "the present schema has no table gone"
            ),
            (SchemaRename(table: "links", newName: "entries"), "the wanted schema still has links"),
            (SchemaRename(table: "notes", newName: "none"), "the wanted schema has no table none"),
            (
                SchemaRename(table: "notes", newName: "links"),
                "the present schema already has links"
            ),
            (SchemaRename(table: "bodies", newName: "entries"), "bodies is a view"),
            (
                SchemaRename(table: "notes", column: "body", newName: "text"),
                "the wanted schema has no table notes"
            ),
            (
                SchemaRename(table: "links", column: "none", newName: "x"),
                "links has no column none in the present schema"
            ),
            (
                SchemaRename(table: "links", column: "note", newName: "x"),
                "links still has the column note in the wanted schema"
            ),
        ]
    )
    func aRenameOfNothingIsRefused(rename: SchemaRename, reason: String) throws {
        let from = try DatabaseSchema(sql: Self.notes)
        let to = try DatabaseSchema(sql: Self.entries)
        let error = #expect(throws: SchemaDifferenceError.self) {
            try SchemaDifference(from: from, to: to, renames: [rename])
        }
        #expect(error == .unknownRename(rename, reason: reason))
        #expect(error?.code.name == "unknownRename" && error?.code.exitStatus == .usage)
        #expect(error?.errorDescription?.isEmpty == false)
        #expect(error?.recoverySuggestion?.isEmpty == false)
    }

    @Test func twoRenamesOfTheSameAreRefused() throws {
        let from = try DatabaseSchema(sql: "CREATE TABLE a (x, y); CREATE TABLE b (x, y)")
        let to = try DatabaseSchema(sql: "CREATE TABLE c (x, z)")
        for renames in [
            [SchemaRename(table: "a", newName: "c"), SchemaRename(table: "b", newName: "C")],
            [
                SchemaRename(table: "a", newName: "c"),
                SchemaRename(table: "a", column: "y", newName: "z"),
                SchemaRename(table: "A", column: "Y", newName: "z"),
            ],
        ] {
            #expect(throws: SchemaDifferenceError.self) {
                try SchemaDifference(from: from, to: to, renames: renames)
            }
        }
    }

    @Test func whatMayBeRenamedHasTheSameShape() throws {
        let from = try DatabaseSchema(
            sql: """
                CREATE TABLE a (x INT REFERENCES a, y TEXT);
                CREATE TABLE t (x TEXT NOT NULL, y INT, z);
                """
        )
        let to = try DatabaseSchema(
            sql: """
                CREATE TABLE b (X int REFERENCES b, y TEXT);
                CREATE TABLE c (x INT REFERENCES a, y TEXT);
                CREATE TABLE t (w TEXT NOT NULL, y INT, z, v TEXT);
                """
        )
        let difference = try SchemaDifference(from: from, to: to)
        #expect(
            difference.possibleRenames == [
                SchemaRename(table: "a", newName: "b"),
                SchemaRename(table: "t", column: "x", newName: "w"),
            ]
        )
        let again = try SchemaDifference(from: from, to: to, renames: difference.possibleRenames)
        #expect(again.possibleRenames == [])
    }

    // MARK: - Schemas

    @Test func ignoredTablesGoWithAllThatIsTheirs() throws {
        let both = try DatabaseSchema(sql: Self.notes + "CREATE TABLE other (a);")
        let rest = both.ignoring(tables: ["Notes", "LINKS", "bodies", "none"])
        #expect(rest.statements == ["CREATE TABLE other (a)"])
        #expect(
            try SchemaDifference(from: rest, to: DatabaseSchema(sql: "CREATE TABLE other (a)"))
                .isEmpty
        )
    }

    @Test func aSchemaIsReadWithoutWhatOnlyTheAppHas() throws {
        let sql = """
            CREATE TABLE t (a COLLATE own, b AS (own_sum(a, 1)), CHECK (own_check(a)));
            CREATE INDEX i ON t (own_key(a)) WHERE own_check(a);
            """
        let path = NSTemporaryDirectory() + "own-\(UUID().uuidString).db"
        defer { try? FileManager.default.removeItem(atPath: path) }
        var configuration = Configuration()
        configuration.prepareDatabase { db in
            db.add(collation: DatabaseCollation("own") { $0.compare($1) })
            for name in ["own_sum", "own_check", "own_key"] {
                db.add(function: DatabaseFunction(name, pure: true) { $0.first })
            }
        }
        let queue = try DatabaseQueue(path: path, configuration: configuration)
        try queue.write { try $0.execute(sql: sql) }
        try queue.close()
        let live = try DatabaseQueue(path: path).read(DatabaseSchema.init(of:))
        #expect(live.statements.count == 2)
        #expect(try SchemaDifference(from: live, to: DatabaseSchema(sql: sql)).isEmpty)
    }

    @Test func aDumpTouchesNoFile() throws {
        let path = NSTemporaryDirectory() + "dump-\(UUID().uuidString).db"
        for statement in [
            "ATTACH '\(path)' AS other", "VACUUM INTO '\(path)'", "PRAGMA cipher_log = '\(path)'",
            "PRAGMA main . \"cipher_log\" = '\(path)'",
        ] {
            #expect(throws: DatabaseError.self) { try DatabaseSchema(sql: statement) }
        }
        #expect(!FileManager.default.fileExists(atPath: path))
    }

    /// SQLite reads one statement of a row of `sqlite_schema`, and nothing behind it.
    @Test func whatStandsBehindAStatementInTheSchemaIsNotRun() throws {
        let queue = try DatabaseQueue(
            sql: """
                CREATE TABLE t (a, b); CREATE VIEW v AS SELECT ';' AS a;
                CREATE TRIGGER r AFTER INSERT ON t BEGIN SELECT CASE 1 WHEN 1 THEN 2 END; END;
                """
        )
        let before = try queue.read { try DatabaseSchema(of: $0).statements }
        try queue.writeWithoutTransaction { db in
            try db.execute(
                sql: """
                    PRAGMA writable_schema = ON;
                    UPDATE sqlite_schema SET sql = sql || ' ; -- ;' || char(10) || 'DROP TABLE t; .shell';
                    PRAGMA writable_schema = RESET
                    """
            )
        }
        let schema = try queue.read { try DatabaseSchema(of: $0) }
        #expect(schema.statements == before)
        let difference = try SchemaDifference(
            from: DatabaseSchema(sql: "CREATE TABLE u (a)"),
            to: schema
        )
        let migration = try SchemaMigration(difference)
        #expect(!migration.up.contains { $0.contains("DROP TABLE t") })
        try queue.write { db in
            #expect(throws: DatabaseError.self) {
                try db.run(statement: "CREATE TABLE one (a); CREATE TABLE two (a)")
            }
            let one = try Int.fetchOne(
                db,
                sql: "SELECT count(*) FROM sqlite_schema WHERE name = 'one'"
            )
            #expect(one == 0)
        }
    }

    @Test func twoHundredTablesAreComparedAtOnce() throws {
        let sql = (0..<200).map { number in
            """
            CREATE TABLE t\(number) (id INTEGER PRIMARY KEY, a TEXT NOT NULL DEFAULT 'x',
              b REFERENCES t\(number / 2) (id) ON DELETE CASCADE, c COLLATE NOCASE, d CHECK (d > 0));
            CREATE INDEX i\(number) ON t\(number) (a, b DESC);
            CREATE TRIGGER r\(number) AFTER INSERT ON t\(number)
            BEGIN UPDATE t\(number) SET a = 'y' WHERE id = new.id; END;
            """
        }.joined(separator: "\n")
        let begin = ContinuousClock.now
        let one = try DatabaseSchema(sql: sql)
        let reading = ContinuousClock.now - begin
        let other = try DatabaseSchema(sql: sql.replacing("d > 0", with: "d > 1"))
        let renames = [SchemaRename(table: "t7", newName: "t700")]
        let renamed = try DatabaseSchema(sql: sql.replacing(/\bt7\b/, with: "t700"))
        let start = ContinuousClock.now
        let changes = try SchemaDifference(from: one, to: other).changes
        let time = ContinuousClock.now - start
        #expect(changes.count == 400)
        #expect(
            try SchemaDifference(from: one, to: renamed, renames: renames).changes.count == 1
        )
        // A tenth of it when nothing else runs.
        #expect(time < .seconds(2))
        print("200 tables are created and read in", reading, "and compared in", time)
    }
}
