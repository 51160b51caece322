import Foundation
import GRDB
import MigrationKitKeys
import MigrationKitRescue
import MigrationKitSQLCipher
import TestSupport
import Testing

/// A small database with pages of every kind, of which each can be damaged: 1024 bytes a page.
struct SmallStore: CustomTestStringConvertible, Sendable {
    /// The SQLCipher version; `nil` for plaintext.
    let compatibility: Int?
    let encoding: String
    let autoVacuum: Int

    var testDescription: String {
        "\(compatibility.map { "SQLCipher \($0)" } ?? "plaintext"), \(encoding), auto_vacuum \(autoVacuum)"
    }

    /// The tables whose rows are compared: those of the full-text index are made anew.
    static let tables = ["note", "pair", "deep", "log"]

    /// Rowids of nine bytes make inner pages that have few children, so that there are three levels.
    static let sql = """
        CREATE TABLE note (id INTEGER PRIMARY KEY AUTOINCREMENT, body TEXT NOT NULL, data BLOB,
            size INTEGER GENERATED ALWAYS AS (length(body)) STORED,
            head TEXT AS (substr(body, 1, 5)), CHECK (length(body) > 0));
        CREATE INDEX note_body ON note (body);
        CREATE TABLE pair (a TEXT, b INTEGER, c REAL, PRIMARY KEY (b DESC, a)) WITHOUT ROWID;
        CREATE TABLE deep (id INTEGER PRIMARY KEY, t TEXT, u TEXT);
        CREATE TABLE log (t TEXT DEFAULT 'x', n INTEGER);
        CREATE VIRTUAL TABLE note_fts USING fts5 (body, content = 'note', content_rowid = 'id');
        CREATE VIRTUAL TABLE own_fts USING fts5 (text);
        CREATE TRIGGER note_added AFTER INSERT ON note BEGIN
            INSERT INTO note_fts (rowid, body) VALUES (new.id, new.body);
            INSERT INTO log (t, n) VALUES ('i', new.id);
        END;
        CREATE VIEW big AS SELECT id FROM note WHERE size > 20;
        WITH RECURSIVE c (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM c WHERE i < 60)
        INSERT INTO note (body, data)
            SELECT 'KLARTEXT zettel ' || i, CASE WHEN i % 6 = 0 THEN randomblob(2500) END FROM c;
        DELETE FROM note WHERE id % 7 = 0;
        INSERT INTO note_fts (note_fts) VALUES ('rebuild');
        INSERT INTO pair SELECT 'k' || id || hex(randomblob(20)), id * 3, id / 7.0 FROM note;
        WITH RECURSIVE c (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM c WHERE i < 140)
        INSERT INTO deep SELECT 4000000000000000000 + i * 1000, hex(randomblob(170)), 'u' || i FROM c;
        INSERT INTO own_fts SELECT 'wort ' || id FROM note;
        ALTER TABLE log ADD COLUMN later TEXT DEFAULT 'added';
        INSERT INTO log VALUES ('z', -1, 'now');
        CREATE TABLE gone (a);
        INSERT INTO gone SELECT t FROM deep LIMIT 20;
        DROP TABLE gone;
        ANALYZE;
        PRAGMA user_version = 42;
        PRAGMA application_id = 1234567;
        """

    func make(_ path: String, key: TestKey, journalMode: String = "delete") throws {
        let size = compatibility == nil ? "page_size" : "cipher_page_size"
        _ = try SQLCipherShell.run(
            path,
            key: compatibility == nil ? nil : key.spelling,
            compatibility: compatibility,
            """
            PRAGMA \(size) = 1024;
            PRAGMA encoding = '\(encoding)';
            PRAGMA auto_vacuum = \(autoVacuum);
            PRAGMA journal_mode = \(journalMode);
            \(Self.sql)
            """
        )
    }

    var cipher: CipherSettings? {
        get throws {
            try compatibility.map { try CipherSettings(compatibility: $0, pageSize: 1024) }
        }
    }

    func form(_ key: TestKey) throws -> DatabaseForm {
        try cipher.map { .encrypted(key.key, cipher: $0) } ?? .plaintext()
    }

    func salvage(
        _ path: String,
        key: TestKey,
        into output: String,
        options: RewriteOptions = .init()
    ) throws -> SalvageReport {
        try DatabaseSalvage(path, to: output, form: form(key), options: options).run()
    }

    func open(_ path: String, key: TestKey) throws -> DatabaseQueue {
        guard let cipher = try cipher else { return try EncryptedDatabase.openPlaintext(path) }
        return try EncryptedDatabase.open(path, key: key.key, options: .init(cipher: cipher))
    }

    // MARK: - What Is Where

    /// A page of the whole file, as SQLite itself tells of it.
    struct Page {
        let table: String
        let type: String
        let cellCount: Int
        /// The rows on it, by their places in the table's order; those of a table with rowids.
        let rows: Range<Int>
    }

    /// Every page that belongs to a table or an index.
    func pages(_ path: String, key: TestKey) throws -> [Int: Page] {
        let lines = try SQLCipherShell.run(
            path,
            key: compatibility == nil ? nil : key.spelling,
            compatibility: compatibility,
            """
            PRAGMA \(compatibility == nil ? "page_size" : "cipher_page_size") = 1024;
            SELECT name, pageno, pagetype, ncell, path FROM dbstat ORDER BY name, path;
            """
        ).split(separator: "\n")
        var pages: [Int: Page] = [:]
        var counts: [String: Int] = [:]
        for line in lines {
            let parts = line.split(separator: "|").map(String.init)
            guard parts.count == 5, let number = Int(parts[1]), let count = Int(parts[3]) else {
                continue
            }
            let first = counts[parts[0], default: 0]
            let isLeaf = parts[2] == "leaf"
            if isLeaf { counts[parts[0]] = first + count }
            pages[number] = Page(
                table: parts[0],
                type: parts[2],
                cellCount: count,
                rows: first..<(isLeaf ? first + count : first)
            )
        }
        return pages
    }

    /// The rows of the tables, in order, each as one text.
    static func rows(
        of queue: DatabaseQueue,
        tables: [String] = Self.tables
    ) throws -> [String: [String]] {
        try queue.read { db in
            var rows: [String: [String]] = [:]
            for table in tables {
                let order = table == "pair" ? "b DESC, a" : "rowid"
                let rowid = table == "pair" ? "0" : "rowid"
                rows[table] = try Row.fetchAll(
                    db,
                    sql: "SELECT \(rowid), * FROM \(table) ORDER BY \(order)"
                ).map { row in row.databaseValues.map { "\($0)" }.joined(separator: "|") }
            }
            return rows
        }
    }
}
