import Foundation
import GRDB
import MigrationKitKeys
import MigrationKitSQLCipher
import TestSupport
import Testing

/// Files with a journal beside them, which has pages that go before those of the file.
@Suite struct DamagedJournalTests {
    /// How many frames are damaged.
    private static let frameLimit =
        Samples.count(6)

    let folder: TemporaryFolder
    let key: TestKey

    init() throws {
        folder = try TemporaryFolder()
        key = try TestKey.raw()
    }

    private func shell(_ store: SmallStore, _ sql: String) throws {
        _ = try SQLCipherShell.run(
            folder.database,
            key: store.compatibility == nil ? nil : key.spelling,
            compatibility: store.compatibility,
            """
            PRAGMA \(store.compatibility == nil ? "page_size" : "cipher_page_size") = 1024;
            \(sql)
            """
        )
    }

    /// A database with three transactions in its log, and pages that two of them have changed.
    private func makeLog(_ store: SmallStore) throws {
        try store.make(folder.database, key: key, journalMode: "wal")
        try shell(
            store,
            """
            .dbconfig no_ckpt_on_close on
            PRAGMA wal_autocheckpoint = 0;
            UPDATE deep SET u = 'first' WHERE id % 9 = 0;
            INSERT INTO deep SELECT id + 500, t, 'between' FROM deep WHERE id % 5 = 0;
            UPDATE deep SET u = 'second' WHERE id % 6000 = 0;
            """
        )
    }

    private func rows(_ path: String, _ store: SmallStore) throws -> [String: [String]] {
        let queue = try store.open(path, key: key)
        defer { try? queue.close() }
        return try SmallStore.rows(of: queue)
    }

    static let stores = [
        SmallStore(compatibility: 4, encoding: "UTF-8", autoVacuum: 0),
        SmallStore(compatibility: nil, encoding: "UTF-8", autoVacuum: 0),
        SmallStore(compatibility: 4, encoding: "UTF-8", autoVacuum: 1),
    ]

    @Test(arguments: stores)
    func frameThatIsDamagedCostsItsPageOnly(_ store: SmallStore) throws {
        try makeLog(store)
        let (main, log) = (try folder.databaseData(), try folder.data("notes.db-wal"))
        let frameSize = 1024 + 24
        let count = (log.count - 32) / frameSize
        try #require(count > 30)
        // How it is with all of the log, read from copies, so that nothing is moved.
        for suffix in ["", "-wal"] {
            try folder.write("copy.db" + suffix, folder.data("notes.db" + suffix))
        }
        let pages = try store.pages(folder.path("copy.db"), key: key)
        let last = try rows(folder.path("copy.db"), store)
        for name in try folder.names where name.hasPrefix("copy") { unlink(folder.path(name)) }
        let numbers = (0..<count).map { frame in
            log.dropFirst(32 + frame * frameSize).prefix(4).reduce(0) { $0 << 8 | Int($1) }
        }

        for frame in stride(from: 0, to: count, by: max(1, count / Self.frameLimit)) {
            var data = log
            data[32 + frame * frameSize + 24 + Int.random(in: 0..<1000)] ^= 8
            try folder.write("notes.db", main)
            try folder.write("notes.db-wal", data)
            let report = try store.salvage(folder.database, key: key, into: folder.path("new.db"))
            #expect(report.journal?.kind == .writeAheadLog)
            #expect(report.journal?.frameCount == count)
            #expect(report.journal?.damagedFrames == [frame + 1])
            let number = numbers[frame]
            let isNewest = !numbers[(frame + 1)...].contains(number)
            let place = "frame \(frame + 1), page \(number), newest \(isNewest)"
            let isComplete = report.isComplete
            let found = try rows(folder.path("new.db"), store)
            for table in SmallStore.tables {
                var expected = last[table] ?? []
                let page = pages[number]
                if isNewest, page?.table == table, page?.type == "leaf" || table == "pair" {
                    let isKept = { (row: String) in (found[table] ?? []).contains(row) }
                    #expect(expected.count { !isKept($0) } <= page?.cellCount ?? 0, "\(place)")
                    #expect(!isComplete, "\(place)")
                } else {
                    expected.removeAll { (found[table] ?? []).contains($0) }
                    #expect(expected == [], "\(table), \(place)")
                }
            }
            if store.compatibility != nil, !isNewest { #expect(isComplete, "\(place)") }
            #expect(try folder.databaseData() == main)
            #expect(try folder.data("notes.db-wal") == data)
            unlink(folder.path("new.db"))
        }
    }

    @Test func headerOfTheLogIsNotNeeded() throws {
        let store = Self.stores[0]
        try makeLog(store)
        for suffix in ["", "-wal"] {
            try folder.write("copy.db" + suffix, folder.data("notes.db" + suffix))
        }
        let last = try rows(folder.path("copy.db"), store)
        let log = try folder.data("notes.db-wal")
        // Its magic number, the page size, both salts, and a sum; then salts of the first frame.
        for offset in [1, 10, 17, 21, 26, 32 + 9, 32 + 13, 32 + 17] {
            var data = log
            data[offset] ^= 2
            try folder.write("notes.db-wal", data)
            let report = try store.salvage(folder.database, key: key, into: folder.path("new.db"))
            let isComplete = report.isComplete
            #expect(isComplete, "\(offset)")
            #expect(try rows(folder.path("new.db"), store) == last, "\(offset)")
            unlink(folder.path("new.db"))
        }
    }

    @Test func whatWasNeverCommittedIsLeftOut() throws {
        let store = Self.stores[0]
        try makeLog(store)
        let log = try folder.data("notes.db-wal")
        let frameSize = 1024 + 24
        let count = (log.count - 32) / frameSize
        let sizes = (0..<count).map { frame in
            log.dropFirst(32 + frame * frameSize + 4).prefix(4).reduce(0) { $0 << 8 | Int($1) }
        }
        let commits = sizes.indices.filter { sizes[$0] > 0 }
        try #require(commits.count == 3)
        try folder.write("notes.db-wal", log.prefix(32 + (commits[2]) * frameSize + 100))
        let report = try store.salvage(folder.database, key: key, into: folder.path("new.db"))
        #expect(report.journal?.frameCount == commits[1] + 1)
        let found = try rows(folder.path("new.db"), store)["deep"] ?? []
        #expect(found.count { $0.contains("between") } > 20)
        #expect(!found.contains { $0.contains("second") })
    }

    // MARK: - Rollback Journal

    @Test(arguments: stores)
    func changeThatWasNeverFinishedIsUndone(_ store: SmallStore) throws {
        try store.make(folder.database, key: key)
        let before = try rows(folder.database, store)
        let (path, copy) = (folder.database, folder.path("killed.db"))
        try shell(
            store,
            """
            PRAGMA cache_size = 5;
            BEGIN;
            UPDATE deep SET t = t || 'halb', u = 'never';
            INSERT INTO log (t, n) SELECT 'never', id FROM note;
            .shell cp \(path) \(copy); cp \(path)-journal \(copy)-journal
            ROLLBACK;
            """
        )
        let data = try folder.data("killed.db")
        try #require(try data != folder.databaseData())
        let report = try store.salvage(copy, key: key, into: folder.path("new.db"))
        #expect(report.journal?.kind == .rollback)
        #expect(report.journal?.damagedFrames == [])
        let isComplete = report.isComplete
        #expect(isComplete)
        #expect(try rows(folder.path("new.db"), store) == before)
        #expect(try folder.data("killed.db") == data)
    }
}
