import Foundation
import TestSupport
import Testing

@Suite struct SalvageCommandTests {
    private let tool: Tool

    init() throws {
        tool = try Tool(isRawKey: true)
    }

    private var output: String { tool.folder.path("new.db") }

    private func salvage(_ arguments: String...) throws -> ProcessResult {
        try tool.run(["salvage"] + tool.opening + ["--output", output] + arguments)
    }

    @Test func migrationsNameTheTablesOfADamagedFirstPage() throws {
        try tool.write("0001_items", up: "CREATE TABLE item (id INTEGER PRIMARY KEY, t TEXT);")
        #expect(try tool.onStore("migrate").status == 0)
        _ = try tool.shell("INSERT INTO item VALUES (1, 'one'), (2, 'two');")
        var data = try tool.folder.data("store.db")
        data.replaceSubrange(500..<508, with: Data(repeating: 88, count: 8))
        try tool.folder.write("store.db", data)

        let nameless = try salvage()
        #expect(nameless.status == 2)
        #expect(nameless.stdout.contains(" lost_and_found\n"), "\(nameless)")
        #expect(nameless.stdout.contains("baseline <last migration> --db-path"))
        unlink(output)

        let named = try salvage("--migrations", tool.migrations)
        #expect(named.status == 2)
        #expect(named.stdout.contains("Named by the migrations: "), "\(named)")
        #expect(!named.stdout.contains("lost_and_found") && !named.stdout.contains("baseline"))
        #expect(named.stdout.contains("restore --from \(output) --db-path \(tool.database)"))

        // The printed way back works.
        let kept = tool.folder.path("damaged.db")
        let restored = try tool.run(
            ["restore"] + tool.opening + ["--from", output, "--keep-original", kept, "--yes"]
        )
        #expect(restored.status == 0, "\(restored)")
        #expect(try tool.shell("SELECT count(*) FROM item;") == "2")
        let verified = try tool.onStore("verify", "--full")
        #expect(verified.status == 0, "\(verified)")
    }

    @Test func secondKeyNeedsASource() throws {
        _ = try tool.shell("CREATE TABLE t (a);")
        let result = try salvage("--second-raw-key")
        #expect(result.status == 64 && result.stderr.contains("--second-raw-key"), "\(result)")
    }

    @Test func secondKeyOpensTheOtherPages() throws {
        _ = try tool.shell(
            "CREATE TABLE t (a); INSERT INTO t VALUES (1); CREATE TABLE u (a); INSERT INTO u VALUES (2);"
        )
        let mine = try tool.folder.data("store.db")
        let other = ToolFolder.randomDigits(count: 64)
        try tool.folder.write("other", other.utf8)
        _ = try tool.shell("PRAGMA rekey = \"x'\(other)'\";")
        // The last page still has the first key.
        let changed = try tool.folder.data("store.db")
        try tool.folder.write("store.db", changed.prefix(2 * 4096) + mine.suffix(4096))
        let alone = try salvage()
        #expect(alone.status == 2 && alone.stderr.contains("--second-password-file"), "\(alone)")
        unlink(output)
        let both = try salvage(
            "--second-password-file",
            tool.folder.path("other"),
            "--second-raw-key"
        )
        #expect(both.status == 0, "\(both)")
        #expect(
            try SQLCipherShell.run(output, key: tool.shellKey, "SELECT t.a, u.a FROM t, u;")
                == "1|2"
        )
    }

    /// A document of a few lines, whatever the header says.
    @Test func documentIsBounded() throws {
        _ = try tool.shell(
            """
            CREATE TABLE t (a);
            WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT 2000)
            INSERT INTO t SELECT zeroblob(3000) FROM n;
            """
        )
        let leaves = try tool.shell(
            "SELECT pageno FROM dbstat WHERE name = 't' AND pagetype = 'leaf';"
        ).split(separator: "\n").compactMap { Int($0) }
        #expect(leaves.count == 2000)
        var data = try tool.folder.data("store.db")
        for page in leaves { data[(page - 1) * 4096 + 7] ^= 1 }
        try tool.folder.write("store.db", data)
        let result = try salvage("--json")
        #expect(result.status == 2 && result.stdout.utf8.count < 100_000, "\(result.stdout.count)")
        let document = try result.json()
        #expect(document["damagedPageCount"] as? Int == leaves.count)
        #expect((document["damagedPages"] as? [Any])?.count ?? 0 < 10)
        let tables = try #require(document["tables"] as? [[String: Any]])
        #expect(tables.first?["gapCount"] as? Int == 2000)
        #expect((tables.first?["gaps"] as? [Any])?.count == 1000)
    }
}
