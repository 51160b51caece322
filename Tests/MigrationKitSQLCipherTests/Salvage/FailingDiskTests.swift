@testable import MigrationKitPages
import Foundation
import GRDB
@testable import MigrationKitRescue
import TestSupport
import Testing

@testable import MigrationKitSQLCipher

/// A disk that gives a page in the first pass and not again: a file that is cut short meanwhile.
@Suite struct FailingDiskTests {
    let folder: TemporaryFolder
    let key: TestKey

    init() throws {
        folder = try TemporaryFolder()
        key = try TestKey.raw()
    }

    private static let store = SmallStore(compatibility: 4, encoding: "UTF-8", autoVacuum: 0)

    @Test(arguments: [true, false], [0.02, 0.5, 0.9])
    func pageThatIsGoneLaterIsCountedAsDamaged(isBeforeTrees: Bool, part: Double) throws {
        try Self.store.make(folder.database, key: key)
        let rows = try SmallStore.rows(of: Self.store.open(folder.database, key: key))
        let path = folder.database
        let pageCount = try folder.databaseData().count / 1024
        let left = Int(Double(pageCount) * part)
        let cut: @Sendable () -> Void = { _ = truncate(path, off_t(left * 1024)) }
        let monitor = ConversionMonitor(timeout: 0, cancellation: nil) { event in
            guard isBeforeTrees, case .progress(.reading, let done, let total) = event else {
                return
            }
            if done == total { cut() }
        }
        let files = try SalvageFiles(path)
        let cipher = try Self.store.cipher
        let found = try SalvageKey(
            encrypted: files,
            keys: [key.key],
            cipher: #require(cipher),
            monitor: monitor
        )
        let content = try SalvageContent(
            SalvagePages(
                file: files.main,
                beside: nil,
                versions: PageVersions(),
                form: #require(found).form
            ),
            monitor: monitor
        )
        #expect(isBeforeTrees || content.pages.states.dropFirst().allSatisfy { $0 == .intact })
        if !isBeforeTrees { cut() }
        let (filling, new) = try DatabaseQueue().inDatabase { db in
            try db.execute(sql: "BEGIN")
            let filling = try SalvageFilling(content, in: db, monitor: monitor)
            try filling.run()
            try db.execute(sql: "COMMIT")
            let names = ["note", "pair", "deep", "log"]
            let new = try names.map { name in
                try db.tableExists(name)
                    ? Int.fetchOne(db, sql: "SELECT count(*) FROM \(name)") ?? 0 : nil
            }
            return (filling, Dictionary(uniqueKeysWithValues: zip(names, new)))
        }

        let damaged = filling.damagedPages()
        #expect(!damaged.isEmpty)
        #expect(damaged.allSatisfy { $0.number > left && $0.problem == .damaged })
        let tables = filling.tables()
        var lostCount = 0
        for name in SmallStore.tables {
            guard let count = new[name] ?? nil else {
                #expect(!filling.isSchemaWhole, "\(name)")
                continue
            }
            let table = try #require(tables.first { $0.name == name })
            let lost = try #require(rows[name]).count - count
            lostCount += lost
            #expect(table.rowCount == count, "\(name)")
            #expect(lost <= table.mostLostRows ?? .max, "\(name)")
            if lost > 0 {
                let isTold =
                    !table.gaps.isEmpty || table.lostRowCount > 0 || filling.lostAndFound != nil
                #expect(isTold, "\(name)")
            }
        }
        #expect(lostCount > 0 || !filling.isSchemaWhole)
    }
}
