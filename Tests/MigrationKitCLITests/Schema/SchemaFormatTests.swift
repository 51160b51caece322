import Foundation
import TestSupport
import Testing

@Suite struct SchemaFormatTests {
    let tool: Tool

    init() throws {
        tool = try Tool()
    }

    private func dump(_ arguments: String...) throws -> ProcessResult {
        try tool.run(["schema-dump", "--migrations", tool.migrations] + arguments)
    }

    @Test func jsonTellsAllOfASchema() throws {
        try tool.write(
            "0001_all",
            up: """
                CREATE TABLE parent (a INT, b INT, PRIMARY KEY (b, a)) STRICT, WITHOUT ROWID;
                CREATE TABLE child (
                    id INTEGER PRIMARY KEY, p INT NOT NULL DEFAULT (1 + 1), q INT,
                    sum INT AS (p + q) STORED, double INT AS (p * 2), UNIQUE (p, q),
                    FOREIGN KEY (p, q) REFERENCES parent ON DELETE CASCADE ON UPDATE SET NULL
                );
                CREATE UNIQUE INDEX child_q ON child (q, abs(p)) WHERE q > 0;
                CREATE VIRTUAL TABLE words USING fts5 (body);
                CREATE VIEW sums AS SELECT id, sum FROM child;
                CREATE TRIGGER watch AFTER DELETE ON child BEGIN SELECT 1; END;
                """
        )
        let document = try dump("--format", "json").json()
        #expect(document["schemaVersion"] as? Int == 1)
        #expect(document["migrations"] as? [String] == ["0001_all"])
        let tables = try #require(document["tables"] as? [[String: Any]])
        #expect(tables.map { $0["name"] as? String } == ["child", "parent", "words"])

        let (child, parent, words) = (tables[0], tables[1], tables[2])
        let columns = try #require(child["columns"] as? [[String: Any]])
        #expect(columns.map { $0["name"] as? String } == ["id", "p", "q", "sum", "double"])
        #expect(columns[0]["primaryKey"] as? Int == 1)
        #expect(columns[1]["notNull"] as? Bool == true)
        #expect(columns[1]["default"] as? String == "1 + 1")
        #expect(columns[3]["generated"] as? String == "stored")
        #expect(columns[4]["generated"] as? String == "virtual")
        #expect(child["unique"] as? [[String]] == [["p", "q"]])
        let reference = try #require((child["references"] as? [[String: Any]])?.first)
        #expect(reference["columns"] as? [String] == ["p", "q"])
        #expect(reference["table"] as? String == "parent")
        #expect(reference["referencedColumns"] as? [String] == ["b", "a"])
        #expect(reference["onDelete"] as? String == "CASCADE")
        #expect(reference["onUpdate"] as? String == "SET NULL")
        let index = try #require((child["indexes"] as? [[String: Any]])?.first)
        #expect(index["name"] as? String == "child_q")
        #expect(index["unique"] as? Bool == true)
        #expect(index["partial"] as? Bool == true)
        #expect((index["columns"] as? [Any])?.last is NSNull)

        #expect(parent["strict"] as? Bool == true)
        #expect(parent["withoutRowid"] as? Bool == true)
        #expect(
            (parent["columns"] as? [[String: Any]])?.map { $0["primaryKey"] as? Int } == [2, 1]
        )
        #expect(words["virtual"] as? Bool == true)
        let view = try #require((document["views"] as? [[String: Any]])?.first)
        #expect(
            (view["columns"] as? [[String: Any]])?.map { $0["name"] as? String } == ["id", "sum"]
        )
        let trigger = try #require((document["triggers"] as? [[String: Any]])?.first)
        #expect(trigger["table"] as? String == "child")
    }

    @Test func jsonFlagHasTheTextUnderTheNameOfItsForm() throws {
        try tool.writeItems()
        for format in ["sql", "mermaid", "dot"] {
            let text = try dump("--format", format).stdout
            let document = try dump("--format", format, "--json").json()
            #expect(document["format"] as? String == format)
            #expect(document[format] as? String == text)
        }
        let json = try dump("--format", "json")
        #expect(try dump("--format", "json", "--json").stdout == json.stdout)
    }

    @Test func anySQLiteGetsTheLedgerWithTheSchema() throws {
        try tool.write("0001_it's", up: "CREATE TABLE item (id);")
        let loaded = try SQLCipherShell.run(
            tool.folder.path("loaded.db"),
            key: nil,
            dump().stdout + "SELECT identifier FROM grdb_migrations;"
        )
        #expect(loaded == "0001_it's")
    }

    // MARK: - --check

    @Test(arguments: ["sql", "json", "mermaid", "dot"])
    func aFileThatWasJustWrittenIsUpToDate(_ format: String) throws {
        try tool.writeItems()
        let file = tool.folder.path("schema")
        #expect(try dump("--format", format, "--output", file).status == 0)
        let same = try dump("--format", format, "--check", file)
        #expect(same.status == 0)
        #expect(same.stdout == "\(file) is up to date.\n")
        #expect(same.stderr.isEmpty)
        #expect(
            try dump("--format", format, "--check", file, "--json").json()["matches"] as? Bool
                == true
        )

        try tool.write("0004_more", up: "CREATE TABLE more (id INTEGER, name TEXT);")
        #expect(try dump("--format", format, "--check", file).status == 3)
    }

    /// The text that SQLite keeps of a table changes when a migration renames it, or adds a column.
    @Test func otherWordsForTheSameSchemaAreNoDifference() throws {
        try tool.write("0001_note", up: "CREATE TABLE note (id INTEGER PRIMARY KEY);")
        let file = tool.folder.path("schema.sql")
        try tool.folder.write(
            "schema.sql",
            """
            -- What we want.
            CREATE TABLE note (id INTEGER PRIMARY KEY, title TEXT DEFAULT '', n INTEGER UNIQUE);
            CREATE INDEX note_title ON note(title);
            """.utf8
        )
        let create = ["create", "title", "--to", file, "--migrations", tool.migrations]
        let created = try tool.run(create + ["--allow-hazard", "rewrites-table"])
        #expect(created.status == 0, "\(created)")
        #expect(try dump().stdout.contains("CREATE TABLE \"note\""))
        let same = try dump("--check", file)
        #expect(same.status == 0, "\(same)")
        #expect(same.stdout == "\(file) is up to date.\n")
        let document = try dump("--check", file, "--json").json()
        #expect(document["matches"] as? Bool == true && document["difference"] as? String == "")

        // What it records is compared, too.
        _ = try dump("--output", file)
        let text = String(decoding: try tool.folder.data("schema.sql"), as: UTF8.self)
        try tool.folder.write("schema.sql", text.replacing("\"note\"", with: "note").utf8)
        #expect(try dump("--check", file).status == 0)
        try tool.folder.write("schema.sql", text.replacing("0001_note", with: "0001_n").utf8)
        #expect(try dump("--check", file).status == 3)
        try tool.folder.write("schema.sql", text.replacing("DEFAULT ''", with: "DEFAULT 'a'").utf8)
        #expect(try dump("--check", file).status == 3)
    }

    @Test func aDifferenceInJSONIsOneDocumentAndOneError() throws {
        try tool.writeItems()
        let file = try tool.folder.write("schema.sql", "".utf8)
        let result = try dump("--check", file, "--json")
        #expect(result.status == 3)
        let document = try result.json()
        #expect(document["matches"] as? Bool == false)
        #expect(document["file"] as? String == file)
        #expect((document["difference"] as? String)?.contains("+CREATE TABLE") == true)
        #expect(try result.jsonError()["code"] as? String == "schemaDiffers")
        #expect(try result.jsonError()["exit"] as? Int == 3)
    }

    @Test func aFileThatIsMissingIsNoDifference() throws {
        try tool.writeItems()
        let result = try dump("--check", tool.folder.path("none.sql"), "--format", "dot")
        #expect(result.status == 66)
        #expect(result.stdout.isEmpty)
        #expect(result.stderr.contains("schema-dump --format dot --migrations "))
    }
}
