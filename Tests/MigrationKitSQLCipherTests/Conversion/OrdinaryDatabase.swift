import Foundation
import TestSupport

/// A random database as apps leave it: rows were deleted from tables with every kind of key.
struct OrdinaryDatabase {
    private(set) var script: [String] = []
    private var generator: SeededGenerator

    init(seed: UInt64) {
        generator = SeededGenerator(seed: seed)
        add()
    }

    /// - Parameter script: What isn't left to chance.
    init(script: [String]) {
        generator = SeededGenerator(seed: 0)
        self.script = script
    }

    /// Makes the file with the `sqlite3` shell.
    func make(_ path: String) throws {
        // Newer shells are defensive by default.
        _ = try SQLiteShell.run(path, ".dbconfig defensive off\n" + script.joined(separator: "\n"))
    }

    /// Lists the files whose content another engine finds to differ from that of the first.
    ///
    /// - Parameter files: Each with a raw key as `x'...'`, or none, and its page size.
    static func differences(_ files: [(path: String, key: String?, pageSize: Int)]) throws -> String
    {
        try Python.output(
            of: Python.connect + comparison,
            input: files.map { [$0.path, $0.key ?? "", $0.pageSize] }
        )
    }

    private static let comparison = """
        def quoted(name):
            return b'"' + name.replace(b'"', b'""') + b'"'

        def content(path, key, size):
            db = connect(path, None)
            if key:
                db.execute('PRAGMA key = "%s"' % key)
                db.execute('PRAGMA cipher_page_size = %d' % size)
            db.text_factory = bytes
            def rows(sql, *values):
                text = sql.decode('utf-8', 'surrogateescape') if isinstance(sql, bytes) else sql
                return db.execute(text, values).fetchall()
            found = {name: rows('PRAGMA ' + name) for name in (
                'encoding', 'auto_vacuum', 'user_version', 'application_id', 'integrity_check')}
            schema = rows('SELECT type, name, tbl_name, sql, rootpage > 0 FROM sqlite_schema')
            found['schema'] = [row[:4] for row in schema]
            for kind, name, _, sql, has_pages in schema:
                if kind != b'table' or not has_pages:
                    continue
                columns = rows('SELECT name, hidden FROM pragma_table_xinfo(?)', name.decode())
                taken = [column.lower() for column, _ in columns]
                free = [n for n in (b'rowid', b'_rowid_', b'oid') if n not in taken]
                without = rows('SELECT wr FROM pragma_table_list(?)', name.decode())[0][0]
                wanted = free[:1] if not without else []
                for column, hidden in columns:
                    if hidden != 2:
                        wanted += [b'typeof(' + quoted(column) + b')', quoted(column)]
                found[name] = rows(b'SELECT ' + b', '.join(wanted) + b' FROM ' + quoted(name))
            for name in [row[1].decode() for row in schema if row[1] in (b'words5', b'words4')]:
                found['match ' + name] = rows(
                    'SELECT rowid, * FROM %s WHERE %s MATCH ?' % (name, name), 'word1')
            db.close()
            return found

        files = json.load(sys.stdin)
        expected = content(*files[0])
        for file in files[1:]:
            found = content(*file)
            for name in expected.keys() | found.keys():
                if expected.get(name) != found.get(name):
                    print(os.path.basename(file[0]), name, expected.get(name), found.get(name))
        """

    // MARK: - What Is in It

    private mutating func add() {
        script = [
            ".dbconfig legacy_file_format \(chance(4) ? "on" : "off")",
            "PRAGMA encoding = '\(pick(["UTF-8", "UTF-16le", "UTF-16be"]))';",
            "PRAGMA auto_vacuum = \(number(0...2));",
            "PRAGMA page_size = \(1 << number(9...14));",
            "PRAGMA journal_mode = \(pick(["delete", "wal"]));",
            "PRAGMA user_version = \(number(0...99)); PRAGMA application_id = \(number(0...99));",
            "BEGIN;",
        ]
        for index in 0..<Self.tables.count { addTable("t\(index)", Self.tables[index]) }
        for _ in 0..<number(0...4) { addTable("more\(script.count)", pick(Self.tables)) }
        addVirtualTables()
        script += [
            "ANALYZE; DELETE FROM sqlite_stat1 WHERE rowid % \(number(2...4)) = 0;",
            "DELETE FROM sqlite_sequence WHERE rowid = 1;",
            "CREATE VIEW broken AS SELECT * FROM missing;",
            "CREATE TRIGGER fires AFTER INSERT ON t0 BEGIN DELETE FROM t1; END;",
            "COMMIT;",
            "PRAGMA writable_schema = ON;",
            "UPDATE sqlite_schema SET sql = sql || ' -- \(number(0...99))' WHERE name IN ('t0', 'i1');",
            """
            INSERT INTO sqlite_schema VALUES ('table', 'app', 'app', 0, \
            'CREATE VIRTUAL TABLE app USING only_in_the_app (x)');
            """,
        ]
    }

    /// The columns `a` and `b`, and what follows them.
    private static let tables = [
        "(a, b)", "(a, b REAL)", "(a TEXT, b NUMERIC)", "(a INTEGER, b DOUBLE)",
        "(a, b, id INTEGER PRIMARY KEY)", "(a, b, id INTEGER PRIMARY KEY AUTOINCREMENT)",
        "(a, b, id TEXT PRIMARY KEY DEFAULT (hex(randomblob(8))))",
        "(a, b, id INTEGER PRIMARY KEY DESC)",
        "(a NOT NULL, b NOT NULL, PRIMARY KEY (a DESC, b)) WITHOUT ROWID",
        "(a ANY, b ANY, c REAL DEFAULT 7) STRICT",
        "(a, b, twice AS (a || a), half TEXT AS (substr(b, 1, 2)) STORED)",
        "(a, b, rowid DEFAULT 1)", "(a, b, oid DEFAULT 1, \"Rowid\" DEFAULT 2)",
        "(a, b, oid DEFAULT 1, rowid DEFAULT 2, _rowid_ DEFAULT 3)",
        "(a, b CHECK (b <> \"zz\"), c DEFAULT \"text\", FOREIGN KEY (a) REFERENCES missing (x))",
        "(a, b, UNIQUE (a, b) ON CONFLICT REPLACE)",
    ]

    private mutating func addTable(_ name: String, _ definition: String) {
        script.append("CREATE TABLE \(name) \(definition);")
        if chance(3) { addIndex(name) }
        insert(name)
        // Rows from before have fewer values.
        if chance(3) { script.append("ALTER TABLE \(name) ADD COLUMN later REAL DEFAULT 3;") }
        let hasRowids = !definition.hasSuffix("WITHOUT ROWID")
        let isHidden = definition.contains("_rowid_")
        if hasRowids, !isHidden {
            let rowid = "_rowid_"
            script.append(
                "DELETE FROM \(name) WHERE \(rowid) % \(number(2...9)) = \(number(0...1));"
            )
            if chance(3) {
                let least = pick(["-9223372036854775808", "-5", "0"])
                script.append(
                    "INSERT INTO \(name) (\(rowid), a, b) VALUES (\(least), 'least', 'x');"
                )
            }
            if chance(4) {
                script.append(
                    "UPDATE \(name) SET \(rowid) = \(rowid) + \(number(1 << 20...1 << 40)) WHERE \(rowid) > 20;"
                )
            }
        } else {
            script.append("DELETE FROM \(name) WHERE a LIKE '%\(number(0...9))%';")
        }
        if chance(2) { insert(name) }
        if chance(3) { addIndex(name) }
    }

    private mutating func addIndex(_ table: String) {
        let place = pick([
            "(a)", "(b DESC, a)", "(a COLLATE NOCASE)", "(lower(hex(a)), b)", "(b) WHERE b > 3",
        ])
        script.append("CREATE INDEX i\(script.count)_\(table) ON \(table) \(place);")
        if table == "t1" { script.append("CREATE INDEX IF NOT EXISTS i1 ON t1 (a);") }
    }

    private mutating func insert(_ table: String) {
        let values = (0..<number(1...60)).map { "(\(value($0)), \(value($0)))" }
        script.append(
            "INSERT OR IGNORE INTO \(table) (a, b) VALUES \(values.joined(separator: ", "));"
        )
    }

    private mutating func value(_ index: Int) -> String {
        pick([
            "\(index)", "0", "1", "\(number(-9...9)).0", "\(number(0...1 << 62))", "1e300", "0.1",
            "'word\(number(0...3)) \(index)'", "'Ünï \(index)'", "'12'", "''", "NULL", "x'00ff'",
            "CAST(hex(zeroblob(\(number(0...1500)))) AS BLOB)",
            "hex(zeroblob(\(number(0...2000))))",
        ])
    }

    private mutating func addVirtualTables() {
        script += [
            "CREATE VIRTUAL TABLE words5 USING fts5 (x, prefix = 2);",
            "CREATE VIRTUAL TABLE words4 USING fts4 (x, tokenize = porter);",
            "CREATE VIRTUAL TABLE outside USING fts5 (a, content = 't0');",
            "CREATE VIRTUAL TABLE boxes USING rtree (id, low, high);",
            "INSERT INTO outside (rowid, a) SELECT rowid, a FROM t0;",
        ]
        for index in 0..<number(5...30) {
            script.append(
                """
                INSERT INTO words5 VALUES ('word\(index % 4) other'); \
                INSERT INTO words4 SELECT x FROM words5 WHERE rowid = last_insert_rowid(); \
                INSERT INTO boxes VALUES (\(index * 3), \(index), \(index + number(1...9)));
                """
            )
        }
        for (table, id) in [("words5", "rowid"), ("words4", "rowid"), ("boxes", "id")] {
            script.append("DELETE FROM \(table) WHERE \(id) % 3 = \(number(0...2));")
        }
    }

    // MARK: - Chance

    private mutating func number(_ range: ClosedRange<Int>) -> Int {
        .random(in: range, using: &generator)
    }

    private mutating func chance(_ count: Int) -> Bool { number(1...count) == 1 }

    private mutating func pick(_ choices: [String]) -> String {
        choices[number(0...choices.count - 1)]
    }
}
