import Foundation
import TestSupport
import Testing

/// The whole log of another database beside a plaintext one, in which nothing is authenticated.
@Suite struct PlaintextLeftoverTests {
    private static let rows = """
        CREATE TABLE t (a);
        WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 100)
        INSERT INTO t SELECT hex(randomblob(200)) FROM n;

        """
    private let tool: Tool

    init() throws {
        tool = try Tool()
        try tool.write("0001_u", up: "CREATE TABLE u (a);")
        _ = try SQLCipherShell.run(tool.database, key: nil, Self.rows)
        _ = try SQLCipherShell.run(
            tool.folder.path("other.db"),
            key: nil,
            """
            PRAGMA journal_mode = WAL;
            PRAGMA wal_autocheckpoint = 0;
            \(Self.rows)VACUUM;
            .shell cp '\(tool.folder.path("other.db-wal"))' '\(tool.database)-wal'
            """
        )
    }

    private func run(_ words: String...) throws -> ProcessResult {
        try tool.run(words + ["--db-path", tool.database, "--no-encryption"])
    }

    private func expectItIsNotWritten() throws {
        func contents() throws -> [Data] {
            try ["store.db", "store.db-wal"].map(tool.folder.data)
        }
        let before = try contents()
        let migrate = ["migrate", "--migrations", tool.migrations]
        for words in [
            ["query", "SELECT count(*) FROM t"], ["backup", "-o", tool.folder.path("b")], migrate,
        ] {
            let result = try tool.run(
                words + ["--db-path", tool.database, "--no-encryption", "--json"]
            )
            #expect(result.status == 74, "\(result)")
            #expect(try result.jsonError()["code"] as? String == "otherJournal")
            #expect(try contents() == before, "\(words)")
        }
    }

    @Test func aDatabaseThatIsNotInWALModeHasNone() throws {
        // The counters of changes are alike, as they may be.
        let log = try tool.folder.data("store.db-wal")
        let frames = stride(from: 32, to: log.count, by: 24 + 4096)
        let first = try #require(frames.first { log[$0..<$0 + 4].elementsEqual([0, 0, 0, 1]) })
        var data = try tool.folder.data("store.db")
        let counter = log[first + 24 + 24..<first + 24 + 28]
        data.replaceSubrange(24..<28, with: counter)
        data.replaceSubrange(92..<96, with: counter)
        try tool.folder.write("store.db", data)
        try expectItIsNotWritten()
    }

    @Test func aFirstPageOfZerosProvesNoLog() throws {
        var data = try tool.folder.data("store.db")
        data.replaceSubrange(0..<4096, with: Data(count: 4096))
        try tool.folder.write("store.db", data)
        try expectItIsNotWritten()

        try FileManager.default.removeItem(atPath: tool.database + "-wal")
        let result = try run("query", "--format=json", "SELECT 1")
        #expect(try result.jsonError()["code"] as? String == "damaged", "\(result)")
    }

    @Test func anEmptyFileIsRecoveredFromIt() throws {
        try tool.folder.write("store.db", Data())
        let rescued = tool.folder.path("rescued.db")
        #expect(try run("salvage", "-o", rescued).status == 0)
        let count = try SQLCipherShell.run(rescued, key: nil, "SELECT count(*) FROM t;")
        #expect(count == "100")
    }
}
