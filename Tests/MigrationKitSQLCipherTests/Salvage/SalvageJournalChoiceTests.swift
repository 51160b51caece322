import Foundation
import GRDB
import MigrationKitKeys
import MigrationKitPages
import MigrationKitRescue
import MigrationKitSQLCipher
import TestSupport
import Testing

/// Keys, salts and journals: what is the file's own is used, wherever it is, and what isn't is left out.
@Suite struct SalvageJournalChoiceTests {
    private let folder: TemporaryFolder
    private let key: TestKey

    init() throws {
        folder = try TemporaryFolder()
        key = try TestKey.raw()
    }

    private func shell(_ sql: String, _ path: String? = nil) throws -> String {
        try SQLCipherShell.run(path ?? folder.database, key: key.spelling, sql)
    }

    private func make(_ mode: String) throws {
        _ = try shell(
            """
            PRAGMA journal_mode = \(mode);
            CREATE TABLE notes (id INTEGER PRIMARY KEY, x TEXT);
            CREATE INDEX notes_x ON notes (x);
            WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT 1000)
            INSERT INTO notes SELECT i, hex(randomblob(40)) FROM n;
            """
        )
    }

    /// Runs SQL and leaves the log, as a killed program does.
    private func leaveLog(_ sql: String) throws {
        _ = try shell(".dbconfig no_ckpt_on_close on\n\(sql)")
        try #require(folder.names.contains("notes.db-wal"))
        try? FileManager.default.removeItem(atPath: folder.database + "-shm")
    }

    private func salvage(second: DatabaseKey? = nil) throws -> SalvageReport {
        try DatabaseSalvage(
            folder.database,
            to: folder.path("new.db"),
            form: .encrypted(key.key),
            secondKey: second
        ).run()
    }

    private func count(_ condition: String = "1") throws -> String {
        try shell(
            "SELECT count(*) FROM notes WHERE \(condition); PRAGMA integrity_check;",
            folder.path("new.db")
        )
    }

    // MARK: - The Salt

    @Test(arguments: [4096, 0])
    func logHasTheSaltOfALostFirstPage(_ zeroCount: Int) throws {
        try make("wal")
        try leaveLog("CREATE TABLE more (a); UPDATE notes SET x = 'new ' || x;")
        var data = try folder.databaseData()
        data.replaceSubrange(0..<zeroCount, with: Data(count: zeroCount))
        // Without any, the log has all pages.
        try folder.write("notes.db", zeroCount == 0 ? Data() : data)
        let report = try salvage()
        #expect(report.salt == .repaired && report.saltSource == .writeAheadLog)
        let isComplete = report.isComplete
        #expect(isComplete, "\(report)")
        #expect(try count("x LIKE 'new %'") == "1000\nok")
    }

    /// A raw key opens it whatever its salt is, and without an HMAC nothing else tells.
    @Test func aLogOfAnotherSaltIsLeftOut() throws {
        let settings = "PRAGMA cipher_use_hmac = OFF; PRAGMA journal_mode = wal;"
        let path = folder.path("other.db")
        for (name, count) in [(folder.database, 500), (path, 100)] {
            _ = try shell(
                """
                .dbconfig no_ckpt_on_close on
                \(settings)
                CREATE TABLE notes (id INTEGER PRIMARY KEY, x TEXT);
                WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT \(count))
                INSERT INTO notes SELECT i, hex(randomblob(40)) FROM n;
                \(name == path ? "" : "PRAGMA wal_checkpoint(TRUNCATE);")
                """,
                name
            )
        }
        try folder.write("notes.db-wal", folder.data("other.db-wal"))
        let report = try DatabaseSalvage(
            folder.database,
            to: folder.path("new.db"),
            form: .encrypted(key.key, cipher: CipherSettings(hmacAlgorithm: .off))
        ).run()
        #expect(report.journal?.leftOut == .otherTime && report.rowCount == 500, "\(report)")
    }

    /// What SQLite reads has more rows than the frames behind the damage leave.
    @Test func aDamagedLogThatTakesRowsAwayIsNoWholeOne() throws {
        try make("wal")
        // Each page of the first transaction is in the second one, too.
        try leaveLog(
            "UPDATE notes SET x = 'new' WHERE id = 1; DELETE FROM notes WHERE id % 2 = 0;"
        )
        let log = try folder.data("notes.db-wal")
        for frame in 0..<(log.count - 32) / (24 + 4096) {
            var damaged = log
            damaged[32 + frame * (24 + 4096) + 24 + 2000] ^= 1
            try folder.write("notes.db-wal", damaged)
            let report = try salvage()
            #expect(report.journal?.rowCountWithout == 1000)
            #expect(report.rowCount >= 500)
            let isComplete = report.isComplete
            #expect(!isComplete || report.rowCount == 1000, "frame \(frame): \(report)")
            unlink(folder.path("new.db"))
        }
    }

    // MARK: - Two Keys

    @Test(arguments: [2, 3], [true, false])
    func interruptedChangeOfTheKeyCostsNothing(_ step: Int, _ isFirst: Bool) throws {
        try make("delete")
        let other = try TestKey.raw()
        let pages = try StoredPages(folder.databaseData(), key: key.key, cipher: .current)
        var changed = pages.image
        // What the first page leaves unused is changed, so that the pages are written again.
        for page in 0..<pages.pageCount where (page % step == 0) == isFirst {
            changed[page * 4096 + 4095] ^= 1
        }
        try folder.write("notes.db", pages.with(changed, key: other.key))
        let alone = try salvage()
        let isAloneComplete = alone.isComplete
        #expect(!isAloneComplete)
        unlink(folder.path("new.db"))
        let report = try salvage(second: other.key)
        let isComplete = report.isComplete
        #expect(isComplete && report.damagedPages == [], "\(report)")
        // The new file has the first key.
        #expect(try count() == "1000\nok")
    }

    // MARK: - What Is Left of Former Changes

    private let former = [
        "UPDATE notes SET x = 'older'", "PRAGMA wal_checkpoint(RESTART)",
        "UPDATE notes SET x = 'newer'", "PRAGMA wal_checkpoint(RESTART)",
        "PRAGMA cache_size = 2",
    ]

    /// After a checkpoint, a log is written from its beginning. The frames behind the new ones belong to
    /// transactions that are in the database.
    @Test(arguments: [
        ["UPDATE notes SET x = 'last' WHERE id < 100"],
        // SQLite writes a page that is changed twice into the same frame, and corrects the sums only when
        // it commits.
        [
            "BEGIN", "UPDATE notes SET x = 'never' WHERE id < 300",
            "UPDATE notes SET x = 'NEVER' WHERE id < 300",
        ],
    ])
    func framesOfAFormerUseOfTheLogDoNotCount(_ change: [String]) throws {
        try make("wal")
        try Crash.kill(
            after: ["PRAGMA wal_autocheckpoint = 0"] + former + change,
            of: folder.database,
            key: key
        )
        let report = try salvage()
        let isComplete = report.isComplete
        #expect(isComplete && report.journal?.leftOut == nil, "\(report)")
        let last = change.count == 1 ? 99 : 0
        #expect(try count("x = 'last'") == "\(last)\nok")
        #expect(try count("x = 'newer'") == "\(1000 - last)\nok")
    }

    /// A program that doesn't synchronize its journal doesn't count the records. Behind them, there may be
    /// those of a former change.
    @Test(arguments: [0, 2000]) func recordsOfAFormerChangeDoNotCount(_ cutCount: Int) throws {
        try make("persist")
        try Crash.kill(
            after: [
                "PRAGMA journal_mode = PERSIST", "PRAGMA synchronous = OFF",
                "PRAGMA cache_size = 2", "UPDATE notes SET x = 'old ' || x",
                "UPDATE notes SET x = 'new'", "BEGIN", "DELETE FROM notes WHERE id < 200",
            ],
            of: folder.database,
            key: key
        )
        let journal = try folder.data("notes.db-journal")
        try folder.write("notes.db-journal", journal.dropLast(cutCount))
        let report = try salvage()
        let isComplete = report.isComplete
        #expect(isComplete, "\(report)")
        #expect(try count("x = 'new'") == "1000\nok")
    }

    // MARK: - A Journal of Another File

    @Test func oldLogBesideANewerFileIsLeftOut() throws {
        try make("wal")
        try leaveLog("INSERT INTO notes SELECT id + 1000, hex(randomblob(40)) FROM notes;")
        let log = try folder.data("notes.db-wal")
        _ = try shell("DELETE FROM notes WHERE id < 5; INSERT INTO notes VALUES (5000, 'newest');")
        try folder.write("notes.db-wal", log)
        let report = try salvage()
        let isComplete = report.isComplete
        #expect(isComplete && report.journal?.leftOut != nil, "\(report)")
        #expect(report.journal?.rowCountWithout == 1997)
        #expect(report.journal?.rowCountWith != nil)
        #expect(try count("1") == "1997\nok")
        #expect(try count("x = 'newest'") == "1\nok")
    }

    @Test func logOfAnotherSaltIsLeftOut() throws {
        try make("wal")
        try leaveLog("UPDATE notes SET x = 'other ' || x;")
        let log = try folder.data("notes.db-wal")
        for name in ["notes.db", "notes.db-wal"] { unlink(folder.path(name)) }
        try make("wal")
        try folder.write("notes.db-wal", log)
        let report = try salvage()
        let isComplete = report.isComplete
        #expect(isComplete && report.journal?.leftOut == .otherKey, "\(report)")
        #expect(try count("x LIKE 'other %'") == "0\nok")
    }

    @Test func ownLogIsUsedThoughItDeletesRows() throws {
        try make("wal")
        try leaveLog("DELETE FROM notes WHERE id > 900;")
        let report = try salvage()
        #expect(report.journal?.leftOut == nil)
        #expect(report.journal?.rowCountWith == 900 && report.journal?.rowCountWithout == 1000)
        #expect(try count() == "900\nok")
    }
}
