import Foundation
import GRDB
import MigrationKit
import MigrationKitGRDB
import MigrationKitKeys
import MigrationKitRescue
import MigrationKitSQLCipher
import TestSupport
import Testing

/// A first page that is damaged, and with it the names of the tables: migrations know them.
@Suite struct LostSchemaTests {
    private let folder: TemporaryFolder
    private let key: TestKey
    private let runner: GRDBMigrationRunner

    init() throws {
        folder = try TemporaryFolder()
        key = try TestKey.raw()
        let steps = [
            """
            CREATE TABLE notes (id INTEGER PRIMARY KEY, title TEXT NOT NULL, n INTEGER);
            CREATE TABLE tags (id INTEGER PRIMARY KEY, name TEXT UNIQUE);
            """,
            """
            CREATE TABLE links (a INTEGER, b INTEGER, PRIMARY KEY (a, b)) WITHOUT ROWID;
            CREATE INDEX notes_title ON notes (title);
            CREATE TABLE one (id INTEGER PRIMARY KEY, v TEXT, w TEXT);
            CREATE TABLE two (id INTEGER PRIMARY KEY, v TEXT, w TEXT);
            CREATE VIRTUAL TABLE words USING fts5 (title, content = 'notes', content_rowid = 'id');
            CREATE VIEW titles AS SELECT title FROM notes;
            CREATE TRIGGER gone AFTER DELETE ON notes BEGIN DELETE FROM links WHERE a = old.id; END;
            """,
            "CREATE TABLE later (id INTEGER PRIMARY KEY, r REAL, s TEXT, b BLOB);",
        ]
        runner = try GRDBMigrationRunner(
            steps: steps.enumerated().map { index, sql in
                MigrationStep(identifier: "000\(index + 1)", sourceFile: "\(index)") {
                    try $0.execute(sql: sql)
                }
            }
        )
    }

    /// Makes a database, fills it, and overwrites eight bytes of its first page.
    private func makeDamaged(upTo last: String, _ more: String = "") throws {
        let queue = try EncryptedDatabase.open(
            folder.database,
            key: key.key,
            options: .init(createsFile: true)
        )
        try runner.migrate(in: queue, upTo: last)
        try queue.write { db in
            try db.execute(
                sql: """
                    WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT 700)
                    INSERT INTO notes SELECT i, 't' || hex(randomblob(20)), i FROM n;
                    INSERT INTO tags SELECT id, 'tag' || id FROM notes WHERE id < 50;
                    INSERT INTO links SELECT n.id, t.id FROM notes n, tags t WHERE n.id < 100;
                    INSERT INTO one SELECT id, title, 'one' FROM notes;
                    INSERT INTO two SELECT id, title, 'two' FROM notes;
                    INSERT INTO words (words) VALUES ('rebuild');
                    \(more)
                    """
            )
        }
        try queue.close()
        var data = try folder.databaseData()
        data.replaceSubrange(500..<508, with: Data(repeating: 88, count: 8))
        try folder.write("notes.db", data)
    }

    private func salvage(_ runner: GRDBMigrationRunner?) throws -> SalvageReport {
        var salvage = DatabaseSalvage(
            folder.database,
            to: folder.path("new.db"),
            form: .encrypted(key.key)
        )
        salvage.runner = runner
        return try salvage.run()
    }

    private func read(_ sql: String) throws -> [String] {
        let queue = try EncryptedDatabase.open(folder.path("new.db"), key: key.key)
        defer { try? queue.close() }
        return try queue.read { try String.fetchAll($0, sql: sql) }
    }

    @Test(arguments: ["0002", "0003"])
    func migrationsNameTheTables(_ last: String) throws {
        try makeDamaged(upTo: last)
        let report = try salvage(runner)
        #expect(report.lostAndFound == nil, "\(report)")
        #expect(Set(["notes", "tags", "links", "one", "two"]).isSubset(of: report.namedTables))
        #expect(report.unmade == [])
        let isComplete = report.isComplete
        #expect(!isComplete)
        #expect(
            try read(
                """
                SELECT count(*) FROM notes UNION ALL SELECT count(*) FROM links
                UNION ALL SELECT count(*) FROM one WHERE w = 'one'
                UNION ALL SELECT count(*) FROM two WHERE w = 'two'
                UNION ALL SELECT count(*) FROM words WHERE words MATCH 't*'
                UNION ALL SELECT max(identifier) FROM grdb_migrations
                """
            ) == ["700", "4851", "700", "700", "700", last]
        )
        #expect(
            try read("SELECT name FROM sqlite_schema WHERE type IN ('view', 'trigger') ORDER BY 1")
                == ["gone", "titles"]
        )
        #expect(try read("PRAGMA integrity_check") == ["ok"])
        let queue = try EncryptedDatabase.open(folder.path("new.db"), key: key.key)
        try runner.migrate(in: queue)
        #expect(!(try runner.hasPendingMigrations(in: queue)))
        try queue.close()
    }

    /// Tables of the app's own, and pages that are free: only what is certain has a name.
    @Test func uncertainRowsStayNameless() throws {
        try makeDamaged(
            upTo: "0003",
            """
            CREATE TABLE own (id INTEGER PRIMARY KEY, v TEXT, w TEXT);
            INSERT INTO own SELECT id, v, 'own' FROM one;
            DROP INDEX notes_title;
            """
        )
        let report = try salvage(runner)
        #expect(report.namedTables.contains("notes"), "\(report.namedTables)")
        #expect(try read("SELECT count(*) FROM notes") == ["700"])
        // Two numbers may be rows of 'words_config', too.
        #expect(!report.namedTables.contains("links"))
        #expect(
            try read(
                "SELECT count(*) FROM lost_and_found WHERE c0 < 100 AND c1 < 50 AND c2 IS NULL"
            )
                == ["4851"]
        )
        #expect(Set(["one", "two", "own"]).isDisjoint(with: report.namedTables))
        #expect(try read("SELECT count(*) FROM lost_and_found WHERE c2 = 'own'") == ["700"])
        #expect(try read("SELECT count(*) FROM lost_and_found WHERE c2 = 'two'") == ["700"])
    }

    @Test func rowsStayNamelessWithoutMigrations() throws {
        try makeDamaged(upTo: "0003")
        let report = try salvage(nil)
        #expect(report.namedTables == [])
        #expect(report.lostAndFound?.rowCount ?? 0 > 2100)
    }
}
