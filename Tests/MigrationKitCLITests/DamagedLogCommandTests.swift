import Foundation
import TestSupport
import Testing

/// Commands that change a database whose write-ahead log hides commits from SQLite: their first
/// change would overwrite these.
@Suite struct DamagedLogCommandTests {
    private let tool: Tool
    private static let frame = 24 + 4096

    init() throws {
        tool = try Tool(isRawKey: true)
        try tool.writeItems()
        // As a program leaves it that was killed: ten commits of a frame each.
        _ = try tool.shell(
            """
            CREATE TABLE t (a); PRAGMA journal_mode = WAL; PRAGMA wal_autocheckpoint = 0;
            \((1...10).map { "INSERT INTO t VALUES (\($0));" }.joined())
            .shell cp '\(tool.database)' '\(tool.folder.path("copy.db"))'
            .shell cp '\(tool.database)-wal' '\(tool.folder.path("copy.db-wal"))'
            """
        )
        for suffix in ["", "-wal"] {
            let bytes = try tool.folder.data("copy.db\(suffix)")
            try FileManager.default.removeItem(atPath: tool.folder.path("copy.db\(suffix)"))
            try tool.folder.write("store.db\(suffix)", bytes)
        }
        try #require(tool.folder.data("store.db-wal").count == 32 + 10 * Self.frame)
    }

    private func change(_ range: Range<Int>, _ byte: (UInt8) -> UInt8) throws {
        var log = try tool.folder.data("store.db-wal")
        for index in range { log[index] = byte(log[index]) }
        try tool.folder.write("store.db-wal", log)
    }

    private func files() throws -> [Data] {
        try ["store.db", "store.db-wal"].map(tool.folder.data)
    }

    @Test(
        arguments: [
            ["migrate"], ["migrate", "--all-or-nothing"], ["migrate", "--dry-run"],
            ["migrate", "--backup", "backup.db"], ["rehearse"], ["rollback"], ["redo"],
            ["repair", "0001_items"], ["baseline", "0001_items"],
        ],
        // Of the log's header the magic, the salt and the sum; of the first frame the page's number,
        // the mark of a commit, the salt, the sum and the page; of the last frame the page.
        [1, 17, 25, 35, 38, 41, 50, 900, 32 + 9 * (24 + 4096) + 900]
    )
    func nothingIsThrownAway(_ command: [String], place: Int) throws {
        try change(place..<(place + 1)) { $0 ^ 0x5a }
        let before = try files()
        let result = try tool.onStore(command[0], command.dropFirst() + ["--json"])
        #expect(result.status == 74, "\(result)")
        #expect(try result.jsonError()["code"] as? String == "damagedLog")
        #expect(try files() == before)
        #expect(access(tool.folder.path("backup.db"), F_OK) != 0)
    }

    /// A loss of power in the last transaction leaves some of its sectors as they were: of new room,
    /// zeros. What the frame's own header says has reached the disk.
    @Test(arguments: [1, 2, 7])
    func transactionThatWasNeverFinishedIsNoLoss(_ sector: Int) throws {
        let last = 32 + 9 * Self.frame
        let start = (last + 511) / 512 * 512 + (sector - 1) * 512
        try change(start..<(start + 512)) { _ in 0 }
        let inspected = try tool.run(["inspect", "--json"] + tool.opening)
        #expect(inspected.status == 0, "\(inspected)")
        let result = try tool.onStore("migrate")
        #expect(result.status == 0, "\(result)")
        #expect(try tool.shell("SELECT count(*) FROM t;") == "9")
    }

    /// A power cut loses any sectors of what an app commits with `synchronous = NORMAL`, as that is not
    /// synchronized before a checkpoint. SQLite goes on from the commits before the first that is lost.
    @Test(arguments: [0, 3])
    func whoWritesWithoutSynchronizingIsToldTheWayOn(frame: Int) throws {
        let start = (32 + frame * Self.frame + 511) / 512 * 512 + 512
        try change(start..<(start + 1024)) { _ in 0 }
        let before = try files()
        let refused = try tool.onStore("migrate", ["--json"])
        #expect(refused.status == 74, "\(refused)")
        let hint = try #require(try refused.jsonError()["hint"] as? String)
        #expect(hint.contains("'migrate --accept-lost-commits'"))
        #expect(try tool.onStore("migrate", ["--accept-lost-commits", "--dry-run"]).status == 64)
        #expect(try files() == before)

        let result = try tool.onStore("migrate", ["--accept-lost-commits"])
        #expect(result.status == 0, "\(result)")
        let lost = 10 - frame
        #expect(result.stderr.contains("dropped \(lost) commits from the write-ahead log"))
        let rows = try tool.shell("SELECT count(*) FROM t; SELECT count(*) FROM item;")
        #expect(rows == "\(frame)\n1")
        // As SQLite itself does it.
        let backup = tool.folder.path("backup.db")
        #expect(try tool.run(["backup"] + tool.opening + ["--output", backup]).status == 0)
    }

    @Test func aLogThatTheAppHasGoneOnWithIsAccepted() throws {
        let start = (32 + 3 * Self.frame + 511) / 512 * 512 + 512
        try change(start..<(start + 1024)) { _ in 0 }
        let rows = try tool.shell("INSERT INTO t VALUES (11); SELECT count(*) FROM t;")
        #expect(rows == "4")
        #expect(try tool.onStore("migrate").status == 0)
    }

    @Test(arguments: [1, 9, 17, 25, 35, 38, 41, 50, 900])
    func everyDamagedLogCanBeGivenUp(place: Int) throws {
        try change(place..<(place + 1)) { $0 ^ 0x5a }
        let result = try tool.onStore("migrate", ["--accept-lost-commits"])
        #expect(result.status == 0, "\(result)")
        #expect(result.stderr.contains("which is damaged in frame 1"), "\(result)")
        #expect(try tool.shell("SELECT count(*) FROM t;") == "0")
    }

    @Test func anotherKeyGivesUpNothing() throws {
        let start = (32 + 3 * Self.frame + 511) / 512 * 512 + 512
        try change(start..<(start + 1024)) { _ in 0 }
        let before = try files()
        try tool.folder.write("other", ToolFolder.randomDigits(count: 64).utf8)
        let result = try tool.run(
            ["migrate", "--accept-lost-commits", "--migrations", tool.migrations]
                + ["--db-path", tool.database]
                + ["--password-file", tool.folder.path("other"), "--raw-key"]
        )
        #expect(result.status == 77, "\(result)")
        #expect(!result.stderr.contains("dropped"))
        #expect(try files() == before)
    }

    @Test func soundLogLosesNothingByIt() throws {
        let result = try tool.onStore("migrate", ["--accept-lost-commits"])
        #expect(result.status == 0 && result.stderr.isEmpty, "\(result)")
        #expect(try tool.shell("SELECT count(*) FROM t;") == "10")
    }

    @Test(arguments: [
        ["status"], ["history"], ["plan"], ["rehearse", "--ignore-table", "t"], ["tables"],
        ["query", "SELECT * FROM t"], ["verify"],
        ["verify", "--full"], ["schema-dump"], ["inspect", "--tables"],
    ])
    func aSoundLogStaysWhereACommandOnlyReads(_ command: [String]) throws {
        let before = try files()
        let usesMigrations = ["status", "history", "plan", "rehearse", "verify"].contains(
            command[0]
        )
        let result = try tool.run(
            [command[0]] + tool.opening + command.dropFirst()
                + (usesMigrations ? ["--migrations", tool.migrations] : [])
        )
        #expect(result.status == 0, "\(result)")
        #expect(try files() == before)
    }

    /// A log of which nothing but the size has reached the disk.
    @Test func logOfZerosIsNone() throws {
        try tool.folder.write("store.db-wal", Data(count: 32 + 2 * Self.frame))
        #expect(try tool.onStore("migrate").status == 0)
    }
}

extension Tool {
    fileprivate func onStore(_ command: String, _ arguments: [String]) throws -> ProcessResult {
        let arguments = arguments.map { $0.hasSuffix(".db") ? folder.path($0) : $0 }
        return try run([command] + opening + ["--migrations", migrations] + arguments)
    }
}
