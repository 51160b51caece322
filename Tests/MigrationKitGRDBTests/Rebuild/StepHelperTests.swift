import GRDB
import MigrationKit
import MigrationKitSchema
import TestSupport
import Testing

/// The helpers for steps that may run again, and that change columns.
@Suite struct StepHelperTests {
    private typealias Helpers = GRDBMigrationSQLHelpers
    let queue: DatabaseQueue

    init() throws {
        queue = try DatabaseQueue()
        try queue.write {
            try $0.execute(
                sql: """
                    CREATE TABLE notes (id INTEGER PRIMARY KEY, title TEXT, made AS (title || '!'), age TEXT, -- years
                        CHECK (length(title) < 9));
                    CREATE TABLE tag (note REFERENCES notes(id) ON DELETE CASCADE);
                    INSERT INTO notes (id, title, age) VALUES (1, 'A', '7'), (2, 'B', '08'), (9, 'C', NULL);
                    """
            )
        }
    }

    @Test func whatIsMissingIsAddedOnce() throws {
        try queue.write { db in
            #expect(try Helpers.addColumnIfMissing("slug", "TEXT", to: "notes", in: db))
            #expect(try !Helpers.addColumnIfMissing("SLUG", "TEXT", to: "Notes", in: db))
            // GRDB's list of columns leaves out generated ones.
            #expect(try !Helpers.addColumnIfMissing("made", "TEXT", to: "notes", in: db))
            for isFirst in [true, false] {
                let isNew = try Helpers.createIndexIfMissing(
                    "notes_slug",
                    on: "notes",
                    columns: ["slug", "title"],
                    in: db
                )
                #expect(isNew == isFirst)
                let isNewTable = try Helpers.createTableIfMissing("more", in: db) {
                    $0.column("a", .text)
                }
                #expect(isNewTable == isFirst)
            }
        }
    }

    @Test(arguments: [(["slug"], false), (["title"], true), (["title", "id"], false)])
    func otherIndexOfTheNameIsAnError(_ columns: [String], _ unique: Bool) throws {
        try queue.write { db in
            try Helpers.addColumnIfMissing("slug", "TEXT", to: "notes", in: db)
            try Helpers.createIndexIfMissing("i", on: "notes", columns: ["title"], in: db)
            #expect(throws: DatabaseError.self) {
                try Helpers.createIndexIfMissing(
                    "i",
                    on: "notes",
                    columns: columns,
                    unique: unique,
                    in: db
                )
            }
        }
    }

    @Test func nullableThenFilledThenRequired() throws {
        try queue.writeWithoutTransaction { db in
            try Helpers.addColumnIfMissing("slug", "TEXT", to: "notes", in: db)
            try db.execute(
                sql: """
                    UPDATE notes SET slug = 'kept' WHERE id = 2; INSERT INTO tag VALUES (1);
                    UPDATE notes SET slug = lower(title) WHERE slug IS NULL;
                    """
            )
            try Helpers.requireValue(of: "slug", in: "notes", in: db)
            try Helpers.requireValue(of: "Slug", in: "notes", in: db)
        }
        #expect(try queue.strings("SELECT slug FROM notes ORDER BY id") == ["a", "kept", "c"])
        #expect(try queue.number("SELECT count(*) FROM tag") == 1)
        #expect(throws: DatabaseError.self) {
            try queue.write { try $0.execute(sql: "INSERT INTO notes (slug) VALUES (NULL)") }
        }
    }

    @Test func requiringAMissingValueIsRefused() throws {
        #expect(
            throws: TableRebuildError.rowRefused(
                table: "notes",
                reason: "NOT NULL constraint failed: notes.age"
            )
        ) {
            try queue.writeWithoutTransaction {
                try Helpers.requireValue(of: "age", in: "notes", in: $0)
            }
        }
    }

    @Test func typeIsChanged() throws {
        try queue.writeWithoutTransaction { db in
            #expect(
                throws: TableRebuildError.valuesChange(table: "notes", column: "age", rows: 1)
            ) { try Helpers.changeType(of: "age", in: "notes", to: "INTEGER", in: db) }
            #expect(throws: TableRebuildError.unknownColumn(table: "notes", column: "none")) {
                try Helpers.changeType(of: "none", in: "notes", to: "INTEGER", in: db)
            }
            try Helpers.changeType(
                of: "AGE",
                in: "notes",
                to: "INTEGER",
                using: "CAST(age AS INTEGER)",
                in: db
            )
        }
        #expect(
            try queue.strings("SELECT sql FROM sqlite_schema WHERE name = 'notes'")[0].contains(
                "age INTEGER, -- years\n"
            )
        )
        #expect(
            try queue.strings("SELECT typeof(age) FROM notes ORDER BY id") == [
                "integer", "integer", "null",
            ]
        )
    }
}
