import Foundation
import TestSupport
import Testing

/// What only reads a database, beside the journal or log of a program that was stopped while it wrote.
@Suite struct UnfinishedChangeTests {
    private var tool: Tool

    init() throws {
        tool = try Tool(isRawKey: true)
        try tool.write(
            "0001_item",
            up: """
                CREATE TABLE item (id INTEGER PRIMARY KEY, name TEXT);
                INSERT INTO item (name)
                WITH RECURSIVE n (x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n LIMIT 5000)
                SELECT hex(randomblob(40)) FROM n;
                """
        )
        try #require(try tool.onStore("migrate").status == 0)
        try tool.write("0002_tag", up: "CREATE TABLE tag (name TEXT);")
    }

    /// Another program, which has changed more pages than its cache has, so that some are in the file.
    private func writer(_ journal: String, _ statements: [String] = []) throws -> ChildProcess {
        try OtherProgram.require("the sqlcipher shell")
        let lines =
            [
                "PRAGMA key = \"\(tool.shellKey)\"", "PRAGMA journal_mode = \(journal)",
                "PRAGMA cache_size = 5",
            ] + statements + ["BEGIN", "UPDATE item SET name = name || 'z'"]
        let process = try ChildProcess("sqlcipher", ["-batch", tool.database])
        process.write(".output /dev/null\n".utf8)
        process.write(lines.map { "\($0);\n" }.joined().utf8)
        process.write(".system echo written\n".utf8)
        try #require(process.readLine() == "written")
        return process
    }

    private func commands() -> [[String]] {
        let project = tool.opening + ["--migrations", tool.migrations]
        return [
            ["rehearse"] + project, ["lint"] + project, ["lint", "--pending"] + project,
            ["schema-dump"] + project, ["schema-diff", "--to", tool.database] + project,
        ]
    }

    private func file(_ suffix: String = "") throws -> Data {
        try tool.folder.data("store.db" + suffix)
    }

    @Test(arguments: ["DELETE", "PERSIST", "TRUNCATE"])
    func unfinishedChangeIsNotUndone(journal: String) throws {
        let process = try writer(journal)
        process.send(SIGKILL)
        _ = try process.finish()
        let before = (try file(), try file("-journal"))
        for command in commands() {
            let result = try tool.run(command + ["--json"])
            #expect(result.status == 74, "\(result)")
            #expect(try result.jsonError()["code"] as? String == "needsRecovery", "\(result)")
            #expect(try file() == before.0, "\(command)")
            #expect(try file("-journal") == before.1, "\(command)")
        }
        let refused = try tool.run(commands()[0])
        #expect(refused.stderr.contains("status --db-path"), "\(refused)")
        // What it advises undoes the change.
        #expect(try tool.onStore("status").status == 0)
        #expect(try file() != before.0)
        let rehearsed = try tool.run(commands()[0])
        #expect(rehearsed.status == 0, "\(rehearsed)")
    }

    /// The journal of a program that runs is nothing to undo.
    @Test func databaseThatIsBeingWrittenIsRead() throws {
        let process = try writer("DELETE", ["PRAGMA cache_spill = OFF"])
        let before = try file()
        try #require(!file("-journal").isEmpty)
        for command in commands() {
            let result = try tool.run(command)
            #expect(result.status == 0, "\(result)")
            #expect(try file() == before, "\(command)")
        }
        _ = try process.finish()
    }

    @Test func logOfAStoppedProgramStaysAsItIs() throws {
        let process = try writer("WAL", ["UPDATE item SET name = 'committed' WHERE id < 50"])
        process.send(SIGKILL)
        _ = try process.finish()
        let before = (try file(), try file("-wal"))
        for command in commands() {
            let result = try tool.run(command)
            #expect(result.status == 0, "\(result)")
            #expect(try file() == before.0, "\(command)")
            #expect(try file("-wal") == before.1, "\(command)")
        }
    }
}
