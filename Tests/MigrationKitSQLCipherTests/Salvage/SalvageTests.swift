import Foundation
import GRDB
import MigrationKitKeys
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

    /// SQLite with STAT4 makes a table that this one doesn't.
    @Test func lostStatisticsAreNoLoss() throws {
        _ = try SQLCipherShell.run(
            folder.database,
            key: key.spelling,
            """
            CREATE TABLE t (a); INSERT INTO t VALUES (1); CREATE TABLE s (tbl, idx, neq, nlt, ndlt, sample);
            .dbconfig defensive off
            PRAGMA writable_schema = ON;
            UPDATE sqlite_schema SET name = 'sqlite_stat4', tbl_name = 'sqlite_stat4',
              sql = 'CREATE TABLE sqlite_stat4(tbl,idx,neq,nlt,ndlt,sample)' WHERE name = 's';
            """
        )
        let report = try DatabaseSalvage(
            folder.database,
            to: folder.path("new.db"),
            form: .encrypted(key.key)
        ).run()
        #expect(report.isComplete, "\(report)")
        #expect(report.unmade.map(\.name) == ["sqlite_stat4"])
    }
}
