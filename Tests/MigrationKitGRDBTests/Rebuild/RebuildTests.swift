import GRDB
import MigrationKit
import MigrationKitSchema
import TestSupport
import Testing

/// `db.rebuild`: what it keeps, and what it changes.
@Suite struct RebuildTests {
    let queue: DatabaseQueue

    init() throws {
        var configuration = Configuration()
        configuration.foreignKeysEnabled = false
        queue = try DatabaseQueue(configuration: configuration)
    }

    /// Notes with a child, an index of each kind, triggers and views.
    static let notes = """
        CREATE TABLE notes (id INTEGER PRIMARY KEY AUTOINCREMENT, text TEXT COLLATE NOCASE, stars);
        CREATE TABLE tag (id INTEGER PRIMARY KEY, note INTEGER REFERENCES notes(id) ON DELETE CASCADE);
        CREATE TABLE log (what);
        CREATE INDEX notes_text ON notes (text DESC, stars) WHERE stars > 0;
        CREATE UNIQUE INDEX notes_lower ON notes (lower(text));
        CREATE VIEW starred AS SELECT id, text FROM notes WHERE stars > 0;
        CREATE TRIGGER notes_ai AFTER INSERT ON notes BEGIN INSERT INTO log VALUES (new.text); END;
        CREATE TRIGGER tag_ad AFTER DELETE ON tag BEGIN UPDATE notes SET stars = 0 WHERE id = old.note; END;
        INSERT INTO notes (text, stars) VALUES ('a', 1), ('B', 2), ('c', NULL);
        DELETE FROM notes WHERE id = 3;
        INSERT INTO tag (note) VALUES (1), (2), (2);
        """

    @Test func definitionOfGRDBChangesTheTable() throws {
        try queue.write { db in
            try db.execute(sql: Self.notes)
            try db.rebuild(
                "notes",
                columns: ["body": "text", "stars": "ifnull(stars, 0)"],
                dropping: []
            ) { table in
                table.autoIncrementedPrimaryKey("id")
                table.column("body", .text).collate(.nocase).notNull()
                table.column("stars", .integer).notNull().defaults(to: 0).indexed()
            }
        }
        #expect(try queue.strings("SELECT body || stars FROM notes ORDER BY id") == ["a1", "B2"])
        #expect(try queue.number("SELECT count(*) FROM tag") == 3)
        #expect(try queue.number("SELECT seq FROM sqlite_sequence WHERE name = 'notes'") == 3)
        #expect(
            try queue.strings("SELECT name FROM sqlite_schema WHERE type = 'index' ORDER BY 1")
                == ["notes_lower", "notes_on_stars", "notes_text"]
        )
        #expect(try queue.strings("SELECT body FROM starred ORDER BY 1") == ["a", "B"])
        try queue.write { try $0.execute(sql: "INSERT INTO notes (body, stars) VALUES ('d', 9)") }
        #expect(try queue.strings("SELECT what FROM log") == ["a", "B", "c", "d"])
        #expect(try queue.number("SELECT max(id) FROM notes") == 4)
    }

    @Test func unchangedDefinitionChangesNothing() throws {
        try queue.write { try $0.execute(sql: Self.notes + "ANALYZE;") }
        let before = try Everything(of: queue)
        try queue.write { db in
            let rebuild = try TableRebuild(of: "Notes", in: db)
            #expect(rebuild.table == "notes")
            #expect(rebuild.statements[0].hasPrefix("CREATE TABLE \"new_notes\""))
            try db.execute(sql: rebuild.statements.joined(separator: ";\n"))
        }
        let after = try Everything(of: queue)
        // ALTER TABLE puts the name into quotes.
        #expect(
            after.schema
                == before.schema.map {
                    $0.replacing("CREATE TABLE notes (", with: "CREATE TABLE \"notes\" (")
                }
        )
        // The statistics are the same rows.
        func rows(_ everything: Everything) -> [String: Set<[DatabaseValue]>] {
            everything.rows.mapValues { Set($0) }
        }
        #expect(rows(after) == rows(before))
    }

    @Test func typeChangeThatLosesNothingNeedsNoExpression() throws {
        try queue.write { db in
            try db.execute(
                sql:
                    "CREATE TABLE t (a TEXT, b INTEGER); INSERT INTO t VALUES ('5', 7), ('x', NULL)"
            )
            try db.rebuild("t", as: "CREATE TABLE t (a INTEGER, b TEXT)")
        }
        #expect(
            try queue.strings("SELECT typeof(a) || typeof(b) FROM t") == [
                "integertext", "textnull",
            ]
        )
    }

    @Test func rowidOfATableWithoutAKeyStays() throws {
        try queue.write { db in
            try db.execute(
                sql: """
                    CREATE TABLE t (a); INSERT INTO t (rowid, a) VALUES (7, 'x'), (70, 'y');
                    CREATE VIRTUAL TABLE f USING fts5(a, content='t');
                    INSERT INTO f (f) VALUES ('rebuild');
                    """
            )
            try db.rebuild("t", as: "CREATE TABLE t (a TEXT, b)")
        }
        #expect(try queue.strings("SELECT a FROM f WHERE f MATCH 'y'") == ["y"])
        #expect(try queue.number("SELECT min(rowid) FROM t") == 7)
    }

    /// A foreign key to a missing table would follow a new table of that name.
    @Test func temporaryNameIsInNoOtherStatement() throws {
        try queue.write { db in
            try db.execute(
                sql: """
                    CREATE TABLE t (a); CREATE TABLE u (b REFERENCES new_t(a));
                    CREATE TABLE "v" (c DEFAULT 'new2_t');
                    """
            )
            try db.rebuild("t", as: "CREATE TABLE t (a, b)")
        }
        #expect(
            try queue.strings("SELECT sql FROM sqlite_schema WHERE name = 'u'")
                == ["CREATE TABLE u (b REFERENCES new_t(a))"]
        )
    }

    /// Each of them would keep SQLite from renaming any table.
    @Test func brokenViewsAndTriggersStayAsTheyAre() throws {
        try queue.write { db in
            try db.execute(
                sql: """
                    CREATE TABLE t (a); CREATE TABLE u (b);
                    CREATE VIEW broken AS SELECT * FROM missing;
                    CREATE TRIGGER b AFTER INSERT ON u BEGIN INSERT INTO missing VALUES (1); END;
                    CREATE TRIGGER c AFTER INSERT ON u BEGIN SELECT 1; END;
                    """
            )
        }
        let before = try queue.strings(
            "SELECT sql FROM sqlite_schema WHERE type IN ('view', 'trigger')"
        )
        try queue.write { try $0.rebuild("t", as: "CREATE TABLE t (a, b)") }
        let after = try queue.strings(
            "SELECT sql FROM sqlite_schema WHERE type IN ('view', 'trigger')"
        )
        #expect(after == before)
    }

    @Test func strictConnectionsKeepOldStringsInDoubleQuotes() throws {
        var configuration = Configuration()
        configuration.acceptsDoubleQuotedStringLiterals = true
        let folder = try TemporaryFolder()
        let old = try DatabaseQueue(path: folder.path("db"), configuration: configuration)
        try old.write {
            try $0.execute(
                sql: """
                    CREATE TABLE t (a CHECK (a <> "x y"), b DEFAULT "none"); CREATE INDEX i ON t (a) WHERE a = "open";
                    INSERT INTO t (a) VALUES ('open');
                    """
            )
        }
        try old.close()
        let new = try DatabaseQueue(path: folder.path("db"))
        let before = try new.strings("SELECT sql FROM sqlite_schema WHERE name = 'i'")
        try new.writeWithoutTransaction { db in
            let definition = try String.fetchOne(
                db,
                sql: "SELECT sql FROM sqlite_schema WHERE name = 't'"
            )
            #expect(throws: TableRebuildError.self) {
                try db.rebuild(
                    "t",
                    as: (definition ?? "").replacing("a CHECK", with: "a TEXT CHECK")
                )
            }
            let rebuild = try TableRebuild(of: "t", in: db)
            #expect(rebuild.statements.count > 3)
            try db.rebuild("t", as: "CREATE TABLE t (a CHECK (a <> 'x y'), b DEFAULT 'none', c)")
        }
        #expect(try new.strings("SELECT sql FROM sqlite_schema WHERE name = 'i'") == before)
    }

    @Test func legacyAlterTableMakesNoDifference() throws {
        try queue.writeWithoutTransaction { db in
            try db.execute(sql: "PRAGMA legacy_alter_table = ON; " + Self.notes)
            try db.rebuild(
                "notes",
                as:
                    "CREATE TABLE notes (id INTEGER PRIMARY KEY AUTOINCREMENT, text TEXT COLLATE NOCASE, stars, CHECK (notes.stars < 10))"
            )
            #expect(try Bool.fetchOne(db, sql: "PRAGMA legacy_alter_table") == true)
            #expect(throws: DatabaseError.self) {
                try db.execute(sql: "INSERT INTO notes (stars) VALUES (11)")
            }
        }
    }

    // MARK: Foreign keys on

    private func withForeignKeys() throws -> DatabaseQueue {
        let queue = try DatabaseQueue()
        try queue.write { try $0.execute(sql: Self.notes) }
        return queue
    }

    static let withBody =
        "CREATE TABLE notes (id INTEGER PRIMARY KEY AUTOINCREMENT, text TEXT COLLATE NOCASE, stars, body)"

    @Test func parentIsRebuiltOutsideOfATransaction() throws {
        let queue = try withForeignKeys()
        try queue.writeWithoutTransaction { try $0.rebuild("notes", as: Self.withBody) }
        #expect(try queue.number("SELECT count(*) FROM tag") == 3)
        #expect(try queue.number("PRAGMA foreign_keys") == 1)
    }

    /// SQLite would delete the children with the old table.
    /// <https://www.sqlite.org/foreignkeys.html#fk_schemacommands>
    @Test func parentIsRefusedInATransaction() throws {
        let queue = try withForeignKeys()
        let before = try Everything(of: queue)
        #expect(throws: TableRebuildError.foreignKeysAreOn(table: "notes", children: ["tag"])) {
            try queue.write { try $0.rebuild("notes", as: Self.withBody) }
        }
        #expect(try Everything(of: queue) == before)
        // The child itself is nobody's parent.
        try queue.write {
            try $0.rebuild(
                "tag",
                as: "CREATE TABLE tag (id INTEGER PRIMARY KEY, note REFERENCES notes(id), b)"
            )
        }
        #expect(try queue.number("SELECT count(*) FROM tag") == 3)
    }

    @Test func parentIsRebuiltInAStep() throws {
        let store = try EncryptedStore()
        let writer = try store.open()
        let steps = [
            MigrationStep<Database>(
                identifier: "1",
                sourceFile: "",
                apply: { try $0.execute(sql: Self.notes) }
            ),
            MigrationStep(
                identifier: "2",
                sourceFile: "",
                apply: { try $0.rebuild("notes", as: Self.withBody) },
                rollback: { db in
                    try db.rebuild("notes", dropping: [.column("body")]) { table in
                        table.autoIncrementedPrimaryKey("id")
                        table.column("text", .text).collate(.nocase)
                        table.column("stars")
                    }
                }
            ),
        ]
        let runner = try GRDBMigrationRunner(steps: steps)
        try runner.migrate(in: writer)
        #expect(try writer.number("SELECT count(*) FROM tag") == 3)
        try runner.rollbackLastMigration(in: writer)
        #expect(try writer.number("SELECT count(*) FROM tag") == 3)
        #expect(try writer.number("SELECT seq FROM sqlite_sequence WHERE name = 'notes'") == 3)
        try writer.write { try $0.execute(sql: "DELETE FROM notes WHERE id = 2") }
        #expect(try writer.number("SELECT count(*) FROM tag") == 1)
    }
}
