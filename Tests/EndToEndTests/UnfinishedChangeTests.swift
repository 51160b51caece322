import Foundation
import TestSupport
import Testing

/// What only reads a database, beside the journal or log of a program that was stopped while it wrote.
@Suite struct UnfinishedChangeTests {
    private var tool: Tool

    private static let items = """
        CREATE TABLE item (id INTEGER PRIMARY KEY, name TEXT);
        INSERT INTO item (name)
        WITH RECURSIVE n (x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n LIMIT 5000)
        SELECT hex(randomblob(40)) FROM n;
        """

    init() throws {
        tool = try Tool(isRawKey: true)
        try tool.write("0001_item", up: Self.items, down: "DROP TABLE item;")
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

    /// What becomes of a file.
    private enum Deed { case leaves, changes, refuses }

    /// For each purpose that a database is opened for: with nothing beside it, a log, and a journal.
    private static let deeds: [(command: [String], project: Bool, deeds: [Deed])] = [
        (["status"], true, [.leaves, .leaves, .changes]),
        (["plan"], true, [.leaves, .leaves, .changes]),
        (["migrate", "--dry-run"], true, [.leaves, .leaves, .changes]),
        (["verify"], true, [.leaves, .leaves, .changes]),
        (["verify", "--full"], true, [.leaves, .leaves, .changes]),
        (["history"], false, [.leaves, .leaves, .changes]),
        (["tables"], false, [.leaves, .leaves, .refuses]),
        (["query", "SELECT count(*) FROM item"], false, [.leaves, .leaves, .refuses]),
        (["shell"], false, [.leaves, .leaves, .refuses]),
        (["key", "check"], false, [.leaves, .leaves, .refuses]),
        (["inspect"], false, [.leaves, .leaves, .leaves]),
        (["query", "--write", "DELETE FROM item"], false, [.changes, .changes, .changes]),
        (["migrate"], true, [.changes, .changes, .changes]),
        (["rollback", "--yes"], true, [.changes, .changes, .changes]),
        (["redo"], true, [.changes, .changes, .changes]),
    ]

    @Test(arguments: [nil, "WAL", "DELETE"])
    func commandsLeaveWhatTheyOnlyRead(journal: String?) throws {
        if let journal {
            let process = try writer(journal, ["UPDATE item SET name = 'committed' WHERE id < 50"])
            process.send(SIGKILL)
            _ = try process.finish()
        }
        let suffixes = ["", "-wal", "-journal"]
        let found = suffixes.map { try? file($0) }
        let circumstance = journal == nil ? 0 : journal == "WAL" ? 1 : 2
        for (command, needsProject, deeds) in Self.deeds {
            for (suffix, content) in zip(suffixes + ["-shm"], found + [nil]) {
                try? FileManager.default.removeItem(atPath: tool.database + suffix)
                if let content { try tool.folder.write("store.db" + suffix, content) }
            }
            // A folder with a migration that is pending.
            let project = needsProject ? ["--migrations", tool.migrations] : []
            let result = try tool.run(command + tool.opening + project)
            let left = suffixes.map { try? file($0) } == found
            let deed: Deed = left ? result.status == 74 ? .refuses : .leaves : .changes
            #expect(deed == deeds[circumstance], "\(command): \(result)")
        }
    }
}
