import Foundation
import TestSupport
import Testing

/// A rehearsal as a process: its end by signals, and a disk without room.
@Suite struct RehearseTests {
    private let tool: Tool

    init() throws {
        tool = try Tool(isRawKey: true)
        try tool.write(
            "0001_items",
            up: """
                CREATE TABLE item (id INTEGER PRIMARY KEY, body TEXT);
                INSERT INTO item (body)
                WITH RECURSIVE n (x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n LIMIT 120)
                SELECT hex(randomblob(1900)) FROM n;
                """
        )
        try #require(try tool.onStore("migrate").status == 0)
    }

    private func writeEndless() throws {
        try tool.write(
            "0002_endless",
            up: """
                CREATE TABLE endless (id INTEGER);
                INSERT INTO endless
                WITH RECURSIVE n (x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n)
                SELECT x FROM n WHERE x < 0;
                """
        )
    }

    private var copies: [String] {
        get throws { try tool.folder.drafts(".store.db-writing-") }
    }

    /// Starts a rehearsal, and waits until its migration runs.
    private func start() throws -> ChildProcess {
        let process = try ChildProcess(
            builtExecutable("migrationkit-cli"),
            ["rehearse"] + tool.opening + ["--migrations", tool.migrations],
            environment: tool.environment,
            newSession: true
        )
        try wait(for: "the journal of the copy") {
            try copies.contains { $0.hasSuffix("-journal") || $0.hasSuffix("-wal") }
        }
        return process
    }

    @Test func itRuns() throws {
        try tool.write("0002_more", up: "CREATE INDEX item_body ON item (body);")
        let before = try tool.folder.snapshot().entries["store.db"]
        let result = try tool.onStore("rehearse")
        #expect(result.status == 0, "\(result)")
        #expect(result.stdout.contains("The copy is removed;"))
        #expect(try tool.folder.snapshot().entries["store.db"] == before)
        #expect(try tool.folder.names == ["migrations", "password", "store.db"])
    }

    @Test(arguments: [SIGINT, SIGTERM], Journal.allCases)
    func aSignalEndsItAndTheCopyGoes(_ signal: Int32, _ journal: Journal) throws {
        try writeEndless()
        _ = try tool.shell("PRAGMA journal_mode = \(journal.rawValue);")
        let before = try tool.folder.snapshot().entries["store.db"]
        let process = try start()
        process.send(signal)
        let result = try process.finish()
        #expect(result.status == 128 + signal, "\(result)")
        #expect(result.stderr.contains("the copy was removed"), "\(result)")
        #expect(try tool.folder.names == ["migrations", "password", "store.db"])
        #expect(try tool.folder.snapshot().entries["store.db"] == before)
    }

    @Test(arguments: Journal.allCases)
    func theNextOneRemovesWhatAKilledOneLeft(_ journal: Journal) throws {
        try writeEndless()
        _ = try tool.shell("PRAGMA journal_mode = \(journal.rawValue);")
        let before = try tool.folder.snapshot().entries["store.db"]
        let process = try start()
        process.send(SIGKILL)
        _ = try process.finish()
        let left = try copies
        #expect(left.count >= 3, "\(left)")
        for name in left { #expect((tool.folder.mode(name) ?? 0) & 0o077 == 0, "\(name)") }
        #expect(try tool.folder.snapshot().entries["store.db"] == before)

        try tool.write("0002_endless", up: "DROP TABLE item;")
        let next = try tool.onStore("rehearse")
        #expect(next.status == 0, "\(next)")
        let harmless = ["store.db-wal", "store.db-shm"]
        #expect(
            try tool.folder.names.filter { !harmless.contains($0) }
                == ["migrations", "password", "store.db"]
        )
    }

    /// A disk with room for less than the copy, which nobody else sees.
    @Test func withoutRoomNothingIsCopied() throws {
        try tool.write("0002_more", up: "CREATE INDEX item_body ON item (body);")
        let room = try tool.folder.makeFolder("room")
        let before = try tool.folder.snapshot().entries["store.db"]
        let command = #"""
            exec unshare --mount --map-root-user bash -c '
                mount -t tmpfs -o size=200k,mode=700 none "$1" || exit 99
                folder=$1; shift
                "$@"; status=$?
                [ -z "$(ls -A "$folder")" ] || exit 98
                exit $status' bash "$@"
            """#
        let result = try TestSupport.run(
            "bash",
            ["-c", command, "bash", room, builtExecutable("migrationkit-cli"), "rehearse"]
                + tool.opening + ["--migrations", tool.migrations, "--in", room, "--json"],
            environment: tool.environment
        )
        #expect(result.status == 74, "\(result)")
        #expect(try result.jsonError()["code"] as? String == "diskFull")
        let message = try result.jsonError()["message"] as? String ?? ""
        #expect(message.contains(room), "\(message)")
        #expect(try tool.folder.snapshot().entries["store.db"] == before)
    }
}
