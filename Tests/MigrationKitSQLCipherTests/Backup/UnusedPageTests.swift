import Foundation
import GRDB
import MigrationKitKeys
import TestSupport
import Testing

@testable import MigrationKitSQLCipher

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

    @Test func anotherKeyGoesWithoutIt() throws {
        try damage(freePages)
        let newKey = try TestKey.raw()
        try DatabaseConversion.rekey(
            folder.database,
            from: key.key,
            to: newKey.key
        ).run(to: output)
        try expectWhole([], newKey)
    }

    /// A database with more free pages than one page can list, and the pages of that list in order.
    private func makeLongFreeList(autoVacuum: String) throws -> [Int] {
        try FileManager.default.removeItem(atPath: folder.database)
        _ = try SQLCipherShell.run(
            folder.database,
            key: key.spelling,
            """
            PRAGMA auto_vacuum = \(autoVacuum); CREATE TABLE t (a); INSERT INTO t VALUES ('zettel');
            \(Fixtures.fill(pages: 2500)) DROP TABLE filler;
            """
        )
        return try listPages()
    }

    /// The pages of the list of free pages, as SQLite reads them when it checks the list.
    private func listPages() throws -> [Int] {
        let settings = CipherSettings.current
        let data = try folder.databaseData()
        let cipher = try PageCipher(key: key.key, cipher: settings)
        func word(_ page: Int, _ offset: Int) throws -> Int {
            let start = (page - 1) * 4096
            let content = try #require(
                cipher.decrypt(Array(data[start..<(start + 4096)]), number: page)
            )
            return Int(content.word(offset))
        }
        var pages: [Int] = []
        var next = try word(1, 32)
        while next != 0 {
            pages.append(next)
            next = try word(next, 0)
        }
        return pages
    }

    @Test(arguments: ["NONE", "INCREMENTAL"], [0, 1])
    func pageOfTheListOfFreePagesHoldsNothingEither(autoVacuum: String, index: Int) throws {
        let pages = try makeLongFreeList(autoVacuum: autoVacuum)
        try #require(pages.count > 2)
        try damage([pages[index]])
        let count = "PRAGMA freelist_count; PRAGMA page_count;"
        let report = try DatabaseBackup(folder.database, to: output, form: .encrypted(key.key))
            .run()
        try expectWhole(report.findings)
        #expect(
            try SQLCipherShell.run(output, key: key.spelling, count)
                == SQLCipherShell.run(folder.database, key: key.spelling, count)
        )
        // The list is good for writing.
        _ = try SQLCipherShell.run(output, key: key.spelling, Fixtures.fill(pages: 2400))
        let checks = "PRAGMA integrity_check; SELECT count(*) FROM filler;"
        #expect(try SQLCipherShell.run(output, key: key.spelling, checks) == "ok\n2400")

        let restored = folder.path("restored.db")
        _ = try DatabaseRestore(restored, from: folder.database, form: .encrypted(key.key)).run()
        let rows = "SELECT a FROM t; PRAGMA integrity_check;"
        #expect(try SQLCipherShell.run(restored, key: key.spelling, rows) == "zettel\nok")
    }

    @Test func aDamagedPageInUseIsRefusedEvenIfAFreeOneIsDamagedToo() throws {
        let pages = try makeLongFreeList(autoVacuum: "NONE")
        try damage([2, pages[0]])
        #expect(
            throws: EncryptedDatabaseError.damaged(path: folder.database, pages: [2, pages[0]])
        ) {
            try DatabaseBackup(folder.database, to: output, form: .encrypted(key.key)).run()
        }
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
