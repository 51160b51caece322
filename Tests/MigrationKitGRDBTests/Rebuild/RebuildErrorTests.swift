import CSQLCipher
import Foundation
import GRDB
import MigrationKit
import MigrationKitCommon
import MigrationKitSchema
import TestSupport
import Testing

/// What `db.rebuild` refuses, and that nothing has changed then.
@Suite struct RebuildErrorTests {
    struct Case: CustomTestStringConvertible, Sendable {
        var title: String
        var setup = ""
        var table = "notes"
        var definition = Self.definition
        var columns: [String: String] = [:]
        var dropping: Set<RebuildLoss> = []
        var error: TableRebuildError
        var testDescription: String { title }

        static let definition = "CREATE TABLE notes (id INTEGER PRIMARY KEY, title TEXT, body TEXT)"
    }

    private static let base = """
        CREATE TABLE notes (id INTEGER PRIMARY KEY, title TEXT, body TEXT);
        CREATE TABLE tag (note REFERENCES notes(id));
        INSERT INTO notes VALUES (1, 'a', '007'), (2, NULL, 'x'), (3, 'c', '12');
        INSERT INTO tag VALUES (1);

        """
    private static let withoutBody = "CREATE TABLE notes (id INTEGER PRIMARY KEY, title TEXT)"
    private static let body: Set<RebuildLoss> = [.column("BODY")]

    private static func losing(
        _ old: String,
        _ new: String,
        _ loss: RebuildLoss...
    ) -> Case {
        Case(
            title: "loses \(loss)",
            setup: "CREATE TABLE t (\(old);",
            table: "t",
            definition: "CREATE TABLE t (\(new)",
            error: .wouldLose(table: "t", loss)
        )
    }

    private static func breaking(
        _ title: String,
        _ setup: String,
        _ reason: String,
        by definition: String = withoutBody,
        columns: [String: String] = [:],
        dropping: Set<RebuildLoss> = body
    ) -> Case {
        Case(
            title: title,
            setup: setup,
            definition: definition,
            columns: columns,
            dropping: dropping,
            error: .brokenReference(table: "notes", from: title, reason: reason)
        )
    }

    static let cases: [Case] = [
        Case(title: "no table", table: "nots", error: .noSuchTable("nots")),
        Case(
            title: "a view",
            setup: "CREATE VIEW v AS SELECT 1",
            table: "v",
            error: .notRebuildable("v", reason: "it is a view")
        ),
        Case(
            title: "a virtual table",
            setup: "CREATE VIRTUAL TABLE f USING fts5(a)",
            table: "f",
            error: .notRebuildable("f", reason: "it is a virtual table")
        ),
        Case(
            title: "an internal table",
            setup: "CREATE VIRTUAL TABLE f USING fts5(a)",
            table: "f_data",
            error: .notRebuildable("f_data", reason: "it is an internal table")
        ),
        Case(
            title: "another name",
            definition: "CREATE TABLE other (a)",
            error: .unusableDefinition(table: "notes", reason: "it creates other")
        ),
        Case(
            title: "two statements",
            definition: withoutBody + "; DROP TABLE tag",
            error: .unusableDefinition(table: "notes", reason: "it has more than one statement")
        ),
        Case(
            title: "no list of columns",
            definition: "CREATE TABLE notes AS SELECT 1",
            error: .unusableDefinition(
                table: "notes",
                reason: "it is not a CREATE TABLE statement with a list of columns"
            )
        ),
        Case(
            title: "no SQL",
            definition: "CREATE TABLE notes (id, id)",
            error: .unusableDefinition(table: "notes", reason: "duplicate column name: id")
        ),
        Case(
            title: "an expression that isn't one",
            columns: ["title": "missing + 1"],
            error: .unusableDefinition(table: "notes", reason: "no such column: missing")
        ),
        Case(
            title: "a column without a word",
            definition: withoutBody,
            error: .wouldLose(table: "notes", [.column("body")])
        ),
        // Only its bare name is a new name.
        Case(
            title: "a column in an expression",
            definition: withoutBody,
            columns: ["title": "body"],
            error: .wouldLose(table: "notes", [.column("body")])
        ),
        losing("a DEFAULT 5)", "a)", .defaultValue("a")),
        losing("a COLLATE NOCASE)", "a)", .collation("a")),
        losing("a, b AS (a + 1))", "a, b)", .generated("b")),
        losing("a, CHECK (a > 5))", "a)", .check("a > 5")),
        losing("a, b, UNIQUE (a, b))", "a, b)", .unique(["a", "b"])),
        losing("a PRIMARY KEY)", "a)", .unique(["a"])),
        losing("a REFERENCES notes(id))", "a)", .foreignKey(["a"])),
        losing("a INTEGER PRIMARY KEY AUTOINCREMENT)", "a INTEGER PRIMARY KEY)", .autoincrement),
        losing("a TEXT) STRICT", "a TEXT)", .strict),
        losing("a PRIMARY KEY) WITHOUT ROWID", "a NOT NULL PRIMARY KEY)", .withoutRowID),
        Case(
            title: "dropping what stays",
            dropping: [.column("body"), .index("none"), .strict],
            error: .notLost(table: "notes", [.strict, .column("body"), .index("none")])
        ),
        Case(
            title: "an expression for no column",
            columns: ["none": "1"],
            error: .unknownColumn(table: "notes", column: "none")
        ),
        Case(
            title: "no value",
            definition: "CREATE TABLE notes (id INTEGER PRIMARY KEY, title, body, a NOT NULL)",
            error: .missingValue(table: "notes", column: "a")
        ),
        Case(
            title: "a row without a value",
            definition: "CREATE TABLE notes (id INTEGER PRIMARY KEY, title NOT NULL, body)",
            error: .rowRefused(table: "notes", reason: "NOT NULL constraint failed: notes.title")
        ),
        // The new constraint itself asks for the row to be left out.
        Case(
            title: "rows that are equal",
            definition:
                "CREATE TABLE notes (id INTEGER PRIMARY KEY, title, body, a DEFAULT 1 UNIQUE ON CONFLICT IGNORE)",
            error: .rowRefused(table: "notes", reason: "UNIQUE constraint failed: notes.a")
        ),
        Case(
            title: "a type that loses a zero",
            definition: "CREATE TABLE notes (id INTEGER PRIMARY KEY, title TEXT, body INTEGER)",
            error: .valuesChange(table: "notes", column: "body", rows: 1)
        ),
        Case(
            title: "a type of STRICT",
            definition: "CREATE TABLE notes (id INTEGER PRIMARY KEY, title TEXT, body BLOB) STRICT",
            error: .rowRefused(
                table: "notes",
                reason: "cannot store TEXT value in BLOB column notes.body"
            )
        ),
        breaking("index i", "CREATE INDEX i ON notes (title, body)", "it names the column body"),
        breaking(
            "index i",
            "CREATE INDEX i ON notes (title) WHERE body = 1",
            "it names the column body"
        ),
        breaking(
            "trigger t",
            "CREATE TRIGGER t AFTER UPDATE OF body ON notes BEGIN SELECT 1; END",
            "it names the column body"
        ),
        breaking(
            "trigger t",
            """
            CREATE TRIGGER s AFTER INSERT ON notes BEGIN SELECT new.title; END;
            CREATE TRIGGER t AFTER INSERT ON notes BEGIN SELECT new.body; END;
            """,
            "no such column: new.body"
        ),
        breaking(
            "trigger t",
            "CREATE TRIGGER t AFTER INSERT ON tag BEGIN UPDATE notes SET body = 1; END",
            "no such column: body"
        ),
        breaking("view v", "CREATE VIEW v AS SELECT body FROM notes", "no such column: body"),
        breaking(
            "view w",
            "CREATE VIEW v AS SELECT * FROM notes; CREATE VIEW w AS SELECT body FROM v",
            "no such column: body"
        ),
        breaking(
            "table f",
            "CREATE VIRTUAL TABLE f USING fts5(body, content='notes', content_rowid='id')",
            "it names the column body"
        ),
        // SQLite renames columns everywhere but in virtual tables.
        breaking(
            "table f",
            "CREATE VIRTUAL TABLE f USING fts5(body, content='notes', content_rowid='id')",
            "it names the column body",
            by: "CREATE TABLE notes (id INTEGER PRIMARY KEY, title TEXT, text TEXT)",
            columns: ["text": "body"],
            dropping: []
        ),
        // It counts on the number of columns.
        breaking(
            "trigger t",
            "CREATE TRIGGER t AFTER INSERT ON tag BEGIN INSERT INTO notes VALUES (5, 'a', 'b'); END",
            "table notes has 4 columns but 3 values were supplied",
            by: "CREATE TABLE notes (id INTEGER PRIMARY KEY, title TEXT, body TEXT, more)",
            dropping: []
        ),
        breaking(
            "index i",
            "CREATE UNIQUE INDEX i ON notes (title)",
            "UNIQUE constraint failed: notes.title",
            by: "CREATE TABLE notes (id INTEGER PRIMARY KEY, title TEXT, body TEXT)",
            columns: ["title": "'same'"],
            dropping: []
        ),
        Case(
            title: "a key of children",
            definition: "CREATE TABLE notes (id INTEGER, title TEXT, body TEXT)",
            dropping: [.unique(["id"])],
            error: .foreignKeysBroken(
                table: "tag",
                reason: "foreign key mismatch - \"tag\" referencing \"notes\""
            )
        ),
        Case(
            title: "other keys than those of children",
            columns: ["id": "id + 100"],
            error: .foreignKeysBroken(
                table: "tag",
                reason: "rows without a parent: 1, before the rebuild: 0"
            )
        ),
        Case(
            title: "a temporary table in front of it",
            setup: "CREATE TEMP TABLE notes (a)",
            error: .temporaryObject(table: "notes", name: "notes")
        ),
        Case(
            title: "a temporary trigger",
            setup: "CREATE TEMP TRIGGER t AFTER INSERT ON main.notes BEGIN SELECT 1; END",
            error: .temporaryObject(table: "notes", name: "t")
        ),
    ]

    @Test(arguments: cases) func nothingHasChangedAfterARefusal(_ given: Case) throws {
        var configuration = Configuration()
        configuration.foreignKeysEnabled = false
        let queue = try DatabaseQueue(configuration: configuration)
        try queue.write { try $0.execute(sql: Self.base + given.setup) }
        let before = try Everything(of: queue)
        let error = #expect(throws: TableRebuildError.self) {
            try queue.write {
                try $0.rebuild(
                    given.table,
                    as: given.definition,
                    columns: given.columns,
                    dropping: given.dropping
                )
            }
        }
        #expect(error == given.error)
        #expect(try Everything(of: queue) == before)
        #expect(
            try queue.number("SELECT count(*) FROM sqlite_temp_schema")
                == (given.setup.contains("TEMP") ? 1 : 0)
        )
        let texts = [error?.errorDescription, error?.recoverySuggestion].compactMap { $0 }
        #expect(texts.count == 2 && texts.allSatisfy { !$0.isEmpty && !$0.contains("new_") })
        #expect(error?.code.exitStatus == (error?.code.name == "unknownTable" ? .usage : .failed))
    }

    /// What no rebuild does: a function of the app's that changes the database meanwhile.
    @Test(arguments: [
        (
            "DELETE FROM other WHERE id = 1",
            TableRebuildError.rowsDiffer(table: "other", before: 2, after: 1)
        ),
        (
            "INSERT INTO notes VALUES (99, 'late', '')",
            .rowsDiffer(table: "notes", before: 3, after: 4)
        ),
        ("CREATE VIEW extra AS SELECT 1", .schemaDiffers(table: "notes", object: "view extra")),
        (
            "UPDATE sqlite_sequence SET seq = 77",
            .schemaDiffers(table: "notes", object: "the AUTOINCREMENT mark")
        ),
    ])
    func whateverElseChangesIsUndone(_ sql: String, _ expected: TableRebuildError) throws {
        let queue = try DatabaseQueue()
        try queue.write { db in
            try db.execute(
                sql: Self.base + """
                    CREATE TABLE other (id INTEGER PRIMARY KEY AUTOINCREMENT, a);
                    INSERT INTO other (a) VALUES (1), (2);
                    """
            )
        }
        let before = try Everything(of: queue)
        queue.writeWithoutTransaction { db in
            nonisolated(unsafe) let connection = db.sqliteConnection
            nonisolated(unsafe) var isDone = false
            let function = DatabaseFunction("meddle", argumentCount: 1) { values in
                if !isDone { sqlite3_exec(connection, sql, nil, nil, nil) }
                isDone = true
                return values[0]
            }
            db.add(function: function)
            #expect(throws: expected) {
                try db.rebuild("notes", as: Case.definition, columns: ["title": "meddle(title)"])
            }
        }
        #expect(try Everything(of: queue) == before)
    }

    @Test func whatIsListedMayBeLost() throws {
        let queue = try DatabaseQueue()
        try queue.write { db in
            try db.execute(
                sql: """
                    CREATE TABLE t (a TEXT COLLATE NOCASE DEFAULT 'x', b, CHECK (b > 0), UNIQUE (a, b)) STRICT;
                    """.replacing(", b,", with: ", b INT,") + """
                        CREATE INDEX i ON t (b); CREATE VIEW v AS SELECT b FROM t;
                        CREATE TRIGGER iv INSTEAD OF INSERT ON v BEGIN SELECT 1; END;
                        CREATE TRIGGER r AFTER INSERT ON t BEGIN SELECT new.b; END; ANALYZE;
                        """
            )
            try db.rebuild(
                "t",
                as: "CREATE TABLE t (a TEXT)",
                dropping: [
                    .column("B"), .collation("A"), .defaultValue("a"), .strict, .index("I"),
                    .view("V"), .trigger("R"),
                ]
            )
        }
        #expect(
            try queue.strings("SELECT name FROM sqlite_schema WHERE name NOT LIKE 'sqlite%'") == [
                "t"
            ]
        )
    }
}
