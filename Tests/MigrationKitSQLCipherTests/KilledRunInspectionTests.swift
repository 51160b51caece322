import MigrationKitCommon
import Foundation
import GRDB
import MigrationKitKeys
import MigrationKitRescue
import MigrationKitSQLCipher
import TestSupport
import Testing

/// What a program leaves that is killed is told, and not taken for damage.
@Suite struct KilledRunInspectionTests {
    private let folder: TemporaryFolder
    private let key: TestKey

    init() throws {
        folder = try TemporaryFolder()
        key = try TestKey.raw()
    }

    @Test func unfinishedChangeIsNoDamage() throws {
        let queue = try EncryptedDatabase.open(
            folder.database,
            key: key.key,
            options: .init(createsFile: true)
        )
        try queue.write { try $0.execute(sql: "CREATE TABLE t (a); INSERT INTO t VALUES ('kept')") }
        try queue.close()
        func report() throws -> FileReport {
            try EncryptedDatabase.inspect(folder.database, key: key.key)
        }
        #expect(try !report().hasUnfinishedChange)
        try Crash.leaveJournal(of: folder.database, key: key)
        let before = try folder.snapshot()
        let killed = try report()
        #expect(killed.hasUnfinishedChange)
        #expect(killed.damage == nil)
        #expect(try folder.snapshot() == before)
        // As a journal that persists is after the change, damage counts again.
        let whole = try folder.data("notes.db-journal")
        try folder.write("notes.db-journal", Data(count: 28) + whole.dropFirst(28))
        let data = try folder.databaseData()
        try folder.write("notes.db", data.dropLast(8192))
        #expect(try !report().hasUnfinishedChange)
        #expect(try report().damage != nil)
        try folder.write("notes.db", data)
        try folder.write("notes.db-journal", whole)
        let checks = try DatabaseVerification(folder.database, form: .encrypted(key.key)).run()
        #expect(checks.filter { !$0.ok }.map(\.name) == [])
        #expect(try !report().hasUnfinishedChange)
        #expect(try report().damage == nil)
    }

    @Test func filesOfKilledRunsAreNamedUnlessARunIsAtWork() throws {
        try Fixtures.encrypted(folder.database, key: key)
        let clear = Data("SQLite format 3\0".utf8) + Data(count: 496)
        try folder.write(".notes.db-converting-1a2b", clear)
        try folder.write(".notes.db-converting-ff", Data())
        // Earlier versions made the files without a folder.
        let room = ".notes.db-converting-2b"
        try folder.makeFolder(room)
        try folder.write("\(room)/\(room)", clear)
        // Another database's, and a name that is none of ours.
        try folder.write(".other.db-converting-1", clear)
        try folder.write(".notes.db-converting-not", clear)
        func leftovers(_ key: DatabaseKey? = nil) throws -> [LeftoverFile] {
            try EncryptedDatabase.inspect(folder.database, key: key).leftovers
        }
        let found = try leftovers()
        #expect(
            found.map(\.path)
                == ["1a2b", "2b", "ff"].map { folder.path(".notes.db-converting-\($0)") }
        )
        #expect(found.map(\.isPlaintext) == [true, true, false])
        #expect(found.map(\.size) == [512, 512, 0])
        #expect(try leftovers(key.key) == found)
        let check = try #require(
            DatabaseVerification(folder.database, form: .encrypted(key.key)).run().first
        )
        #expect(check.name == "file_modes" && !check.ok)
        #expect(check.findings.map(\.text).first?.contains("is plaintext") == true)
        #expect(check.findings.count == 3)
        let lock = FileLock(beside: folder.database, suffix: FileLock.migrationSuffix)
        let during = try lock.withLock(timeout: 0) { try leftovers() }
        #expect(during == [])
        #expect(try leftovers() == found)
    }
}
