import Foundation
import GRDB
import MigrationKitKeys
import MigrationKitRescue
import MigrationKitSQLCipher
import TestSupport
import Testing

/// Damage in the places that everything else depends on: the salt, the first page, the end.
@Suite struct DamagedPlaceTests {
    let folder: TemporaryFolder

    init() throws {
        folder = try TemporaryFolder()
    }

    private static let store = SmallStore(compatibility: 4, encoding: "UTF-8", autoVacuum: 0)

    private func flip(_ name: String = "notes.db", bytes offsets: Int...) throws {
        var data = try folder.data(name)
        for offset in offsets { data[offset] ^= 1 << UInt8(offset % 8) }
        try folder.write(name, data)
    }

    private func rows(_ path: String, _ store: SmallStore, _ key: TestKey) throws -> [String:
        [String]]
    {
        let queue = try store.open(path, key: key)
        defer { try? queue.close() }
        return try SmallStore.rows(of: queue)
    }

    // MARK: - The Salt

    @Test(arguments: try TestKey.each())
    func bitOfTheSaltIsFound(_ key: TestKey) throws {
        // Few iterations, so that the search takes no half minute.
        let cipher = try CipherSettings(kdfIterations: 100)
        let queue = try EncryptedDatabase.open(
            folder.database,
            key: key.key,
            options: .init(createsFile: true, cipher: cipher)
        )
        try queue.write {
            try $0.execute(sql: "CREATE TABLE t(a); INSERT INTO t VALUES ('zettel')")
        }
        try queue.close()
        try flip(bytes: 11)
        let report = try DatabaseSalvage(
            folder.database,
            to: folder.path("new.db"),
            form: .encrypted(key.key, cipher: cipher)
        ).run()
        let isComplete = report.isComplete
        #expect(isComplete)
        #expect(report.salt == (key.testDescription.contains("48") ? .intact : .repaired))
        let new = try EncryptedDatabase.open(
            folder.path("new.db"),
            key: key.key,
            options: .init(cipher: cipher)
        )
        #expect(try new.read { try String.fetchAll($0, sql: "SELECT a FROM t") } == ["zettel"])
    }

    @Test func rawKeyOpensFileWithoutItsSalt() throws {
        let key = try TestKey.raw()
        try Self.store.make(folder.database, key: key)
        let before = try rows(folder.database, Self.store, key)
        try flip(bytes: 0, 3, 9)
        let report = try Self.store.salvage(folder.database, key: key, into: folder.path("new.db"))
        #expect(report.salt == .lost)
        let provesPages = report.provesPages
        #expect(!provesPages)
        #expect(try rows(folder.path("new.db"), Self.store, key) == before)
    }

    @Test func wrongKeyAndLostSaltAreOneError() throws {
        let cipher = try CipherSettings(kdfIterations: 100)
        let (key, other) = (try TestKey.passphrase(), try TestKey.passphrase())
        let queue = try EncryptedDatabase.open(
            folder.database,
            key: key.key,
            options: .init(createsFile: true, cipher: cipher)
        )
        try queue.write { try $0.execute(sql: "CREATE TABLE t(a)") }
        try queue.close()
        let whole = try folder.databaseData()
        for (key, isDamaged) in [(other, false), (key, true)] {
            try folder.write("notes.db", whole)
            if isDamaged { try flip(bytes: 0, 3) }
            #expect(throws: DatabaseSalvageError.opensNothing(path: folder.database)) {
                try DatabaseSalvage(
                    folder.database,
                    to: folder.path("new.db"),
                    form: .encrypted(key.key, cipher: cipher)
                ).run()
            }
        }
        #expect(try folder.names == ["notes.db"])
    }

    // MARK: - The First Page

    /// In UTF-16 the schema has pages below the first one, in UTF-8 with large pages it hasn't.
    @Test(arguments: ["UTF-8", "UTF-16le"], [0, 1])
    func firstPageCostsNoRow(_ encoding: String, _ autoVacuum: Int) throws {
        let store = SmallStore(
            compatibility: 3 + autoVacuum,
            encoding: encoding,
            autoVacuum: autoVacuum
        )
        let key = try TestKey.raw()
        try store.make(folder.database, key: key)
        let before = try rows(folder.database, store, key)
        try flip(bytes: 500)
        let report = try store.salvage(folder.database, key: key, into: folder.path("new.db"))
        let isComplete = report.isComplete
        #expect(!isComplete)
        #expect(report.damagedPages.map(\.use) == [.schema])
        let new = try store.open(folder.path("new.db"), key: key)
        let names = Set(report.tables.map(\.name))
        let there = SmallStore.tables.filter(names.contains)
        let found = try SmallStore.rows(of: new, tables: there)
        for table in there { #expect(found[table] == before[table]) }
        let nameless = SmallStore.tables.filter { !there.contains($0) }
        let rest = nameless.reduce(0) { $0 + (before[$1]?.count ?? 0) }
        #expect(report.lostAndFound?.rowCount ?? 0 >= rest)
        try new.read { db in
            #expect(try String.fetchOne(db, sql: "PRAGMA encoding") == encoding)
            #expect(try String.fetchAll(db, sql: "PRAGMA integrity_check") == ["ok"])
            guard nameless.contains("deep"), let lost = report.lostAndFound else { return }
            // Every value is there, as it was, with its rowid.
            let values = try Row.fetchAll(
                db,
                sql:
                    "SELECT id, c1, c2 FROM \(lost.table) WHERE id >= 4000000000000000000 ORDER BY id"
            ).map { row in
                let id = row[0] as Int64
                return "\(id)|\(id)|"
                    + row.databaseValues.dropFirst().map { "\($0)" }.joined(separator: "|")
            }
            #expect(values == before["deep"])
        }
    }

    @Test func schemaBelowTheFirstPageComesBack() throws {
        let key = try TestKey.raw()
        try Self.store.make(folder.database, key: key)
        let before = try rows(folder.database, Self.store, key)
        try flip(bytes: 500)
        let report = try Self.store.salvage(folder.database, key: key, into: folder.path("new.db"))
        #expect(report.lostAndFound == nil)
        #expect(report.unmade == [])
        #expect(try rows(folder.path("new.db"), Self.store, key) == before)
    }

    // MARK: - The End

    @Test(arguments: [1024 * 100, 1024 * 100 + 500, 1024 * 40, 1024 * 3])
    func truncatedFileGivesWhatItHas(_ size: Int) throws {
        let key = try TestKey.raw()
        try Self.store.make(folder.database, key: key)
        let pages = try Self.store.pages(folder.database, key: key)
        let before = try rows(folder.database, Self.store, key)
        let whole = try folder.databaseData()
        try folder.write("notes.db", whole.prefix(size))
        let report = try Self.store.salvage(folder.database, key: key, into: folder.path("new.db"))
        #expect(report.pageCount == whole.count / 1024)
        #expect(report.missingPageCount == whole.count / 1024 - size / 1024)
        let there = report.tables.map(\.name)
        let new = try Self.store.open(folder.path("new.db"), key: key)
        let found = try SmallStore.rows(of: new, tables: ["deep", "log"].filter(there.contains))
        for table in ["deep", "log"] {
            let expected = pages.filter { $0.value.table == table && $0.key <= size / 1024 }
                .reduce(0) { $0 + ($1.value.type == "leaf" ? $1.value.cellCount : 0) }
            let got = found[table] ?? []
            #expect(Set(got).isSubset(of: before[table] ?? []))
            // Rows whose place isn't known any more are in the table for those.
            #expect(got.count + (report.lostAndFound?.rowCount ?? 0) >= expected, "\(table)")
        }
    }

    // MARK: - Several at Once

    @Test(arguments: ["the root", "a page below it"])
    func severalPagesAndTheSaltAtOnce(_ which: String) throws {
        let key = try TestKey.raw()
        try Self.store.make(folder.database, key: key)
        let pages = try Self.store.pages(folder.database, key: key)
        let before = try rows(folder.database, Self.store, key)
        // An inner page, leaves that may be below it, and another table's. The root comes first.
        let inners = pages.filter { $0.value.table == "deep" && $0.value.type == "internal" }
            .keys.sorted()
        try #require(inners.count > 2)
        let inner = which == "the root" ? inners[0] : inners[1]
        let leaves = pages.filter { $0.value.table == "deep" && $0.value.type == "leaf" }
            .sorted { $0.key < $1.key }
        let log = try #require(pages.first { $0.value.table == "log" && $0.value.type == "leaf" })
        let damaged = [leaves[3], leaves[40], log]
        for (page, _) in damaged { try flip(bytes: (page - 1) * 1024 + 77) }
        try flip(bytes: (inner - 1) * 1024 + 78, 5)
        let report = try Self.store.salvage(folder.database, key: key, into: folder.path("new.db"))
        #expect(report.salt == .repaired)
        #expect(report.damagedPages.flatMap(\.numbers) == (damaged.map(\.key) + [inner]).sorted())
        let found = try rows(folder.path("new.db"), Self.store, key)
        for table in SmallStore.tables {
            var rest = before[table] ?? []
            for page in damaged.map(\.value).sorted(by: { $0.rows.lowerBound > $1.rows.lowerBound })
            where page.table == table {
                rest.removeSubrange(page.rows)
            }
            #expect(found[table] == rest, "\(table)")
        }
        let told = report.tables.first { $0.name == "deep" }
        #expect(told?.mostLostRows ?? .max >= 2)
    }

    // MARK: - Plaintext

    @Test func plaintextWithFlippedBitsGivesOtherPages() throws {
        let store = SmallStore(compatibility: nil, encoding: "UTF-8", autoVacuum: 0)
        let key = try TestKey.raw()
        try store.make(folder.database, key: key)
        let pages = try store.pages(folder.database, key: key)
        let whole = try folder.databaseData()
        let before = try rows(folder.database, store, key)
        for number in stride(from: 2, through: whole.count / 1024, by: 7) {
            // The page's kind, its first cell's place, and something in the middle.
            for offset in [0, 9, 600] {
                var data = whole
                data[(number - 1) * 1024 + offset] ^= 4
                try folder.write("notes.db", data)
                let report = try store.salvage(
                    folder.database,
                    key: key,
                    into: folder.path("new.db")
                )
                let place = "page \(number), byte \(offset), \(String(describing: pages[number]))"
                let names = Set(report.tables.map(\.name))
                let new = try store.open(folder.path("new.db"), key: key)
                let there = SmallStore.tables.filter(names.contains)
                let found = try SmallStore.rows(of: new, tables: there)
                for table in SmallStore.tables where pages[number]?.table != "sqlite_schema" {
                    let lost = (before[table] ?? []).filter { !(found[table] ?? []).contains($0) }
                    let page = pages[number]
                    let most =
                        page?.table == table
                        ? page?.type == "overflow" ? 1 : page?.cellCount ?? 0 : 0
                    #expect(lost.count <= most, "\(table), \(place)")
                }
                try new.close()
                unlink(folder.path("new.db"))
            }
        }
    }

    /// Whatever is in a file that nothing proves, it is no more than damage.
    @Test func anyBytesAreSurvived() throws {
        let store = SmallStore(compatibility: nil, encoding: "UTF-8", autoVacuum: 1)
        let key = try TestKey.raw()
        try store.make(folder.database, key: key)
        let whole = try folder.databaseData()
        for _ in 0..<Samples.count(10) {
            var data = whole
            for _ in 0..<Int.random(in: 1...200) {
                let page = Int.random(in: 0..<(data.count / 1024))
                // Most harm is done where a page begins.
                let place = Bool.random() ? Int.random(in: 0..<120) : Int.random(in: 0..<1024)
                data[page * 1024 + place] = UInt8.random(in: .min ... .max)
            }
            try folder.write("notes.db", data)
            _ = try store.salvage(folder.database, key: key, into: folder.path("new.db"))
            let check = try store.open(folder.path("new.db"), key: key).read {
                try String.fetchAll($0, sql: "PRAGMA quick_check")
            }
            #expect(check == ["ok"])
            unlink(folder.path("new.db"))
        }
    }

    /// SQLite drops such a mark from text that it is given.
    @Test(arguments: ["UTF-8", "UTF-16le", "UTF-16be"])
    func textKeepsItsByteOrderMark(_ encoding: String) throws {
        let key = try TestKey.raw()
        let sql = "SELECT hex(a), hex(b) FROM t"
        let before = try SQLCipherShell.run(
            folder.database,
            key: key.spelling,
            """
            PRAGMA encoding = '\(encoding)';
            CREATE TABLE t (a TEXT, b TEXT);
            INSERT INTO t VALUES (CAST(x'feff0041' AS TEXT), 'plain'), (CAST(x'fffe4100' AS TEXT), '');
            \(sql);
            """
        )
        let report = try DatabaseSalvage(
            folder.database,
            to: folder.path("new.db"),
            form: .encrypted(key.key)
        ).run()
        let isComplete = report.isComplete
        #expect(isComplete)
        #expect(
            try SQLCipherShell.run(folder.path("new.db"), key: key.spelling, "\(sql);") == before
        )
    }
}
