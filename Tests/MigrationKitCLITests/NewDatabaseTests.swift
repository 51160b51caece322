import Foundation
import TestSupport
import Testing

/// What commands say of a database that they create.
@Suite struct NewDatabaseTests {
    private let tool: Tool

    init() throws {
        tool = try Tool(isRawKey: true)
        try tool.writeItems()
    }

    private func dump() throws -> String {
        let path = tool.folder.path("schema.sql")
        let dumped = try tool.run(
            ["schema-dump", "--migrations", tool.migrations, "--output", path]
        )
        #expect(dumped.status == 0, "\(dumped)")
        return path
    }

    /// SQLite would take the log of an earlier database, or another user's, for the new one's.
    @Test(arguments: ["-wal", "-journal", "-shm"])
    func noDatabaseIsLoadedBesideAnothersJournal(_ suffix: String) throws {
        try tool.folder.write("store.db\(suffix)", "left".utf8)
        let result = try tool.run(
            ["schema-load", try dump(), "--db-path", tool.database, "--no-encryption"]
                + ["--migrations", tool.migrations]
        )
        #expect(result.status == 73, "\(result)")
        #expect(result.stderr.contains("store.db\(suffix) already exists"), "\(result)")
        #expect(try tool.folder.names.filter { $0.hasPrefix("store.db") } == ["store.db\(suffix)"])
    }

    // MARK: - The file

    @Test func aRunThatFailsSaysItAsWell() throws {
        try tool.write("0000_wrong", up: "CREATE TABLE wrong (a); SELECT nothing;")
        let result = try tool.onStore("migrate")
        #expect(result.status == 1)
        #expect(result.stdout == "Created \(tool.database).\n")
        #expect(try tool.onStore("migrate").stdout == "")
    }

    @Test func programsAreToldByAFlag() throws {
        #expect(try tool.onStore("migrate", "--json").json()["created"] as? Bool == true)
        #expect(try tool.onStore("migrate", "--json").json()["created"] as? Bool == false)
        #expect(try tool.onStore("rollback", "--json").json()["created"] == nil)
        let loaded = try tool.run(
            [
                "schema-load", try dump(), "--json", "--db-path", tool.folder.path("new.db"),
                "--password-file", tool.folder.path("password"), "--raw-key", "--migrations",
                tool.migrations,
            ]
        )
        #expect(try loaded.json()["created"] as? Bool == true, "\(loaded)")
    }
}
