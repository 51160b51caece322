import Foundation
import TestSupport
import Testing

/// `kill -9` in the middle of a backup, or of its restoring, before one system call after the other.
@Suite struct BackupKillTests {
    /// For restoring over either journal.
    private static let pointCount =
        Samples.count(12)

    private let tool: Tool
    private let otherKey: String
    private let marker = "KLARTEXT-\(UInt64.random(in: 1 << 60 ... .max))"

    init() throws {
        tool = try Tool(isRawKey: true)
        otherKey = ToolFolder.randomDigits(count: 64)
        try tool.folder.write("other", otherKey.utf8)
    }

    private var backup: String { tool.folder.path("backup.db") }
    private var spelled: String { "x'\(tool.password)'" }

    // MARK: - Restore

    /// The database that is replaced has another key, which nobody gives, and most of it in its log
    /// or a change in its journal that is to be undone, as a killed program leaves them.
    @Test(arguments: Journal.allCases)
    func databaseIsTheOldOneOrTheRestoredOne(_ journal: Journal) throws {
        try make("start.db", key: "x'\(otherKey)'", journal, rowCount: 1500)
        try make("backup.db", key: spelled, nil, rowCount: 1400)
        let starts = try tool.folder.names.filter { $0.hasPrefix("start.db") }
        #expect(starts.count == 2)
        let backupBytes = try tool.folder.data("backup.db")

        let arguments = ["restore", "--from", backup, "--yes"] + tool.opening
        let runs = try KilledRuns(tool, arguments) { try reset() }
        #expect(try isRestored())
        let points = try runs.points(Self.pointCount / 2, around: "rename")
        var (old, new, unharmed) = (0, 0, 0)
        for point in points {
            unharmed += try runs.kill(at: point) ? 0 : 1
            #expect(try markedNames() == [])
            if try isRestored() { new += 1 } else { old += 1 }
            let next = try tool.run(arguments)
            #expect(next.status == 0, "\(next)")
            #expect(
                try tool.folder.names
                    == ["backup.db", "migrations", "other", "password"] + starts + ["store.db"]
            )
            #expect(try isRestored())
            #expect(try tool.folder.data("backup.db") == backupBytes)
        }
        report(
            """
            restore, \(journal.rawValue): \(points.count) kills among \(runs.callCount) calls; \
            \(old) left the old file, \(new) the new one, \(unharmed) came too late
            """
        )
        #expect(old > points.count / 4)
    }

    /// Checks that one key opens the whole database.
    ///
    /// - Returns: Whether that is the backup's.
    private func isRestored() throws -> Bool {
        let restored = try? content(tool.database, key: spelled)
        // Looking at it finishes what a killed program began; so does whoever opens it.
        let old = try? content(tool.database, key: "x'\(otherKey)'")
        #expect((restored == nil) != (old == nil))
        #expect(restored == nil || restored == expected(rowCount: 1400))
        #expect(old == nil || old == expected(rowCount: 1500))
        return restored != nil
    }

    private func reset() throws {
        for suffix in ["", "-wal", "-shm", "-journal"] {
            let (start, path) = (tool.folder.path("start.db" + suffix), tool.database + suffix)
            unlink(path)
            if access(start, F_OK) == 0 {
                try FileManager.default.copyItem(atPath: start, toPath: path)
            }
        }
    }

    // MARK: - Backup

    @Test func backupIsWholeOrNotThere() throws {
        try make("store.db", key: spelled, .writeAheadLog, rowCount: 1500)
        let arguments = ["backup", "--output", backup] + tool.opening
        let runs = try KilledRuns(tool, arguments) { unlink(backup) }
        let points = try runs.points(Self.pointCount / 4, around: "link")
        var (whole, none, unharmed) = (0, 0, 0)
        for point in points {
            unharmed += try runs.kill(at: point) ? 0 : 1
            #expect(try markedNames() == [])
            if access(backup, F_OK) == 0 {
                whole += 1
                #expect(try content(backup, key: spelled) == expected(rowCount: 1500))
                #expect(unlink(backup) == 0)
            } else {
                none += 1
            }
            #expect(try content(tool.database, key: spelled) == expected(rowCount: 1500))
            let next = try tool.run(arguments)
            #expect(next.status == 0, "\(next)")
            #expect(
                try tool.folder.names
                    == ["backup.db", "migrations", "other", "password", "store.db"]
            )
        }
        report(
            """
            backup: \(points.count) kills among \(runs.callCount) calls; \(whole) left a whole \
            backup, \(none) none, \(unharmed) came too late
            """
        )
        #expect(none > points.count / 4)
    }

    // MARK: - The Backup before a Migration

    @Test func backupOfMigrateIsWholeOrNotThere() throws {
        try make("start.db", key: spelled, nil, rowCount: 1500)
        try tool.write("0001_more", up: "CREATE TABLE more (id INTEGER);")
        let arguments =
            ["migrate", "--migrations", tool.migrations, "--backup", backup] + tool.opening
        let runs = try KilledRuns(tool, arguments) {
            unlink(backup)
            try reset()
        }
        let points = try runs.points(Self.pointCount / 4, around: "link")
        var (whole, none) = (0, 0)
        for point in points {
            _ = try runs.kill(at: point)
            #expect(try markedNames() == [])
            if access(backup, F_OK) == 0 {
                whole += 1
                #expect(try content(backup, key: spelled) == expected(rowCount: 1500))
                #expect(unlink(backup) == 0)
            } else {
                none += 1
            }
            try reset()
            let next = try tool.run(arguments)
            #expect(next.status == 0, "\(next)")
            #expect(
                try tool.folder.names
                    == ["backup.db", "migrations", "other", "password", "start.db", "store.db"]
            )
        }
        report(
            """
            migrate --backup: \(points.count) kills among \(runs.callCount) calls; \(whole) left a \
            whole backup, \(none) none
            """
        )
        #expect(none > points.count / 4)
    }

    // MARK: - Files

    /// Makes a database.
    ///
    /// - Parameter journal: In which it is left as by a killed program: with its content in the log,
    ///   or in the middle of a change. `nil` for a whole one.
    private func make(
        _ name: String,
        key: String,
        _ journal: Journal?,
        rowCount: Int
    ) throws {
        let (path, file) = (tool.folder.path("make.db"), tool.folder.path(name))
        let change =
            switch journal {
            case nil: ".shell cp \(path) \(file)"
            case .writeAheadLog: ".shell cp \(path) \(file); cp \(path)-wal \(file)-wal"
            case .rollbackJournal:
                """
                PRAGMA cache_size = 2;
                BEGIN;
                UPDATE item SET body = body || 'never committed';
                .shell cp \(path) \(file); cp \(path)-journal \(file)-journal
                ROLLBACK;
                """
            }
        _ = try SQLCipherShell.run(
            path,
            key: key,
            """
            PRAGMA journal_mode = \((journal ?? .rollbackJournal).rawValue);
            PRAGMA wal_autocheckpoint = 0;
            CREATE TABLE item (id INTEGER PRIMARY KEY, body TEXT);
            CREATE INDEX item_body ON item (body);
            WITH RECURSIVE n (x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n LIMIT \(rowCount))
            INSERT INTO item SELECT x, '\(marker) ' || hex(zeroblob(400)) || x FROM n;
            \(change)
            """
        )
        #expect(unlink(path) == 0)
    }

    private func expected(rowCount: Int) -> String {
        let length = (1...rowCount).reduce(0) { $0 + marker.count + 801 + "\($1)".count }
        return "ok\n\(rowCount)|\(rowCount * (rowCount + 1) / 2)|\(length)"
    }

    private func content(_ path: String, key: String) throws -> String {
        try SQLCipherShell.run(
            path,
            key: key,
            """
            PRAGMA integrity_check;
            SELECT count(*), sum(id), sum(length(body)) FROM item WHERE body LIKE '\(marker)%';
            """
        )
    }

    /// The files with clear text in them.
    private func markedNames() throws -> [String] {
        try tool.folder.paths.filter { name in
            guard !name.hasPrefix("migrations") else { return false }
            return try tool.folder.data(name).range(of: Data(marker.utf8)) != nil
        }
    }
}
