import Foundation
import GRDB
import MigrationKitKeys
import MigrationKitRescue
import MigrationKitSQLCipher
import TestSupport
import Testing

/// One bit flips, in one page after the other: what was on the page is lost, and nothing else.
@Suite struct DamagedPageTests {
    /// How many pages of each store are damaged.
    private static let pageLimit =
        Samples.count(20)

    let folder: TemporaryFolder
    let key: TestKey

    init() throws {
        folder = try TemporaryFolder()
        key = try TestKey.raw()
    }

    static let stores = [
        SmallStore(compatibility: 4, encoding: "UTF-8", autoVacuum: 0),
        SmallStore(compatibility: 4, encoding: "UTF-16le", autoVacuum: 1),
        SmallStore(compatibility: 3, encoding: "UTF-16be", autoVacuum: 2),
    ]

    @Test(arguments: stores)
    func rowsOfOtherPagesComeBack(_ store: SmallStore) throws {
        try store.make(folder.database, key: key)
        let whole = try folder.databaseData()
        let pages = try store.pages(folder.database, key: key)
        let rows = try SmallStore.rows(of: store.open(folder.database, key: key))
        let count = whole.count / 1024
        try #require(count > 120)
        // All kinds of pages are at the beginning, and the last one counts too.
        let step = max(1, count / Self.pageLimit)
        for number in Set(stride(from: 2, through: count, by: step)).union([count]).sorted() {
            var data = whole
            // Behind the HMAC of SQLCipher 3 are twelve bytes that mean nothing.
            let bit = Int.random(in: 0..<(1012 * 8))
            data[(number - 1) * 1024 + bit / 8] ^= 1 << (bit % 8)
            try folder.write("notes.db", data)
            let output = folder.path("new.db")
            let report = try store.salvage(folder.database, key: key, into: output)
            let place = "page \(number), \(String(describing: pages[number])), bit \(bit)"
            #expect(report.damagedPages.map(\.number) == [number], "\(place)")
            #expect(try folder.databaseData() == data, "\(place)")
            let new = try store.open(output, key: key)
            if pages[number]?.table == "sqlite_schema" {
                try expectOthers(new, rows, report, place)
            } else {
                try expect(new, pages[number], rows, report, place)
            }
            try new.close()
            unlink(output)
        }
        #expect(try folder.names == ["notes.db"])
    }

    private func expect(
        _ new: DatabaseQueue,
        _ page: SmallStore.Page?,
        _ rows: [String: [String]],
        _ report: SalvageReport,
        _ place: String
    ) throws {
        let found = try SmallStore.rows(of: new)
        var lost = 0
        for table in SmallStore.tables {
            let (expected, got) = (rows[table] ?? [], found[table] ?? [])
            guard let page, page.table == table else {
                expectEqual(got, expected, "\(table), \(place)")
                continue
            }
            switch page.type {
            case "leaf" where table != "pair":
                var rest = expected
                rest.removeSubrange(page.rows)
                expectEqual(got, rest, "\(table), \(place)")
                lost = page.cellCount
            case "overflow":
                lost = 1
                #expect(got.count == expected.count - 1, "\(table), \(place)")
                expectEqual(got, expected.filter(Set(got).contains), "\(table), \(place)")
            case "internal" where table != "pair":
                expectEqual(got, expected, "\(table), \(place)")
            default:
                lost = page.cellCount
                #expect(got.count == expected.count - lost, "\(table), \(place)")
                expectEqual(got, expected.filter(Set(got).contains), "\(table), \(place)")
            }
            let told = try #require(report.tables.first { $0.name == table })
            #expect(told.rowCount == got.count, "\(place)")
            #expect((told.mostLostRows ?? .max) >= lost, "\(place)")
            #expect(report.isComplete == (lost == 0), "\(place)")
            #expect(report.damagedPages.map(\.use) == [.table(table)], "\(place)")
        }
        // Indexes, and full-text indexes that have their content elsewhere, are made anew.
        let isRemade = page.map { $0.table.contains(/_(body|data|idx|docsize)$/) } ?? true
        if isRemade { #expect(report.isComplete, "\(place)") }
        #expect(report.unmade == [], "\(place)")
        try new.write { db in
            let check = try String.fetchAll(db, sql: "PRAGMA integrity_check")
            #expect(check == ["ok"], "\(place)")
            try db.execute(
                sql: """
                    INSERT INTO note_fts (note_fts) VALUES ('integrity-check');
                    INSERT INTO own_fts (own_fts) VALUES ('integrity-check');
                    """
            )
            let hits = try Int.fetchOne(
                db,
                sql: "SELECT count(*) FROM note_fts WHERE note_fts MATCH 'zettel'"
            )
            #expect(hits == found["note"]?.count, "\(place)")
            let numbers = try String.fetchOne(
                db,
                sql: "SELECT user_version || ' ' || application_id"
                    + " FROM pragma_user_version, pragma_application_id"
            )
            #expect(numbers == "42 1234567", "\(place)")
        }
    }

    /// Of a table whose name is lost, the rows are in the table for those.
    private func expectOthers(
        _ new: DatabaseQueue,
        _ rows: [String: [String]],
        _ report: SalvageReport,
        _ place: String
    ) throws {
        let isWhole = report.isSchemaWhole
        #expect(!isWhole, "\(place)")
        #expect(report.damagedPages.map(\.use) == [.schema], "\(place)")
        let names = Set(report.tables.map(\.name))
        var nameless = 0
        let found = try SmallStore.rows(of: new, tables: SmallStore.tables.filter(names.contains))
        for table in SmallStore.tables {
            guard let got = found[table] else {
                nameless += rows[table]?.count ?? 0
                continue
            }
            expectEqual(got, rows[table] ?? [], "\(table), \(place)")
        }
        #expect(report.lostAndFound?.rowCount ?? 0 >= nameless, "\(place)")
        let check = try new.read { try String.fetchAll($0, sql: "PRAGMA integrity_check") }
        #expect(check == ["ok"], "\(place)")
    }

    /// Tells the difference, instead of all that there is.
    private func expectEqual(_ got: [String], _ expected: [String], _ place: String) {
        guard got != expected else { return }
        let missing = expected.filter { !got.contains($0) }.map { $0.prefix(40) }
        let added = got.filter { !expected.contains($0) }.map { $0.prefix(40) }
        Issue.record("\(place): missing \(missing), too many \(added)")
    }
}
