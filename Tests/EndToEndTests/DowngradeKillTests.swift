import Foundation
import TestSupport
import Testing

/// `kill -9` in the middle of a downgrade, before one system call after the other.
@Suite struct DowngradeKillTests {
    private static let pointCount = Samples.count(16)

    private let tool: Tool

    /// The newer version's steps are in a folder of their own, and in the store.
    init() throws {
        tool = try Tool(isRawKey: true)
        let steps = [
            (
                "0001_item",
                """
                CREATE TABLE item (id INTEGER PRIMARY KEY, body TEXT);
                WITH RECURSIVE n (x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n LIMIT 1200)
                INSERT INTO item SELECT x, hex(zeroblob(200)) || x FROM n;
                """,
                nil
            ),
            (
                "0002_step",
                "ALTER TABLE item ADD COLUMN step; UPDATE item SET step = 2;",
                "ALTER TABLE item DROP COLUMN step;"
            ),
            (
                "0003_tag",
                "CREATE TABLE tag (name); INSERT INTO tag SELECT body FROM item WHERE id < 300;",
                "DROP TABLE tag; DELETE FROM item WHERE id > 1100;"
            ),
        ]
        try tool.folder.makeFolder("newer")
        for (name, up, down) in steps {
            let text = "-- migrate:up\n\(up)\n" + (down.map { "-- migrate:down\n\($0)\n" } ?? "")
            try tool.folder.write("newer/\(name).sql", text.utf8)
            if down == nil { try tool.folder.write("migrations/\(name).sql", text.utf8) }
        }
        let newer = try tool.run(
            ["migrate", "--migrations", tool.folder.path("newer")] + tool.opening
        )
        try #require(newer.status == 0, "\(newer)")
    }

    private func content(of name: String) throws -> String {
        try SQLCipherShell.run(
            tool.folder.path(name),
            key: "x'\(tool.password)'",
            """
            PRAGMA integrity_check;
            SELECT group_concat(identifier) FROM grdb_migrations;
            SELECT group_concat(event) FROM grdb_migrationkit_journal WHERE event <> 'schema';
            SELECT name, sql FROM sqlite_schema WHERE name NOT LIKE 'grdb%' ORDER BY name;
            SELECT count(*), sum(id), sum(length(body)) FROM item;
            """
        )
    }

    private func copies() throws -> [String] {
        try tool.folder.names.filter { $0.contains(/^store\.db\.before-downgrade-[0-9]+$/) }
    }

    private func reset() throws {
        for name in try tool.folder.names where name.contains("store.db") {
            unlink(tool.folder.path(name))
        }
        let start = tool.folder.path("start.db")
        try FileManager.default.copyItem(atPath: start, toPath: tool.database)
    }

    @Test(arguments: Journal.allCases)
    func storeIsTheNewerOrTheOlderOne(_ journal: Journal) throws {
        _ = try tool.shell("PRAGMA journal_mode = \(journal.rawValue);")
        let newer = try content(of: "store.db")
        let start = tool.folder.path("start.db")
        try FileManager.default.moveItem(atPath: tool.database, toPath: start)
        let arguments = ["downgrade", "--yes", "--migrations", tool.migrations] + tool.opening
        let runs = try KilledRuns(tool, arguments) { try reset() }
        let older = try content(of: "store.db")
        let lines = older.split(separator: "\n")
        #expect(lines.contains("0001_item") && lines.contains("1100|605550|\(1100 * 400 + 3293)"))

        // The copy gets its name; the transaction is committed near the end.
        let points = Set(
            try ["link", "unlink"].flatMap { try runs.points(Self.pointCount / 2, around: $0) }
        ).sorted()
        var (old, new, unharmed, copied) = (0, 0, 0, 0)
        for point in points {
            unharmed += try runs.kill(at: point) ? 0 : 1
            let copies = try copies()
            #expect(copies.count <= 1)
            for copy in copies { #expect(try content(of: copy) == newer) }
            copied += copies.count
            let found = try content(of: "store.db")
            #expect(found == newer || found == older, "\(found)")
            if found == older { new += 1 } else { old += 1 }
            #expect(found == newer || copies.count == 1)

            let next = try tool.run(arguments)
            #expect(next.status == 0, "\(next)")
            #expect(next.stdout.contains("Nothing to take back") == (found == older), "\(next)")
            #expect(try content(of: "store.db") == older)
            let all = try self.copies()
            #expect(all.count == copies.count + (found == older ? 0 : 1))
            for copy in all { #expect(try content(of: copy) == newer) }
            // A run that finds nothing to do writes nothing, and so takes nothing away.
            let harmless = found == older ? ["store.db-migration.lock", "store.db-journal"] : []
            let names = try tool.folder.names.filter { !harmless.contains($0) }
            #expect(
                names == ["migrations", "newer", "password", "start.db", "store.db"] + all,
                "\(point)"
            )
        }
        report(
            """
            downgrade, \(journal.rawValue): \(points.count) kills among \(runs.callCount) calls; \
            \(old) left the newer store, \(copied - new) of them with a copy, \(new) the older one; \
            \(unharmed) came too late
            """
        )
        #expect(old > points.count / 4)
    }
}
