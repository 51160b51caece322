import Foundation
import GRDB
import KeyStore
import MigrationKitRescue
import MigrationKitSQLCipher
import TestSupport
import Testing

/// What comes back of a file that isn't damaged at all, which is everything.
@Suite struct SalvageTests {
    let folder: TemporaryFolder
    let key: TestKey

    init() throws {
        folder = try TemporaryFolder()
        key = try TestKey.raw()
    }

    @Test(arguments: RichStore.all)
    func wholeFileComesBackAsItIs(_ store: RichStore) throws {
        try store.make(folder.database, key: key.spelling)
        let before = try folder.databaseData()
        let report = try DatabaseSalvage(
            folder.database,
            to: folder.path("new.db"),
            form: .encrypted(key.key)
        ).run()
        let isComplete = report.isComplete
        #expect(isComplete, "\(report.unmade), \(report.tables.flatMap(\.gaps))")
        #expect(report.damagedPages == [])
        #expect(
            try RichStore.content(folder.path("new.db"), key: key.spelling)
                == RichStore.content(folder.database, key: key.spelling)
        )
        #expect(try folder.databaseData() == before)
    }
}
