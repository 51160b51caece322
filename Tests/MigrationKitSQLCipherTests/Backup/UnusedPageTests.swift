import Foundation
import GRDB
import KeyStore
import MigrationKitSQLCipher
import TestSupport
import Testing

/// A page that holds nothing is not as it was written: nothing is lost with it.
@Suite struct UnusedPageTests {
    private let folder: TemporaryFolder
    private let key: TestKey
    private let pageCount: Int
    private var output: String { folder.path("new.db") }

    init() throws {
        folder = try TemporaryFolder()
        key = try .raw()
        _ = try SQLCipherShell.run(
            folder.database,
            key: key.spelling,
            """
            CREATE TABLE t (a); INSERT INTO t VALUES ('zettel');
            \(Fixtures.fill(pages: 60)) DROP TABLE filler;
            """
        )
        pageCount = try folder.databaseData().count / 4096
    }

    /// Free pages that aren't the one in which SQLite lists them.
    private var freePages: [Int] { [pageCount - 5, pageCount - 3] }

    private func damage(_ pages: [Int]) throws {
        for page in pages { try folder.damage(at: (page - 1) * 4096 + 1000) }
    }

    private func expectWhole(_ findings: [String], _ newKey: TestKey? = nil) throws {
        let found = try SQLCipherShell.run(
            output,
            key: (newKey ?? key).spelling,
            "SELECT a FROM t; PRAGMA integrity_check; PRAGMA cipher_integrity_check;"
        )
        #expect(found == "zettel\nok")
        #expect(findings.isEmpty)
    }

    @Test(arguments: ["DELETE", "WAL"])
    func backupGoesWithoutIt(journalMode: String) throws {
        _ = try SQLCipherShell.run(
            folder.database,
            key: key.spelling,
            "PRAGMA journal_mode = \(journalMode);"
        )
        try damage(freePages)
        let newKey = try TestKey.raw()
        let before = try folder.databaseData()
        let report = try DatabaseBackup(
            folder.database,
            to: output,
            form: .encrypted(key.key),
            newKey: newKey.key
        ).run()
        try expectWhole(report.findings, newKey)
        #expect(try folder.databaseData() == before)
    }

    @Test func restoreGoesWithoutIt() throws {
        try damage(freePages)
        let report = try DatabaseRestore(output, from: folder.database, form: .encrypted(key.key))
            .run()
        try expectWhole(report.findings)
    }

    @Test func pageThatIsUsedIsStillRefused() throws {
        try damage(freePages + [2])
        let damaged = EncryptedDatabaseError.damaged(
            path: folder.database,
            pages: [2] + freePages
        )
        #expect(throws: damaged) {
            try DatabaseBackup(folder.database, to: output, form: .encrypted(key.key)).run()
        }
        #expect(throws: damaged) {
            try DatabaseRestore(output, from: folder.database, form: .encrypted(key.key)).run()
        }
        #expect(try folder.names == ["notes.db"])
    }
}
