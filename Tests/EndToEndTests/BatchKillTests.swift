import Foundation
import TestSupport
import Testing

/// `kill -9` in the middle of a step in batches, before one system call after the other.
@Suite struct BatchKillTests {
    private static let pointCount = Samples.count(16)

    private let tool: Tool

    init() throws {
        tool = try Tool(isRawKey: true)
        try tool.folder.write(
            "migrations/0001_item.sql",
            """
            -- migrate:up
            CREATE TABLE item (id INTEGER PRIMARY KEY, body TEXT, size INTEGER);
            CREATE TABLE log (id INTEGER);
            CREATE TRIGGER noted AFTER UPDATE ON item BEGIN INSERT INTO log VALUES (new.id); END;
            WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT 900)
            INSERT INTO item (id, body) SELECT i, hex(zeroblob(100)) FROM n;
            """.utf8
        )
        let first = try tool.run(arguments)
        try #require(first.status == 0, "\(first)")
        try tool.folder.write(
            "migrations/0002_size.sql",
            """
            -- migrate:up
            -- migrate:batch rows=15
            UPDATE item SET size = length(body) WHERE size IS NULL;
            """.utf8
        )
    }

    private var arguments: [String] {
        ["migrate", "--migrations", tool.migrations] + tool.opening
    }

    private func reset() throws {
        for name in try tool.folder.names where name.contains("store.db") {
            unlink(tool.folder.path(name))
        }
        let start = tool.folder.path("start.db")
        try FileManager.default.copyItem(atPath: start, toPath: tool.database)
    }

    private func content(_ sql: String) throws -> String {
        try SQLCipherShell.run(tool.database, key: "x'\(tool.password)'", sql)
    }

    @Test(arguments: Journal.allCases)
    func everyRowIsChangedOnce(_ journal: Journal) throws {
        _ = try tool.shell("PRAGMA journal_mode = \(journal.rawValue);")
        let start = tool.folder.path("start.db")
        try FileManager.default.moveItem(atPath: tool.database, toPath: start)
        let runs = try KilledRuns(tool, arguments) { try reset() }
        let points = Set(try runs.points(Self.pointCount, around: "pwrite64")).sorted()
        var (none, some, all) = (0, 0, 0)
        for point in points {
            _ = try runs.kill(at: point)
            // What is there is whole batches, and what the journal says.
            let found = try content(
                """
                PRAGMA integrity_check;
                SELECT count(size) = (SELECT count(*) FROM log), count(size) FROM item;
                """
            )
            let lines = found.split(separator: "\n").map { $0.split(separator: "|") }
            #expect(lines.first == ["ok"] && lines.last?.first == "1", "\(point): \(found)")
            switch lines.last?.last {
            case "0": none += 1
            case "900": all += 1
            default: some += 1
            }
            let next = try tool.run(arguments)
            #expect(next.status == 0, "\(next)")
            let done = try content(
                """
                SELECT count(size), (SELECT count(DISTINCT id) FROM log), (SELECT count(*) FROM log)
                FROM item;
                SELECT group_concat(identifier) FROM grdb_migrations;
                SELECT count(progress) FROM grdb_migrationkit_journal;
                """
            )
            #expect(
                done.hasSuffix("900|900|900\n0001_item,0002_size\n0"),
                "\(point): \(done)"
            )
        }
        report(
            """
            batches, \(journal.rawValue): \(points.count) kills among \(runs.callCount) calls; \
            \(none) before the first batch, \(some) between, \(all) after the last one
            """
        )
        #expect(some > points.count / 4)
    }
}
