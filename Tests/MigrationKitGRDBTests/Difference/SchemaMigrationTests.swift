import Foundation
import GRDB
import MigrationKit
import MigrationKitSchema
import Testing

@Suite struct SchemaMigrationTests {
    /// A change of a schema, and how it is made.
    struct Case: CustomTestStringConvertible, Sendable {
        let name: String
        let from: String
        let to: String
        var rows = ""
        var renames: [SchemaRename] = []
        var backfills: [String: String] = [:]
        /// What the statements begin with; `nil` for a rebuild of one table.
        var up: [String]?
        var hazards: Set<SchemaHazard.Kind> = []
        /// Queries, with the values that they must return after the migration.
        var values: [String: String] = [:]
        /// Queries, with the values that they must return after the way back.
        var valuesBack: [String: String] = [:]
        var notBroughtBack: [String] = []
        /// The number of rows that hazards concern.
        var counts: [SchemaHazard.Kind: Int] = [:]

        var testDescription: String { name }
    }

    @Test(arguments: cases) func everyChangeIsReachedAndTakenBack(_ change: Case) throws {
        let from = try DatabaseSchema(sql: change.from)
        let to = try DatabaseSchema(sql: change.to)
        let difference = try SchemaDifference(from: from, to: to, renames: change.renames)
        let migration = try SchemaMigration(difference, backfills: change.backfills)
        if let up = change.up {
            #expect(migration.up.count == up.count, "\(migration.up)")
            for (statement, start) in zip(migration.up, up) {
                #expect(statement.hasPrefix(start), "\(migration.up)")
            }
        } else {
            #expect(migration.hazards.contains { $0.kind == .rewritesTable })
        }
        let expected = change.hazards.union(change.up == nil ? [.rewritesTable] : [])
        #expect(Set(migration.hazards.map(\.kind)) == expected)
        #expect(migration.notBroughtBack == change.notBroughtBack)

        let queue = try DatabaseQueue(sql: change.from + ";" + change.rows)
        for (kind, count) in change.counts {
            let hazard = try #require(migration.hazards.first { $0.kind == kind })
            let query = try #require(hazard.countQuery)
            #expect(try queue.read { try Int.fetchOne($0, sql: query) } == count, "\(query)")
        }
        for direction in [migration.up, migration.down, migration.up] {
            try queue.run(direction)
            let schema = try queue.read { try DatabaseSchema(of: $0) }
            let isUp = direction == migration.up
            #expect(try schema.leads(to: isUp ? to : from))
            for (query, value) in isUp ? change.values : change.valuesBack {
                let actual = try queue.read { try String.fetchOne($0, sql: query) }
                #expect(actual == value, "\(query)")
            }
        }
        let back = try queue.read { try DatabaseSchema(of: $0) }
        #expect(try back.leads(to: to))
    }

    private static let notes = "CREATE TABLE notes (id INTEGER PRIMARY KEY, body TEXT)"
    private static let twoNotes = "INSERT INTO notes (id, body) VALUES (1, 'one'), (5, 'three')"
    private static let sum = "SELECT group_concat(id || body, ',') FROM notes"

    static let cases: [Case] = [
        Case(name: "nothing", from: notes, to: notes, up: []),
        Case(
            name: "spelling",
            from: notes,
            to: "CREATE TABLE \"notes\"(id integer primary key, -- the key\n [body] text)",
            up: []
        ),
        Case(
            name: "new tables, the parent first",
            from: notes,
            to: notes + """
                ;CREATE TABLE a (id INTEGER PRIMARY KEY, z REFERENCES z(id))
                ;CREATE TABLE z (id INTEGER PRIMARY KEY)
                """,
            up: ["CREATE TABLE z", "CREATE TABLE a"]
        ),
        Case(
            name: "tables that refer to each other",
            from: "",
            to: """
                CREATE TABLE a (id INTEGER PRIMARY KEY, b REFERENCES b(id))
                ;CREATE TABLE b (id INTEGER PRIMARY KEY, a REFERENCES a(id))
                """,
            up: ["CREATE TABLE b", "CREATE TABLE a"]
        ),
        Case(
            name: "a dropped table, with its index and trigger",
            from: notes + """
                ;CREATE TABLE old (a); CREATE INDEX old_a ON old (a)
                ;CREATE TRIGGER old_t AFTER INSERT ON old BEGIN SELECT 1; END
                """,
            to: notes,
            rows: "INSERT INTO old VALUES (1), (2), (3)",
            up: ["DROP TABLE \"old\""],
            hazards: [.dropTable],
            notBroughtBack: ["the rows of old"],
            counts: [.dropTable: 3]
        ),
        Case(
            name: "an added column",
            from: notes,
            to: "CREATE TABLE notes (id INTEGER PRIMARY KEY, body TEXT, stars INTEGER NOT NULL "
                + "DEFAULT 0 CHECK (stars BETWEEN 0 AND 5))",
            rows: twoNotes,
            up: [
                "ALTER TABLE \"notes\" ADD COLUMN stars INTEGER NOT NULL DEFAULT 0 "
                    + "CHECK (stars BETWEEN 0 AND 5)"
            ],
            values: [sum: "1one,5three", "SELECT sum(stars) FROM notes": "0"],
            valuesBack: [sum: "1one,5three"]
        ),
        Case(
            name: "an added column whose default isn't constant",
            from: notes,
            to: "CREATE TABLE notes (id INTEGER PRIMARY KEY, body TEXT, "
                + "made TEXT DEFAULT CURRENT_TIMESTAMP)",
            rows: twoNotes,
            values: [sum: "1one,5three"]
        ),
        Case(
            name: "an added column in the middle",
            from: notes,
            to: "CREATE TABLE notes (id INTEGER PRIMARY KEY, stars INTEGER, body TEXT)",
            rows: twoNotes,
            values: [sum: "1one,5three"],
            valuesBack: [sum: "1one,5three"]
        ),
        Case(
            name: "an added column with a backfill",
            from: notes,
            to: "CREATE TABLE notes (id INTEGER PRIMARY KEY, body TEXT, n INTEGER)",
            rows: twoNotes,
            backfills: ["notes.n": "length(body)"],
            up: [
                "ALTER TABLE \"notes\" ADD COLUMN n INTEGER",
                "UPDATE OR ABORT \"notes\" SET \"n\" = (length(body))",
            ],
            values: ["SELECT group_concat(n) FROM notes": "3,5"]
        ),
        Case(
            name: "a required column with a backfill that names a renamed column",
            from: notes,
            to: "CREATE TABLE items (id INTEGER PRIMARY KEY, text TEXT, n INTEGER NOT NULL)",
            rows: twoNotes,
            renames: [
                SchemaRename(table: "notes", newName: "items"),
                SchemaRename(table: "notes", column: "body", newName: "text"),
            ],
            backfills: ["items.n": "(SELECT length(notes.body))"],
            hazards: [.mayViolateNotNull],
            values: ["SELECT group_concat(text || n) FROM items": "one3,three5"],
            valuesBack: [sum: "1one,5three"],
            counts: [.mayViolateNotNull: 0]
        ),
        Case(
            name: "a backfill that a trigger would see",
            from: notes + """
                ;CREATE TABLE log (what)
                ;CREATE TRIGGER t AFTER UPDATE ON notes BEGIN INSERT INTO log VALUES ('x'); END
                """,
            to: """
                CREATE TABLE notes (id INTEGER PRIMARY KEY, body TEXT, n INTEGER)
                ;CREATE TABLE log (what)
                ;CREATE TRIGGER t AFTER UPDATE ON notes BEGIN INSERT INTO log VALUES ('x'); END
                """,
            rows: twoNotes,
            backfills: ["notes.n": "length(body)"],
            values: [
                "SELECT group_concat(n) FROM notes": "3,5", "SELECT count(*) FROM log": "0",
            ]
        ),
        Case(
            name: "a dropped column",
            from: "CREATE TABLE notes (id INTEGER PRIMARY KEY, a TEXT NOT NULL, body TEXT)",
            to: notes,
            rows: "INSERT INTO notes VALUES (1, 'x', 'one'), (5, '', 'three')",
            up: ["ALTER TABLE \"notes\" DROP COLUMN \"a\""],
            hazards: [.dropColumn],
            values: [sum: "1one,5three"],
            valuesBack: [
                "SELECT group_concat(id || quote(a) || body) FROM notes": "1''one,5''three"
            ],
            notBroughtBack: ["the values of notes.a"],
            counts: [.dropColumn: 2]
        ),
        Case(
            name: "a dropped column with a key",
            from:
                "CREATE TABLE notes (id INTEGER PRIMARY KEY, slug TEXT NOT NULL UNIQUE, body TEXT)",
            to: notes,
            rows: "INSERT INTO notes VALUES (1, 'x', 'one'), (5, '', 'three')",
            hazards: [.dropColumn],
            values: [sum: "1one,5three"],
            valuesBack: ["SELECT group_concat(slug) FROM notes": "1,5"],
            notBroughtBack: ["the values of notes.slug"]
        ),
        Case(
            name: "a dropped column with an index and a view",
            from: notes
                + ";CREATE INDEX i ON notes (body); CREATE VIEW v AS SELECT body FROM notes",
            to: "CREATE TABLE notes (id INTEGER PRIMARY KEY)"
                + ";CREATE VIEW v AS SELECT id FROM notes",
            rows: twoNotes,
            up: [
                "DROP VIEW \"v\"", "DROP INDEX \"i\"",
                "ALTER TABLE \"notes\" DROP COLUMN \"body\"", "CREATE VIEW v AS SELECT id",
            ],
            hazards: [.dropColumn],
            notBroughtBack: ["the values of notes.body"]
        ),
        Case(
            name: "renames that views and triggers follow",
            from: notes + """
                ;CREATE INDEX i ON notes (body); CREATE VIEW v AS SELECT body FROM notes
                ;CREATE TABLE log (note REFERENCES notes(id), what)
                ;CREATE TRIGGER t AFTER DELETE ON notes BEGIN INSERT INTO log VALUES (NULL, old.body); END
                """,
            to: """
                CREATE TABLE items (id INTEGER PRIMARY KEY, text TEXT)
                ;CREATE INDEX i ON items (text); CREATE VIEW v AS SELECT text FROM items
                ;CREATE TABLE log (note REFERENCES items(id), what)
                ;CREATE TRIGGER t AFTER DELETE ON items BEGIN INSERT INTO log VALUES (NULL, old.text); END
                """,
            rows: twoNotes,
            renames: [
                SchemaRename(table: "notes", newName: "items"),
                SchemaRename(table: "notes", column: "body", newName: "text"),
            ],
            up: ["ALTER TABLE \"notes\" RENAME TO", "ALTER TABLE \"items\" RENAME COLUMN"],
            values: ["SELECT group_concat(id || text) FROM items": "1one,5three"],
            valuesBack: [sum: "1one,5three"]
        ),
        Case(
            name: "NOT NULL",
            from: notes,
            to: "CREATE TABLE notes (id INTEGER PRIMARY KEY, body TEXT NOT NULL)",
            rows: twoNotes,
            hazards: [.mayViolateNotNull],
            values: [sum: "1one,5three"],
            counts: [.mayViolateNotNull: 0]
        ),
        Case(
            name: "NOT NULL with a backfill",
            from: notes,
            to: "CREATE TABLE notes (id INTEGER PRIMARY KEY, body TEXT NOT NULL)",
            rows: "INSERT INTO notes VALUES (1, NULL)",
            backfills: ["notes.body": "coalesce(body, '?')"],
            values: [sum: "1?"],
            notBroughtBack: ["the values of notes.body"]
        ),
        Case(
            name: "a required column with a backfill that is never NULL",
            from: notes,
            to: "CREATE TABLE notes (id INTEGER PRIMARY KEY, body TEXT, n INTEGER NOT NULL)",
            rows: "INSERT INTO notes VALUES (1, 'one'), (5, NULL)",
            backfills: ["notes.n": "length(coalesce(body, '')) + id + notes.rowid"],
            values: ["SELECT group_concat(n) FROM notes": "5,10"]
        ),
        Case(
            name: "CHECK",
            from: notes,
            to: "CREATE TABLE notes (id INTEGER PRIMARY KEY, body TEXT, CHECK (length(body) < 9))",
            rows: twoNotes,
            hazards: [.mayViolateCheck],
            counts: [.mayViolateCheck: 0]
        ),
        Case(
            name: "a renamed column in a CHECK",
            from: "CREATE TABLE notes (id INTEGER PRIMARY KEY, body TEXT CHECK (body <> ''))",
            to: "CREATE TABLE notes (id INTEGER PRIMARY KEY, text TEXT CHECK (text <> ''))",
            rows: twoNotes,
            renames: [SchemaRename(table: "notes", column: "body", newName: "text")],
            up: ["ALTER TABLE"]
        ),
        Case(
            name: "a default",
            from: notes,
            to: "CREATE TABLE notes (id INTEGER PRIMARY KEY, body TEXT DEFAULT 'none')",
            rows: twoNotes
        ),
        Case(
            name: "a collation of a key",
            from: "CREATE TABLE notes (id INTEGER PRIMARY KEY, body TEXT UNIQUE)",
            to: "CREATE TABLE notes (id INTEGER PRIMARY KEY, body TEXT COLLATE NOCASE UNIQUE)",
            rows: twoNotes,
            hazards: [.mayViolateUnique],
            counts: [.mayViolateUnique: 0]
        ),
        Case(
            name: "a unique index",
            from: notes,
            to: notes + ";CREATE UNIQUE INDEX i ON notes (body)",
            rows: twoNotes,
            up: ["CREATE UNIQUE INDEX i"],
            hazards: [.mayViolateUnique],
            counts: [.mayViolateUnique: 0]
        ),
        Case(
            name: "a unique index that another one implies",
            from: notes + ";CREATE UNIQUE INDEX i ON notes (body)",
            to: notes + ";CREATE UNIQUE INDEX i ON notes (body, id)",
            rows: twoNotes,
            up: ["DROP INDEX", "CREATE UNIQUE INDEX i"],
            hazards: []
        ),
        Case(
            name: "a foreign key",
            from: notes + ";CREATE TABLE child (note INTEGER)",
            to: notes + ";CREATE TABLE child (note INTEGER REFERENCES notes(id))",
            rows: twoNotes + ";INSERT INTO child VALUES (NULL), (1), (5)",
            hazards: [.mayViolateForeignKey],
            counts: [.mayViolateForeignKey: 0]
        ),
        Case(
            name: "a foreign key whose parent is dropped",
            from: notes + ";CREATE TABLE child (note INTEGER REFERENCES notes(id))",
            to: "CREATE TABLE child (note INTEGER REFERENCES notes(id))",
            rows: twoNotes + ";INSERT INTO child VALUES (NULL)",
            up: ["DROP TABLE"],
            hazards: [.dropTable, .mayViolateForeignKey],
            notBroughtBack: ["the rows of notes"],
            counts: [.mayViolateForeignKey: 0]
        ),
        Case(
            name: "a foreign key whose parent was never there",
            from: "CREATE TABLE child (note INTEGER REFERENCES notes(id))",
            to: "CREATE TABLE child (note INTEGER REFERENCES notes(id), n)",
            up: ["ALTER TABLE"]
        ),
        Case(
            name: "the type of a foreign key",
            from: notes + ";CREATE TABLE child (note TEXT REFERENCES notes(id))",
            to: notes + ";CREATE TABLE child (note INTEGER REFERENCES notes(id))",
            rows: twoNotes + ";INSERT INTO child VALUES ('1')",
            hazards: [.narrowsType],
            counts: [.narrowsType: 0]
        ),
        Case(
            name: "whole numbers as text",
            from: "CREATE TABLE notes (id INTEGER PRIMARY KEY, body INTEGER)",
            to: notes,
            rows: "INSERT INTO notes VALUES (1, 7)",
            values: ["SELECT typeof(body) FROM notes": "text"],
            valuesBack: ["SELECT typeof(body) FROM notes": "integer"]
        ),
        Case(
            name: "text as whole numbers",
            from: notes,
            to: "CREATE TABLE notes (id INTEGER PRIMARY KEY, body INTEGER)",
            rows: "INSERT INTO notes VALUES (1, '7')",
            hazards: [.narrowsType],
            values: ["SELECT typeof(body) FROM notes": "integer"],
            valuesBack: ["SELECT typeof(body) FROM notes": "text"],
            counts: [.narrowsType: 0]
        ),
        Case(
            name: "STRICT and WITHOUT ROWID",
            from: "CREATE TABLE notes (id INTEGER PRIMARY KEY, body TEXT)",
            to: "CREATE TABLE notes (id INTEGER PRIMARY KEY, body TEXT) STRICT, WITHOUT ROWID",
            rows: twoNotes,
            hazards: [.mayViolateStrict],
            values: [sum: "1one,5three"],
            valuesBack: [sum: "1one,5three"],
            counts: [.mayViolateStrict: 0]
        ),
        Case(
            name: "AUTOINCREMENT that stays",
            from: "CREATE TABLE notes (id INTEGER PRIMARY KEY AUTOINCREMENT, body TEXT)",
            to: "CREATE TABLE notes (id INTEGER PRIMARY KEY AUTOINCREMENT, body TEXT DEFAULT '')",
            rows: twoNotes + ";DELETE FROM notes WHERE id = 5",
            values: ["SELECT seq FROM sqlite_sequence": "5"],
            valuesBack: ["SELECT seq FROM sqlite_sequence": "5"]
        ),
        Case(
            name: "a trigger, a view and an index",
            from: notes + """
                ;CREATE VIEW v AS SELECT body FROM notes
                ;CREATE VIEW w AS SELECT body FROM v
                ;CREATE TRIGGER t INSTEAD OF INSERT ON v BEGIN SELECT 1; END
                ;CREATE INDEX i ON notes (body)
                """,
            to: notes + """
                ;CREATE VIEW v AS SELECT body, id FROM notes
                ;CREATE VIEW w AS SELECT body FROM v
                ;CREATE TRIGGER t INSTEAD OF INSERT ON v BEGIN SELECT 2; END
                ;CREATE INDEX i ON notes (body DESC)
                """,
            up: [
                "DROP VIEW \"v\"", "DROP INDEX", "CREATE INDEX", "CREATE VIEW v", "CREATE TRIGGER",
            ]
        ),
        Case(
            name: "a view that becomes a table",
            from: notes + ";CREATE VIEW v AS SELECT body FROM notes",
            to: notes + ";CREATE TABLE v (body TEXT)",
            up: ["DROP VIEW", "CREATE TABLE v"]
        ),
        Case(
            name: "a full-text index of a table",
            from: notes
                + ";CREATE VIRTUAL TABLE s USING fts5(body, content='notes', content_rowid='id')",
            to: notes + ";CREATE VIRTUAL TABLE s USING fts5(body, content='notes', "
                + "content_rowid='id', tokenize='porter')",
            rows: twoNotes + ";INSERT INTO s(s) VALUES ('rebuild')",
            up: ["DROP TABLE", "CREATE VIRTUAL TABLE s", "INSERT INTO \"s\" (\"s\")"],
            hazards: [.rewritesTable],
            values: ["SELECT rowid FROM s WHERE s MATCH 'three'": "5"],
            valuesBack: ["SELECT rowid FROM s WHERE s MATCH 'three'": "5"]
        ),
        Case(
            name: "a full-text index of rows that get other numbers",
            from: "CREATE TABLE notes (id INTEGER NOT NULL, body TEXT)"
                + ";CREATE VIRTUAL TABLE s USING fts5(body, content='notes')",
            to: "CREATE TABLE notes (id INTEGER NOT NULL PRIMARY KEY, body TEXT)"
                + ";CREATE VIRTUAL TABLE s USING fts5(body, content='notes')",
            rows: "INSERT INTO notes VALUES (5, 'one'), (7, 'three')"
                + ";INSERT INTO s(s) VALUES ('rebuild')",
            hazards: [.narrowsType, .mayViolateUnique],
            values: ["SELECT rowid FROM s WHERE s MATCH 'three'": "7"]
        ),
        Case(
            name: "a full-text index of values that get another type",
            from: "CREATE TABLE notes (id INTEGER PRIMARY KEY, n INTEGER)"
                + ";CREATE VIRTUAL TABLE s USING fts5(n, content='notes', content_rowid='id')",
            to: "CREATE TABLE notes (id INTEGER PRIMARY KEY, n REAL)"
                + ";CREATE VIRTUAL TABLE s USING fts5(n, content='notes', content_rowid='id')",
            rows: "INSERT INTO notes VALUES (5, 3); INSERT INTO s(s) VALUES ('rebuild')",
            hazards: [.narrowsType],
            values: ["SELECT rowid FROM s WHERE s MATCH '\"3 0\"'": "5"]
        ),
        Case(
            name: "a full-text table that gets another name",
            from: "CREATE VIRTUAL TABLE s USING fts5(body)",
            to: "CREATE VIRTUAL TABLE search USING fts5(body)",
            rows: "INSERT INTO s VALUES ('three')",
            renames: [SchemaRename(table: "s", newName: "search")],
            up: ["ALTER TABLE \"s\" RENAME TO \"search\""],
            values: ["SELECT rowid FROM search WHERE search MATCH 'three'": "1"],
            valuesBack: ["SELECT rowid FROM s WHERE s MATCH 'three'": "1"]
        ),
        Case(
            name: "a full-text table that gets another name, with a trigger that fills it",
            from: notes + """
                ;CREATE VIRTUAL TABLE s USING fts5(body, content='notes', content_rowid='id')
                ;CREATE TRIGGER gone AFTER DELETE ON notes BEGIN
                INSERT INTO s(s, rowid, body) VALUES ('delete', old.id, old.body); END
                """,
            to: notes + """
                ;CREATE VIRTUAL TABLE f USING fts5(body, content='notes', content_rowid='id')
                ;CREATE TRIGGER gone AFTER DELETE ON notes BEGIN
                INSERT INTO f(f, rowid, body) VALUES ('delete', old.id, old.body); END
                """,
            rows: twoNotes + ";INSERT INTO s(s) VALUES ('rebuild')",
            renames: [SchemaRename(table: "s", newName: "f")],
            up: ["ALTER TABLE \"s\" RENAME TO \"f\"", "DROP TRIGGER", "CREATE TRIGGER"],
            values: ["SELECT rowid FROM f WHERE f MATCH 'three'": "5"]
        ),
        Case(
            name: "AUTOINCREMENT that goes",
            from: "CREATE TABLE notes (id INTEGER PRIMARY KEY AUTOINCREMENT, body TEXT)",
            to: notes,
            rows: twoNotes + ";DELETE FROM notes WHERE id = 5",
            hazards: [.reusesRowIDs],
            notBroughtBack: ["the AUTOINCREMENT mark of notes"],
            counts: [.reusesRowIDs: 4]
        ),
        Case(
            name: "a full-text index with its own content",
            from: "CREATE VIRTUAL TABLE s USING fts5(body)",
            to: "CREATE VIRTUAL TABLE s USING fts5(body, tokenize='porter')",
            rows: "INSERT INTO s VALUES ('three')",
            up: ["DROP TABLE", "CREATE VIRTUAL TABLE s"],
            hazards: [.dropTable],
            notBroughtBack: ["the rows of s"]
        ),
        Case(
            name: "a full-text index that gives up its own content",
            from: "CREATE TABLE a (id INTEGER PRIMARY KEY, x TEXT, y INTEGER)"
                + ";CREATE VIRTUAL TABLE f USING fts5(x, y, tokenize=unicode61)",
            to: """
                CREATE TABLE a (id INTEGER PRIMARY KEY, parent INTEGER, x TEXT)
                ;CREATE VIRTUAL TABLE f USING fts5(x, content='a', content_rowid='id')
                ;CREATE TRIGGER a_f AFTER INSERT ON a BEGIN INSERT INTO f (rowid, x) VALUES (new.id, new.x); END
                """,
            rows: "INSERT INTO a VALUES (3, 'one', 1); INSERT INTO f VALUES ('two', 'three')",
            hazards: [.dropColumn, .dropTable],
            values: ["SELECT group_concat(rowid) FROM f('one')": "3"],
            notBroughtBack: ["the values of a.y", "the rows of f"],
            counts: [.dropTable: 1]
        ),
    ]

    @Test(arguments: [("INTEGER", "0"), ("TEXT", "''"), ("BLOB", "x''"), ("REAL", "0")])
    func theSuggestedBackfillFitsTheColumn(_ type: String, _ value: String) throws {
        let migration = try SchemaMigration(
            from: "CREATE TABLE t (id INTEGER PRIMARY KEY, c \(type))",
            to: "CREATE TABLE t (id INTEGER PRIMARY KEY, c \(type) NOT NULL)"
        )
        let hazard = try #require(migration.hazards.first { $0.kind == .mayViolateNotNull })
        #expect(hazard.suggestion.contains("coalesce(c, \(value))"), "\(hazard)")
    }

    @Test func aChangedValueIsRefused() throws {
        let migration = try SchemaMigration(
            from: "CREATE TABLE notes (id INTEGER PRIMARY KEY, body TEXT)",
            to: "CREATE TABLE notes (id INTEGER PRIMARY KEY, body INTEGER)"
        )
        let queue = try DatabaseQueue(sql: Self.notes + ";INSERT INTO notes VALUES (1, '007')")
        let hazard = try #require(migration.hazards.first { $0.kind == .narrowsType })
        let query = try #require(hazard.countQuery)
        #expect(try queue.read { try Int.fetchOne($0, sql: query) } == 1)
        let error = #expect(throws: DatabaseError.self) { try queue.run(migration.up) }
        #expect(
            error?.message
                == "CHECK constraint failed: the new type of notes.body changes its value"
        )
        #expect(try queue.read { try String.fetchOne($0, sql: "SELECT body FROM notes") } == "007")
    }

    @Test func aRequiredColumnNeedsAValue() throws {
        #expect(throws: SchemaDifferenceError.needsBackfill(table: "notes", column: "n")) {
            try SchemaMigration(
                from: Self.notes,
                to: "CREATE TABLE notes (id INTEGER PRIMARY KEY, body TEXT, n INTEGER NOT NULL)"
            )
        }
    }

    @Test(arguments: ["notes.none", "none.body", "notes", "log.a", "fresh.a"])
    func aBackfillWithoutAUseIsRefused(_ name: String) throws {
        #expect(throws: SchemaDifferenceError.unknownBackfill(name)) {
            try SchemaMigration(
                from: Self.notes + ";CREATE TABLE log (a)",
                to: "CREATE TABLE notes (id INTEGER PRIMARY KEY, body TEXT, n INTEGER)"
                    + ";CREATE TABLE log (a); CREATE TABLE fresh (a)",
                backfills: [name: "1"]
            )
        }
    }

    /// An aggregate would make one row of all rows.
    @Test(arguments: [
        ("length(title)", "no such column: title"),
        ("count(*)", "misuse of aggregate function count()"),
    ])
    func aBackfillMustCompile(_ expression: String, _ reason: String) throws {
        let error = #expect(throws: SchemaDifferenceError.self) {
            try SchemaMigration(
                from: Self.notes,
                to: "CREATE TABLE notes (id INTEGER PRIMARY KEY, body TEXT, n INTEGER)",
                backfills: ["notes.n": expression]
            )
        }
        #expect(error == .refused(object: "the backfill of notes.n", reason: reason))
    }

    @Test func hazardsCountTheRows() throws {
        let migration = try SchemaMigration(
            from:
                "CREATE TABLE p (id INTEGER PRIMARY KEY); CREATE TABLE t (a TEXT, b TEXT, c INTEGER, d INTEGER)",
            to: """
                CREATE TABLE p (id INTEGER PRIMARY KEY)
                ;CREATE TABLE t (a TEXT NOT NULL, b TEXT COLLATE NOCASE UNIQUE,
                c INTEGER CHECK (c > 0), x INTEGER REFERENCES p)
                """,
            renames: [SchemaRename(table: "t", column: "d", newName: "x")]
        )
        let queue = try DatabaseQueue(
            sql: """
                CREATE TABLE p (id INTEGER PRIMARY KEY)
                ;CREATE TABLE t (a TEXT, b TEXT, c INTEGER, d INTEGER)
                ;INSERT INTO t VALUES (NULL, 'x', 1, NULL), ('a', 'X', 0, 8), ('b', 'y', -1, 9),
                ('c', NULL, NULL, 7), ('d', NULL, 3, NULL)
                """
        )
        let counts = try migration.hazards.map { hazard in
            let query = try #require(hazard.countQuery)
            return "\(hazard.kind.rawValue) "
                + "\(try queue.read { try Int.fetchOne($0, sql: query) } ?? -1)"
        }
        #expect(
            counts == [
                "may-violate-not-null 1", "may-violate-unique 2", "may-violate-check 2",
                "may-violate-foreign-key 3", "rewrites-table 5",
            ]
        )
    }

    /// Rows that SQLite refuses after a conversion, and how many the hazard of this kind counts.
    struct Refusal: CustomTestStringConvertible, Sendable {
        let name: String
        let kind: SchemaHazard.Kind
        let from: String
        let to: String
        let rows: String
        var backfills: [String: String] = [:]
        let count: Int

        var testDescription: String { name }
    }

    @Test(arguments: refusals) func refusedRowsAreCounted(_ refusal: Refusal) throws {
        let migration = try SchemaMigration(
            from: refusal.from,
            to: refusal.to,
            backfills: refusal.backfills
        )
        let queue = try DatabaseQueue(sql: "PRAGMA foreign_keys = OFF;" + refusal.from)
        try queue.inDatabase { try $0.execute(sql: refusal.rows) }
        let hazard = try #require(migration.hazards.first { $0.kind == refusal.kind })
        let query = try #require(hazard.countQuery)
        #expect(try queue.read { try Int.fetchOne($0, sql: query) } == refusal.count, "\(query)")
        let error = #expect(throws: DatabaseError.self) { try queue.run(migration.up) }
        #expect(error?.resultCode == .SQLITE_CONSTRAINT, "\(String(describing: error))")
    }

    static let refusals: [Refusal] = [
        Refusal(
            name: "a text and a number that become the same number",
            kind: .mayViolateUnique,
            from: "CREATE TABLE t (a)",
            to: "CREATE TABLE t (a INTEGER UNIQUE)",
            rows: "INSERT INTO t VALUES ('1'), (1), (1.0), (2), ('x')",
            count: 3
        ),
        Refusal(
            name: "a number and a text that become the same text",
            kind: .mayViolateUnique,
            from: "CREATE TABLE t (a)",
            to: "CREATE TABLE t (a TEXT); CREATE UNIQUE INDEX i ON t (a)",
            rows: "INSERT INTO t VALUES ('1'), (1), (x'31'), (1.5)",
            count: 2
        ),
        Refusal(
            name: "an expression of a number that gets a decimal point",
            kind: .mayViolateUnique,
            from: "CREATE TABLE t (v NUMERIC, n AS (length(v)))"
                + ";CREATE UNIQUE INDEX i ON t (n)",
            to: "CREATE TABLE t (v REAL, n AS (length(v)))"
                + ";CREATE UNIQUE INDEX i ON t (n)",
            rows: "INSERT INTO t VALUES (3), (1.5), (79)",
            count: 2
        ),
        Refusal(
            name: "a backfill that becomes the same number",
            kind: .mayViolateUnique,
            from: "CREATE TABLE t (a TEXT)",
            to: "CREATE TABLE t (a TEXT, n INTEGER UNIQUE)",
            rows: "INSERT INTO t VALUES ('1'), ('01')",
            backfills: ["t.n": "a"],
            count: 2
        ),
        Refusal(
            name: "a CHECK of a text that becomes a number",
            kind: .mayViolateCheck,
            from: "CREATE TABLE t (a TEXT)",
            to: "CREATE TABLE t (a INTEGER CHECK (a BETWEEN 0 AND 5))",
            rows: "INSERT INTO t VALUES ('10'), ('5'), ('-1')",
            count: 2
        ),
        Refusal(
            name: "a CHECK that compares a text, which becomes a number, with a text",
            kind: .mayViolateCheck,
            from: "CREATE TABLE t (a TEXT)",
            to: "CREATE TABLE t (a INTEGER CHECK (a < '5'))",
            rows: "INSERT INTO t VALUES ('10'), ('4'), ('6')",
            count: 2
        ),
        Refusal(
            name: "values of a table that becomes STRICT",
            kind: .mayViolateStrict,
            from: "CREATE TABLE t (a INTEGER, b ANY)",
            to: "CREATE TABLE t (a INTEGER, b ANY) STRICT",
            rows: "INSERT INTO t VALUES ('10', 'x'), ('x', 1), (NULL, 1.5)",
            count: 1
        ),
        Refusal(
            name: "a backfill that isn't of the type of a STRICT table",
            kind: .mayViolateStrict,
            from: "CREATE TABLE t (a TEXT) STRICT",
            to: "CREATE TABLE t (a TEXT, n INTEGER) STRICT",
            rows: "INSERT INTO t VALUES ('10'), ('x')",
            backfills: ["t.n": "a"],
            count: 1
        ),
        Refusal(
            name: "a CHECK with a coarser collation",
            kind: .mayViolateCheck,
            from: "CREATE TABLE t (a TEXT CHECK (a <> 'no'))",
            to: "CREATE TABLE t (a TEXT COLLATE NOCASE CHECK (a <> 'no'))",
            rows: "INSERT INTO t VALUES ('NO'), ('yes')",
            count: 1
        ),
        Refusal(
            name: "a backfill that is NULL",
            kind: .mayViolateNotNull,
            from: "CREATE TABLE t (a TEXT)",
            to: "CREATE TABLE t (a TEXT, n INTEGER NOT NULL)",
            rows: "INSERT INTO t VALUES ('1'), (NULL)",
            backfills: ["t.n": "length(a)"],
            count: 1
        ),
        Refusal(
            name: "a backfill that is NULL for a value",
            kind: .mayViolateNotNull,
            from: "CREATE TABLE t (a TEXT NOT NULL)",
            to: "CREATE TABLE t (a TEXT NOT NULL, n TEXT NOT NULL)",
            rows: "INSERT INTO t VALUES ('1'), ('')",
            backfills: ["t.n": "nullif(a, '')"],
            count: 1
        ),
        Refusal(
            name: "a generated column that is NULL",
            kind: .mayViolateNotNull,
            from: "CREATE TABLE t (a TEXT)",
            to: "CREATE TABLE t (a TEXT, k TEXT AS (nullif(a, '')) STORED NOT NULL)",
            rows: "INSERT INTO t VALUES ('1'), ('')",
            count: 1
        ),
        Refusal(
            name: "a foreign key whose parent is dropped",
            kind: .mayViolateForeignKey,
            from: "CREATE TABLE p (id INTEGER PRIMARY KEY); CREATE TABLE t (p REFERENCES p(id))",
            to: "CREATE TABLE t (p REFERENCES p(id))",
            rows: "INSERT INTO p VALUES (1); INSERT INTO t VALUES (1), (NULL)",
            count: 1
        ),
        Refusal(
            name: "a foreign key whose parent compares otherwise",
            kind: .mayViolateForeignKey,
            from: "CREATE TABLE p (id TEXT COLLATE NOCASE PRIMARY KEY)"
                + ";CREATE TABLE t (p REFERENCES p(id))",
            to: "CREATE TABLE p (id TEXT PRIMARY KEY); CREATE TABLE t (p REFERENCES p(id))",
            rows: "INSERT INTO p VALUES ('a'), ('b'); INSERT INTO t VALUES ('A'), ('b')",
            count: 1
        ),
        Refusal(
            name: "a foreign key whose parent becomes text",
            kind: .mayViolateForeignKey,
            from: "CREATE TABLE p (id PRIMARY KEY); CREATE TABLE t (p REFERENCES p(id))",
            to: "CREATE TABLE p (id TEXT PRIMARY KEY); CREATE TABLE t (p REFERENCES p(id))",
            rows: "INSERT INTO p VALUES (1.0), (2); INSERT INTO t VALUES (1), (2)",
            count: 1
        ),
    ]

    /// SQLite 3.46 computes a generated column after it has checked the types, so only the verification
    /// of a run finds what is wrong. SQLite 3.53 refuses the row.
    @Test(arguments: ["VIRTUAL", "STORED"])
    func generatedValuesOfAStrictTableAreCounted(_ kind: String) throws {
        let from = "CREATE TABLE t (a TEXT, g ANY AS (a) \(kind)) STRICT"
        let migration = try SchemaMigration(
            from: from,
            to: "CREATE TABLE t (a TEXT, g INTEGER AS (a) \(kind)) STRICT"
        )
        let queue = try DatabaseQueue(sql: from + ";INSERT INTO t VALUES ('10'), ('x'), (NULL)")
        let hazard = try #require(migration.hazards.first { $0.kind == .mayViolateStrict })
        let query = try #require(hazard.countQuery)
        #expect(try queue.read { try Int.fetchOne($0, sql: query) } == 1, "\(query)")
        do {
            try queue.run(migration.up)
            let finding = try queue.read { try String.fetchOne($0, sql: "PRAGMA quick_check") }
            #expect(finding == "non-INTEGER value in t.g")
        } catch let error as DatabaseError where error.resultCode == .SQLITE_CONSTRAINT {
            #expect(error.message == "cannot store TEXT value in INTEGER column new_t.g")
        }
        // Without another type, there is nothing to announce.
        let other = try SchemaMigration(
            from: from,
            to: "CREATE TABLE t (a TEXT, g ANY AS (a) \(kind), n INTEGER AS (length(a))) STRICT"
        )
        #expect(!other.hazards.contains { $0.kind == .mayViolateStrict })
    }

    @Test func aLooserConstraintMayRefuseTheWayBack() throws {
        let strict = """
            CREATE TABLE p (id INTEGER PRIMARY KEY)
            ;CREATE TABLE t (a TEXT NOT NULL, b TEXT UNIQUE, c INTEGER CHECK (c > 0), d REFERENCES p)
            """
        let loose = """
            CREATE TABLE p (id INTEGER PRIMARY KEY)
            ;CREATE TABLE t (a TEXT, b TEXT, c INTEGER, d)
            """
        let reasons = [
            "rows with NULL in t.a are refused",
            "rows with the same (b) are refused by UNIQUE (b) of t",
            "rows for which CHECK (c > 0) is false are refused by t",
            "rows of t with (d) that p doesn't have are refused",
        ]
        #expect(try SchemaMigration(from: strict, to: loose).refusedOnWayBack == reasons)
        #expect(try SchemaMigration(from: loose, to: strict).refusedOnWayBack.isEmpty)
    }

    @Test func functionsAndCollationsOfTheAppMayBeMissing() throws {
        let from = """
            CREATE TABLE t (a TEXT COLLATE backwards, b TEXT CHECK (allows(b)))
            ;CREATE VIEW v AS SELECT shown(a) FROM t
            """
        let to = """
            CREATE TABLE t (a TEXT COLLATE backwards NOT NULL, c TEXT CHECK (permits(c)))
            ;CREATE VIEW v AS SELECT shown(a) FROM t; CREATE INDEX i ON t (a)
            """
        #expect(try SchemaMigration(from: from, to: to).up.last == "CREATE INDEX i ON t (a)")
        let error = #expect(throws: SchemaDifferenceError.self) {
            try SchemaMigration(from: from, to: to, backfills: ["t.c": "typo(b)"])
        }
        #expect(
            error == .refused(object: "the backfill of t.c", reason: "no such function: typo")
        )
    }
}
