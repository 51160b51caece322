import Foundation
import TestSupport
import Testing

/// `kill -9` in the middle of a conversion, before one system call after the other.
@Suite struct ConversionKillTests {
    /// For the six kinds together.
    private static let pointCount =
        Samples.count(24)
    /// Enough that several threads write the new file.
    private static let rowCount = 1500

    private let tool: Tool
    private let newKey: String
    private let marker = "KLARTEXT-\(UInt64.random(in: 1 << 60 ... .max))"

    init() throws {
        tool = try Tool(isRawKey: true)
        newKey = ToolFolder.randomDigits(count: 64)
        try tool.folder.write("new", newKey.utf8)
    }

    enum Kind: String, CaseIterable {
        case encrypt, rekey, upgrade

        /// How it ends on a database that has been through it.
        var repeatedStatus: Int32 { self == .upgrade ? 64 : 77 }

        /// The SQLCipher whose settings the file has, as it was.
        var oldCompatibility: Int? { self == .upgrade ? 3 : nil }
    }

    @Test(arguments: Kind.allCases, Journal.allCases)
    func storeIsWholeWithOneOfTheKeys(_ kind: Kind, _ journal: Journal) throws {
        try makeStart(kind, journal)
        let runs = try KilledRuns(tool, arguments(kind), prepare: restore)
        #expect(try check(kind))
        #expect(runs.workerCallCount > 0)
        let points = try runs.points(Self.pointCount / 6, around: "rename")
        var (old, new, unharmed) = (0, 0, 0)
        for point in points {
            unharmed += try runs.kill(at: point) ? 0 : 1

            let isNew = try check(kind)
            (old, new) = isNew ? (old, new + 1) : (old + 1, new)
            let next = try tool.run(arguments(kind))
            #expect(next.status == (isNew ? kind.repeatedStatus : 0), "\(next)")
            #expect(
                try tool.folder.names == ["migrations", "new", "password", "start.db"]
                    + (journal == .writeAheadLog ? ["start.db-wal"] : []) + ["store.db"]
            )
            if !isNew { #expect(try check(kind)) }
        }
        report(
            """
            \(kind.rawValue), \(journal.rawValue): \(points.count) kills among \(runs.callCount) calls, \
            \(runs.workerCallCount) of them of other threads; \
            \(old) left the old file, \(new) the new one, \(unharmed) came too late
            """
        )
        // A call more or less before the replacement moves the points: all may be before it.
        #expect(old > points.count / 4)
    }

    // MARK: - A Run

    /// A database, in WAL mode with most of its content in the log, as a killed program leaves it.
    private func makeStart(_ kind: Kind, _ journal: Journal) throws {
        let (path, start) = (tool.database, tool.folder.path("start.db"))
        let log = journal == .writeAheadLog ? "; cp \(path)-wal \(start)-wal" : ""
        _ = try SQLCipherShell.run(
            path,
            key: kind == .encrypt ? nil : "x'\(tool.password)'",
            compatibility: kind.oldCompatibility,
            """
            PRAGMA journal_mode = \(journal.rawValue);
            PRAGMA wal_autocheckpoint = 0;
            PRAGMA user_version = 7;
            CREATE TABLE item (id INTEGER PRIMARY KEY, body TEXT);
            CREATE INDEX item_body ON item (body);
            WITH RECURSIVE n (x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n LIMIT \(Self.rowCount))
            INSERT INTO item SELECT x, '\(marker) ' || hex(zeroblob(400)) || x FROM n;
            .shell cp \(path) \(start)\(log)
            """
        )
    }

    private func restore() throws {
        for suffix in ["", "-wal", "-shm", "-journal"] {
            let (start, path) = (tool.folder.path("start.db" + suffix), tool.database + suffix)
            unlink(path)
            if access(start, F_OK) == 0 {
                try FileManager.default.copyItem(atPath: start, toPath: path)
            }
        }
    }

    private func arguments(_ kind: Kind) -> [String] {
        [kind.rawValue] + tool.opening
            + (kind == .rekey
                ? ["--new-password-file", tool.folder.path("new"), "--new-raw-key"] : [])
    }

    // MARK: - What It Left

    /// Checks that one key opens the whole store, and that nothing is in the clear but what was.
    ///
    /// - Returns: Whether that is the new key.
    private func check(_ kind: Kind) throws -> Bool {
        let clear = try markedNames()
        let isPlaintext = try tool.folder.data("store.db").starts(with: "SQLite format 3\0".utf8)
        let old = kind == .encrypt ? nil : "x'\(tool.password)'"
        let new = kind == .rekey ? "x'\(newKey)'" : "x'\(tool.password)'"
        if kind == .encrypt, isPlaintext {
            #expect(clear.allSatisfy { ["store.db", "store.db-wal"].contains($0) }, "\(clear)")
        } else {
            #expect(clear == [])
        }
        let withNew = try? content(key: new)
        let withOld =
            kind == .encrypt && !isPlaintext
            ? nil : try? content(key: old, compatibility: kind.oldCompatibility)
        #expect((withNew == nil) != (withOld == nil))
        let found = try #require(withNew ?? withOld)
        #expect(
            found == "ok\n7\n\(Self.rowCount)|\(Self.rowCount * (Self.rowCount + 1) / 2)|\(length)"
        )
        return withNew != nil
    }

    private var length: Int {
        (1...Self.rowCount).reduce(0) { $0 + marker.count + 801 + "\($1)".count }
    }

    private func content(key: String?, compatibility: Int? = nil) throws -> String {
        try SQLCipherShell.run(
            tool.database,
            key: key,
            compatibility: compatibility,
            """
            PRAGMA integrity_check;
            PRAGMA user_version;
            SELECT count(*), sum(id), sum(length(body)) FROM item WHERE body LIKE '\(marker)%';
            """
        )
    }

    /// The files with clear text in them, those aside that the runs begin with.
    private func markedNames() throws -> [String] {
        try tool.folder.paths.filter { name in
            guard !name.hasPrefix("start.db"), !name.hasPrefix("migrations") else { return false }
            return try tool.folder.data(name).range(of: Data(marker.utf8)) != nil
        }
    }
}
