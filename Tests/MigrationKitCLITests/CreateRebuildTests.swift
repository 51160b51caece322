import Foundation
import TestSupport
import Testing

/// `create --rebuild`: the statements of a rebuild, in the folder's own format.
@Suite struct CreateRebuildTests {
    private static let schema = """
        CREATE TABLE author (id INTEGER PRIMARY KEY, name TEXT);
        CREATE TABLE notes (
          id INTEGER PRIMARY KEY AUTOINCREMENT, -- never used again
          title TEXT COLLATE NOCASE DEFAULT 'it''s', body TEXT,
          author REFERENCES author(id) ON DELETE SET NULL,
          big TEXT AS (upper(title)) STORED,
          CHECK (length(title) < 100)
        );
        CREATE TABLE tag (note INTEGER REFERENCES notes(id) ON DELETE CASCADE);
        CREATE INDEX notes_title ON notes (title DESC, body) WHERE body IS NOT NULL;
        CREATE VIEW titles AS SELECT title FROM notes -- all;
        ;
        CREATE TRIGGER titles_ii INSTEAD OF INSERT ON titles BEGIN INSERT INTO notes (title) VALUES (new.title); END;
        CREATE VIRTUAL TABLE search USING fts5(title, content='notes', content_rowid='id');
        CREATE TRIGGER notes_ai AFTER INSERT ON notes BEGIN INSERT INTO search (rowid, title) VALUES (new.id, new.title); END;
        CREATE TRIGGER author_ad AFTER DELETE ON author BEGIN UPDATE notes SET body = 'orphan' WHERE author = old.id; END;
        """
    private static let rows = """
        INSERT INTO author VALUES (1, 'x');
        INSERT INTO notes (title, body, author) VALUES ('a', 'b', 1), ('C', NULL, NULL), ('gone', '', 1);
        DELETE FROM notes WHERE id = 3;
        INSERT INTO tag VALUES (1), (2), (2);
        """

    private static let dump = """
        SELECT type, name, tbl_name, replace(sql, '"notes"', 'notes') FROM sqlite_schema
            WHERE tbl_name NOT LIKE 'grdb%' ORDER BY 1, 2;
        SELECT rowid, *, typeof(title) FROM notes ORDER BY 1; SELECT rowid, * FROM tag ORDER BY 1;
        SELECT name, seq FROM sqlite_sequence ORDER BY 1;
        SELECT rowid FROM search WHERE search MATCH 'c';
        PRAGMA foreign_key_list(tag); PRAGMA index_xinfo(notes_title);
        PRAGMA integrity_check; PRAGMA foreign_key_check;
        """

    /// The files of each format, and whether they can be taken back.
    @Test(arguments: [
        ("dbmate", true), ("goose", true), ("golang-migrate", true), ("diesel", true),
        ("flyway", true), ("sqlx", false),
    ])
    func uneditedRebuildChangesNothing(_ format: String, _ hasDown: Bool) throws {
        let name = ["golang-migrate": "pairs", "sqlx": "up-only"][format] ?? format
        let tool = try Tool(isRawKey: true)
        let first = try tool.run(
            "create",
            "notes",
            "--format",
            name,
            "--migrations",
            tool.migrations
        )
        #expect(first.status == 0, "\(first)")
        try fill(tool)
        #expect(try tool.onStore("migrate").status == 0)
        _ = try tool.shell(Self.rows)
        let before = try tool.shell(Self.dump)

        let created = try tool.run(
            "create",
            "--rebuild",
            "Notes",
            "notes again",
            "--migrations",
            tool.migrations
        )
        #expect(created.status == 0, "\(created)")
        let up = try tool.onStore("migrate")
        #expect(up.status == 0, "\(up)")
        let after = try tool.shell(Self.dump)
        #expect(after == before)
        #expect(before.contains("notes|3") && before.contains("ok"))
        guard hasDown else { return }
        let down = try tool.onStore("rollback", "--steps", "1")
        #expect(down.status == 0, "\(down)")
        #expect(try tool.shell(Self.dump) == before)
        let again = try tool.onStore("migrate")
        #expect(again.status == 0, "\(again)")
        #expect(try tool.shell(Self.dump) == before)
    }

    /// Writes the schema into the only migration there is.
    private func fill(_ tool: Tool) throws {
        let files = try #require(FileManager.default.enumerator(atPath: tool.migrations))
            .compactMap { $0 as? String }.filter { $0.hasSuffix(".sql") }
        let undo = files.first { $0.hasPrefix("U") || $0.contains("down") }
        for file in files {
            let path = "migrations/\(file)"
            let old = String(decoding: try tool.folder.data(path), as: UTF8.self)
            let sql = file == undo ? "DROP TABLE notes;" : Self.schema
            let parts = old.components(separatedBy: "\n\n\n")
            let text =
                parts.count > 1
                ? "\(parts[0])\n\(sql)\n\n\(parts[1])DROP TABLE notes;\n" : old + sql
            try tool.folder.write(path, text.utf8)
        }
    }

    @Test func nameIsThatOfTheTable() throws {
        let tool = try Tool(isRawKey: true)
        try tool.write("0001_notes", up: "CREATE TABLE \"my notes\" (a);")
        let result = try tool.run(
            "create",
            "--rebuild",
            "my notes",
            "--json",
            "--migrations",
            tool.migrations
        )
        #expect(result.status == 0, "\(result)")
        #expect(result.stdout.contains("0002_rebuild_my_notes"))
    }

    @Test func unknownTableIsRefusedWithTheNearest() throws {
        let tool = try Tool(isRawKey: true)
        try tool.write("0001_notes", up: "CREATE TABLE notes (a); CREATE VIEW v AS SELECT 1;")
        let result = try tool.run("create", "--rebuild", "nots", "--migrations", tool.migrations)
        #expect(result.status == 64, "\(result)")
        #expect(result.stderr.contains("the migrations create no table 'nots'"))
        #expect(result.stderr.contains("Did you mean 'notes'?"))
        let view = try tool.run("create", "--rebuild", "v", "--migrations", tool.migrations)
        #expect(view.status == 64 && view.stderr.contains("it is a view"), "\(view)")
        let none = try tool.run("create", "--migrations", tool.migrations)
        #expect(none.status == 64 && none.stderr.contains("missing expected argument '<name>'"))
        let names = try FileManager.default.contentsOfDirectory(atPath: tool.migrations)
        #expect(names == ["0001_notes.sql"])
    }
}
