import Foundation
import TestSupport
import Testing

/// What isn't a file under the name of one that SQLite keeps beside a database. SQLite opens a named
/// pipe, and never comes back from that.
@Suite struct JournalFileTests {
    private let tool: Tool

    init() throws {
        tool = try Tool(isRawKey: true)
        try tool.writeItems()
        #expect(try tool.onStore("migrate", "--to", "0002_row").status == 0)
    }

    /// Runs a command that must not hang.
    private func run(_ command: [String]) throws -> ProcessResult {
        try TestSupport.run(
            "timeout",
            ["20", builtExecutable("migrationkit-cli")] + command + tool.opening,
            environment: tool.environment,
            newSession: true
        )
    }

    @Test(arguments: ["-wal", "-journal", "-shm"])
    func namedPipeIsRefusedByName(_ suffix: String) throws {
        let pipe = tool.database + suffix
        #expect(mkfifo(pipe, 0o600) == 0)
        let migrations = ["--migrations", tool.migrations]
        for command in [
            ["migrate"] + migrations, ["status"] + migrations, ["verify"] + migrations,
            ["verify", "--full"] + migrations, ["history"], ["inspect"], ["key", "check"],
            ["backup", "--output", tool.folder.path("backup.db")], ["decrypt", "--yes"],
            ["salvage", "--output", tool.folder.path("new.db")],
        ] {
            let result = try run(command + ["--json"])
            #expect(result.status == 66, "\(command): \(result)")
            let error = try result.jsonError()
            #expect(error["code"] as? String == "journalIsNoFile")
            #expect(error["message"] as? String == "\(pipe) is a named pipe, not a file")
        }
        #expect(
            try tool.folder.names == ["migrations", "password", "store.db", "store.db\(suffix)"]
        )
    }

    @Test func newDatabaseIsNotCreatedBesideOne() throws {
        try FileManager.default.removeItem(atPath: tool.database)
        #expect(mkfifo(tool.database + "-journal", 0o600) == 0)
        let result = try run(["migrate", "--migrations", tool.migrations])
        #expect(result.status == 66, "\(result)")
        #expect(try tool.folder.names == ["migrations", "password", "store.db-journal"])
    }

    @Test func folderIsToldAsThat() throws {
        try tool.folder.makeFolder("store.db-wal")
        let result = try run(["status", "--migrations", tool.migrations])
        #expect(result.status == 66)
        #expect(result.stderr.hasPrefix("error: \(tool.database)-wal is a folder, not a file\n"))
    }
}
