import Foundation
import TestSupport
import Testing

/// A database with everything in it that a copy could lose, made by a shell.
struct RichStore: CustomTestStringConvertible {
    let encoding: String
    let autoVacuum: Int
    let journalMode: String

    var testDescription: String { "\(encoding), auto_vacuum \(autoVacuum), \(journalMode)" }

    /// Every value of each, though not every combination.
    static let all = [
        RichStore(encoding: "UTF-8", autoVacuum: 0, journalMode: "delete"),
        RichStore(encoding: "UTF-8", autoVacuum: 1, journalMode: "wal"),
        RichStore(encoding: "UTF-8", autoVacuum: 2, journalMode: "wal"),
        RichStore(encoding: "UTF-16le", autoVacuum: 0, journalMode: "wal"),
        RichStore(encoding: "UTF-16be", autoVacuum: 1, journalMode: "delete"),
        RichStore(encoding: "UTF-16le", autoVacuum: 2, journalMode: "delete"),
    ]

    /// What stands in every note.
    static let marker = "KLARTEXT-\(UInt64.random(in: 1 << 60 ... .max))"

    /// Makes the file.
    ///
    /// - Parameters:
    ///   - key: As the shell takes it; nil for a plaintext database.
    ///   - compatibility: The SQLCipher version whose format it gets.
    func make(_ path: String, key: String?, compatibility: Int? = nil) throws {
        _ = try SQLCipherShell.run(
            path,
            key: key,
            compatibility: compatibility,
            """
            PRAGMA encoding = '\(encoding)';
            PRAGMA auto_vacuum = \(autoVacuum);
            PRAGMA journal_mode = \(journalMode);
            \(Self.sql)
            """
        )
    }

    /// Everything that is in a file, and stands in its header: as the shell reads it.
    static func content(_ path: String, key: String?) throws -> String {
        try SQLCipherShell.run(
            path,
            key: key,
            """
            PRAGMA encoding; PRAGMA auto_vacuum; PRAGMA journal_mode;
            PRAGMA user_version; PRAGMA application_id;
            SELECT count(*) FROM note_fts WHERE note_fts MATCH 'zettel';
            SELECT count(*), sum(id), sum(length(head)) FROM big;
            SELECT rowid, * FROM sqlite_sequence ORDER BY 1;
            SELECT * FROM sqlite_stat1 ORDER BY 1, 2;
            SELECT rowid, typeof(v), hex(v) FROM mixed;
            SELECT type, name, tbl_name, sql FROM sqlite_schema ORDER BY 1, 2;
            .sha3sum
            PRAGMA integrity_check;
            PRAGMA foreign_key_check;
            """
        )
    }

    private static let sql = """
        CREATE TABLE author (id INTEGER PRIMARY KEY AUTOINCREMENT,
            name TEXT NOT NULL COLLATE NOCASE UNIQUE);
        CREATE TABLE note (id INTEGER PRIMARY KEY AUTOINCREMENT,
            author INTEGER NOT NULL REFERENCES author, body TEXT NOT NULL, data BLOB,
            size INTEGER GENERATED ALWAYS AS (length(body)) STORED,
            head TEXT AS (substr(body, 1, 5)), CHECK (length(body) > 0));
        CREATE INDEX note_head ON note (head) WHERE size > 10;
        CREATE UNIQUE INDEX note_lower ON note (lower(body), id DESC);
        CREATE TABLE pair (a TEXT, b INTEGER, c REAL, PRIMARY KEY (b DESC, a)) WITHOUT ROWID;
        CREATE TABLE exact (x INTEGER, y ANY) STRICT;
        CREATE TABLE "odd ""name"" ü" (rowid TEXT, "oid" TEXT, _rowid_ TEXT);
        CREATE TABLE mixed (v);
        CREATE TABLE log (t TEXT DEFAULT (uuid()), n INTEGER);
        CREATE VIRTUAL TABLE note_fts USING fts5 (body, content = 'note', content_rowid = 'id');
        CREATE TRIGGER note_added AFTER INSERT ON note BEGIN
            INSERT INTO note_fts (rowid, body) VALUES (new.id, new.body);
            INSERT INTO log (t, n) VALUES ('i', new.id);
        END;
        CREATE VIEW big AS SELECT n.id, n.head, a.name FROM note n JOIN author a ON a.id = n.author
            WHERE n.size > 20;
        INSERT INTO author (name) VALUES ('Ada'), ('Grace'), ('Zoë 🦊');
        DELETE FROM author WHERE name = 'Zoë 🦊';
        INSERT INTO author (name) VALUES ('Zoë 🦊');
        WITH RECURSIVE c (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM c WHERE i < 2500)
        INSERT INTO note (author, body, data) SELECT 1 + i % 2,
            '\(marker) zettel ' || i || ' ' || hex(randomblob(i % 200)), randomblob(i % 1500) FROM c;
        DELETE FROM note WHERE id % 7 = 0;
        INSERT INTO note_fts (note_fts) VALUES ('rebuild');
        INSERT INTO pair SELECT 'k' || id, id * 3, id / 7.0 FROM note;
        INSERT INTO exact VALUES (1, 1.0), (2, 'x'), (3, x'00ff'), (4, NULL);
        INSERT INTO "odd ""name"" ü" VALUES ('a', 'b', 'c'), ('d', 'e', 'f');
        INSERT INTO mixed VALUES (1), (1.0), ('1'), (x'31'), (NULL), (9223372036854775807),
            (1e300), (''), (x''), (CAST(x'ff41' AS TEXT)), (zeroblob(300000));
        ANALYZE;
        PRAGMA user_version = 42;
        PRAGMA application_id = 1234567;
        """
}
