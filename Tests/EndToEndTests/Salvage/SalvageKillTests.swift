import Foundation
import TestSupport
import Testing

/// `kill -9` in the middle of a salvage, before one system call after the other.
@Suite struct SalvageKillTests {
    private static let pointCount =
        Samples.count(10)
    private static let calls = ["openat", "pwrite64", "fsync", "fchmod", "link", "unlink"]

    private let tool: Tool
    private let marker = "KLARTEXT-\(UInt64.random(in: 1 << 60 ... .max))"

    init() throws {
        tool = try Tool(isRawKey: true)
    }

    private func run(under options: [String]) throws -> ProcessResult {
        try TestSupport.run(
            "strace",
            ["-f", "-qq", "-o", tool.folder.path("migrations/trace")] + options
                + [builtExecutable("migrationkit-cli"), "salvage", "--output"]
                + [tool.folder.path("new.db")] + tool.opening,
            environment: tool.environment,
            newSession: true
        )
    }

    @Test func nothingIsInTheClearAndNothingIsChanged() throws {
        _ = try tool.shell(
            """
            CREATE TABLE item (id INTEGER PRIMARY KEY, body TEXT);
            CREATE INDEX item_body ON item (body);
            CREATE VIRTUAL TABLE words USING fts5 (body);
            WITH RECURSIVE n (x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n LIMIT 300)
            INSERT INTO item SELECT x, '\(marker) ' || hex(zeroblob(400)) || x FROM n;
            INSERT INTO words SELECT body FROM item;
            """
        )
        var damaged = try tool.folder.data("store.db")
        // Leaves of the table are among these, and some of the index.
        for page in 10...15 { damaged[4096 * (page - 1) + 100] ^= 1 }
        try tool.folder.write("store.db", damaged)

        let whole = try run(under: ["-e", "trace=\(Self.calls.joined(separator: ","))"])
        try #require(whole.status == 2, "\(whole)")
        let trace = String(decoding: try tool.folder.data("migrations/trace"), as: UTF8.self)
            .split(separator: "\n")
        let lock = try #require(trace.first { $0.contains("-migration.lock") })
        let ours = trace.filter { $0.hasPrefix(lock.prefix { $0 != " " }) }
        let calls = ours.map { line in
            String(line.split(separator: " ").dropFirst().joined().prefix { $0 != "(" })
        }
        let begin = try #require(ours.firstIndex(of: lock))
        unlink(tool.folder.path("new.db"))

        var killed = 0
        for point in (0..<Self.pointCount).map({
            begin + $0 * (calls.count - begin) / Self.pointCount
        }) {
            let call = calls[point]
            let ordinal = calls[...point].count { $0 == call }
            let result = try run(
                under: [
                    "-e", "trace=\(call)", "-e", "inject=\(call):signal=SIGKILL:when=\(ordinal)",
                ]
            )
            #expect(result.signal == SIGKILL || result.status == 2, "\(result)")
            killed += result.signal == SIGKILL ? 1 : 0
            for name in try tool.folder.paths where !name.hasPrefix("migrations/") {
                let data = try tool.folder.data(name)
                #expect(data.range(of: Data(marker.utf8)) == nil, "\(call) \(point), \(name)")
            }
            #expect(try tool.folder.data("store.db") == damaged)
            // What the next run finds is no hindrance, and gone then.
            unlink(tool.folder.path("new.db"))
            let next = try tool.run(
                ["salvage", "--output", tool.folder.path("new.db")] + tool.opening
            )
            #expect(next.status == 2, "\(next)")
            #expect(
                try tool.folder.names == ["migrations", "new.db", "password", "store.db"],
                "\(call) \(point)"
            )
            unlink(tool.folder.path("new.db"))
        }
        #expect(killed > Self.pointCount / 2)
    }
}
