import Foundation
import TestSupport
import Testing

/// What `query` and `tables` print, and what `--write` changes.
@Suite struct QueryCommandTests {
    private let store: QueriedStore<Tool>

    init() throws {
        store = try QueriedStore<Tool>()
    }

    private func lines(_ arguments: String..., input: String = "") throws -> [String] {
        let result = try store.query(arguments, input: input)
        #expect(result.status == 0, "\(result)")
        return result.stdout.split(separator: "\n").map(String.init)
    }

    // MARK: - SQL

    @Test(arguments: [
        ("1", "integer", "1"), ("-7", "integer", "-7"), ("007", "text", "'007'"),
        ("9223372036854775808", "text", "'9223372036854775808'"), ("1.50", "real", "1.5"),
        ("1e3", "real", "1000.0"), ("1e999", "text", "'1e999'"), ("inf", "text", "'inf'"),
        ("null", "null", "NULL"), ("'null'", "text", "'null'"), ("'42'", "text", "'42'"),
        ("''", "text", "''"), ("", "text", "''"), ("O'Neill", "text", "'O''Neill'"),
        ("'it's'", "text", "'it''s'"), ("x'00fF'", "blob", "X'00FF'"), ("X''", "blob", "X''"),
        ("'a=b'", "text", "'a=b'"), ("日本", "text", "'日本'"),
    ])
    func boundValueHasTheTypeThatItLooksLike(_ given: String, _ type: String, _ literal: String)
        throws
    {
        for parameter in [":v", "@v", "$v"] {
            let result = try store.query(
                "SELECT typeof(\(parameter)) || ' ' || quote(\(parameter)) AS v",
                "--bind",
                "v=\(given)",
                "--format",
                "list"
            )
            #expect(result.stdout == "\(type) \(literal)\n", "\(result)")
        }
    }

    @Test func parametersWithoutNamesHaveNumbers() throws {
        #expect(
            try lines(
                "SELECT ?, ?3, ?",
                "--bind",
                "1=a",
                "--bind",
                "2=b",
                "--bind",
                "?3=c",
                "--bind",
                "4=d",
                "--format",
                "list"
            ) == ["a|c|d"]
        )
    }

    // MARK: - Formats

    @Test func jsonIsValidAndLosesNothing() throws {
        let expected = try store.tool.shell(
            "SELECT id, hex(CAST(title AS BLOB)), hex(body) FROM note ORDER BY id;"
        )
        for format in ["json", "jsonl"] {
            let result = try store.query("SELECT * FROM note ORDER BY id", "--format", format)
            #expect(result.status == 0 && result.stderr.isEmpty)
            // No control, and nothing that isn't UTF-8.
            #expect(!result.controlsTerminal)
            #expect(String(validating: result.outputBytes, as: UTF8.self) != nil)
            let rows: [[String: Any]]
            if format == "json" {
                let document = try result.json()
                #expect(document["columns"] as? [String] == ["id", "title", "body", "size"])
                #expect(document["schemaVersion"] as? Int == 1)
                rows = try #require(document["rows"] as? [[String: Any]])
            } else {
                rows = try result.stdout.split(separator: "\n").map {
                    try #require(
                        try JSONSerialization.jsonObject(with: Data($0.utf8)) as? [String: Any]
                    )
                }
            }
            func hex(_ value: Any?) -> String {
                switch value {
                case let text as String: text.utf8.map { String(format: "%02X", $0) }.joined()
                case let object as [String: String]: object["hex"] ?? "?"
                case let number as NSNumber:
                    number.stringValue.utf8.map { String(format: "%02X", $0) }.joined()
                default: ""
                }
            }
            let found = rows.map {
                "\($0["id"] ?? "")|\(hex($0["title"]))|\(hex($0["body"]))"
            }
            #expect(found.joined(separator: "\n") == expected)
            #expect(
                (rows[1]["size"] as? [String: String]) == ["type": "real", "value": "Infinity"]
            )
            #expect((rows[3]["size"] as? [String: String])?["value"] == "-Infinity")
            #expect(result.stdout.contains("\"body\":9223372036854775807"))
        }
    }

    @Test func jsonKeysDiffer() throws {
        #expect(
            try lines("SELECT 1 AS a, 2 AS a, 3 AS \"a:2\"", "--format", "jsonl")
                == [#"{"a":1,"a:2":2,"a:2:2":3}"#]
        )
        #expect(
            try lines("SELECT 1 AS a WHERE 0", "--json") == [
                #"{"columns":["a"],"rows":[],"schemaVersion":1}"#
            ]
        )
    }

    @Test func markdownHasNoMarkupOfTheData() throws {
        #expect(
            try lines("SELECT title FROM note WHERE id = 3", "--format", "markdown")
                == ["| title |", "| --- |", "| two␊lines␍␈\\|\\`\\<b\\> |"]
        )
    }

    @Test func tableIsAlignedByColumnsOfTheTerminal() throws {
        let sql = "SELECT * FROM (VALUES ('日本', 1), ('e\u{301}', 2), ('👍', 3), ('abc', 4)) AS v"
        #expect(
            try lines(sql)
                == [
                    "column1  column2", "-------  -------", "日本     1", "e\u{301}        2",
                    "👍       3", "abc      4",
                ]
        )
    }

    @Test func longerValuesThanTheFirstOnesAreWholeInAFile() throws {
        let sql = """
            WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT 300)
            SELECT i, CASE WHEN i < 300 THEN 'x' ELSE printf('%.*c', 200000, 'z') END AS text, 'end' AS e FROM n
            """
        let lines = try lines(sql)
        try #require(lines.count == 302)
        #expect(lines[2] == "1    x     end")
        #expect(lines.last?.count == 200_008)
    }

    @Test(arguments: ["table", "list", "markdown"])
    func rowsCannotControlATerminal(_ format: String) throws {
        for sql in [
            "SELECT * FROM note", "SELECT * FROM \"\u{1B}[31mbad\"",
            "SELECT '\u{1B}' AS \"\u{9B}\"",
        ] {
            let result = try store.query(sql, "--format", format)
            #expect(result.status == 0, "\(result)")
            #expect(!result.controlsTerminal, "\(result)")
        }
        let tables = try store.tool.run(["tables", "--quick"] + store.tool.opening)
        #expect(tables.status == 0 && !tables.controlsTerminal, "\(tables)")
    }

    // MARK: - Writing

    @Test func changesAreCountedAndKept() throws {
        let result = try store.query(
            "--write",
            "UPDATE note SET title = :t WHERE id < 3",
            "--bind",
            "t=new"
        )
        #expect(
            result.stdout == "Changed 2 rows, and triggers and foreign keys 2 more.\n",
            "\(result)"
        )
        #expect(try store.tool.shell("SELECT count(*) FROM note WHERE title = 'new';") == "2")
        let returning = try store.query(
            "--write",
            "DELETE FROM note WHERE id = 6 RETURNING id",
            "--json"
        )
        #expect(
            returning.stdout == """
                {"columns":["id"],"rows":[
                {"id":6}],"changes":1,"committed":true,"indirectChanges":0,"schemaVersion":1}

                """
        )
        let csv = try store.query(
            "--write",
            "DELETE FROM note WHERE id = 5 RETURNING id",
            "--format",
            "csv"
        )
        #expect(csv.stdout == "id\n5\n" && csv.stderr == "Changed 1 row.\n", "\(csv)")
        // Virtual tables change tables of their own.
        #expect(
            try store.query(
                "--write",
                "INSERT INTO words VALUES ('x'); INSERT INTO area VALUES (2, 3, 4)"
            ).status == 0
        )
        #expect(
            try store.tool.shell("SELECT count(*) FROM words; SELECT count(*) FROM area;") == "2\n2"
        )
    }

    @Test func referencesAreEnforced() throws {
        #expect(
            try store.query(
                "--write",
                "INSERT INTO child VALUES (1); INSERT INTO parent VALUES (1)"
            ).status == 0
        )
        let result = try store.query("--write", "DELETE FROM parent", "--json")
        #expect(try result.jsonError()["code"] as? String == "sqlFailed")
        #expect(try store.tool.shell("SELECT count(*) FROM parent;") == "1")
    }

    @Test func writingWaitsForARunOfMigrations() throws {
        let lock = open(
            store.tool.database + "-migration.lock",
            O_CREAT | O_RDWR | O_CLOEXEC,
            0o600
        )
        try #require(lock >= 0 && flock(lock, LOCK_EX | LOCK_NB) == 0)
        defer { close(lock) }
        let result = try store.query("--write", "DELETE FROM note", "--lock-timeout", "0")
        #expect(result.status == 75, "\(result)")
        #expect(try store.query("SELECT count(*) FROM note").status == 0)
    }

    // MARK: - Virtual Tables, Journals

    @Test func virtualTablesAreRead() throws {
        #expect(try lines("SELECT * FROM words WHERE words MATCH 'world'").last == "hello world")
        #expect(try lines("SELECT * FROM area").last == "1   2.0  3.0")
        #expect(try lines("SELECT name FROM pragma_table_info('note')").last == "size")
        #expect(try lines("PRAGMA integrity_check").last == "ok")
    }

    @Test func databaseInWALModeIsReadBesideItsWriter() throws {
        _ = try store.tool.shell("PRAGMA journal_mode = WAL; INSERT INTO log VALUES (1);")
        let before = try store.tool.folder.data("store.db")
        #expect(try lines("SELECT count(*) AS n FROM log") == ["n", "-", "1"])
        #expect(try store.tool.folder.data("store.db") == before)
    }

    @Test func tablesAreListedWithTheirRows() throws {
        _ = try store.tool.shell(
            """
            DROP VIEW endless; CREATE VIEW broken AS SELECT * FROM gone;
            CREATE VIEW short AS SELECT id, title FROM note; CREATE INDEX i ON note (title);
            """
        )
        let result = try store.tool.run(["tables"] + store.tool.opening)
        #expect(result.status == 0, "\(result)")
        #expect(result.stdout.contains(/note +table +6 +4 +1\n/))
        #expect(result.stdout.contains(#/words +virtual +1 /#))
        #expect(result.stdout.contains(/broken +view +0/))
        #expect(result.stdout.contains(/short +view +6 +2 +0\n/))
        #expect(result.stderr.contains("note: broken can't be used: no such table: main.gone"))
        let tables = try store.tool.run(["tables", "--json"] + store.tool.opening).json()["tables"]
        let note = try #require(
            (tables as? [[String: Any]])?.first { $0["name"] as? String == "note" }
        )
        #expect(note["rows"] as? Int == 6 && note["kind"] as? String == "table")
    }
}
