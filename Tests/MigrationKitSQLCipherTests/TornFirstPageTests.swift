import Foundation
import GRDB
import MigrationKitKeys
import MigrationKitSQLCipher
import TestSupport
import Testing

/// A loss of power has left the first page in part. The whole one is in the journal beside the file,
/// from which SQLite takes it.
@Suite struct TornFirstPageTests {
    private let folder: TemporaryFolder
    private let key: TestKey
    private var path: String { folder.database }

    init() throws {
        folder = try TemporaryFolder()
        key = try .raw()
    }

    /// All but the first sector is what was never written.
    private func tear() throws {
        var data = try folder.databaseData()
        data.replaceSubrange(
            512..<4096,
            with: Data((512..<4096).map { _ in UInt8.random(in: 0...255) })
        )
        try folder.write("notes.db", data)
    }

    private func leaveJournal() throws {
        try Fixtures.encrypted(path, key: key)
        try Crash.leaveJournal(of: path, key: key)
        try tear()
    }

    private func leaveLog() throws {
        let options = EncryptedDatabase.Options(createsFile: true)
        let queue = try EncryptedDatabase.open(path, key: key.key, options: options)
        try queue.writeWithoutTransaction { db in
            try db.execute(
                sql: """
                    PRAGMA journal_mode = WAL; CREATE TABLE t(a); INSERT INTO t VALUES ('zettel')
                    """
            )
        }
        let (database, log) = (try folder.databaseData(), try folder.data("notes.db-wal"))
        try queue.close()
        try folder.write("notes.db", database)
        try folder.write("notes.db-wal", log)
        try tear()
    }

    private func leave(_ journal: String) throws {
        if journal == "journal" { try leaveJournal() } else { try leaveLog() }
    }

    private func rows() throws -> [String] {
        let queue = try EncryptedDatabase.open(path, key: key.key)
        defer { try? queue.close() }
        return try queue.read { try String.fetchAll($0, sql: "SELECT a FROM t") }
    }

    @Test(arguments: ["journal", "wal"])
    func databaseOpensWithItsKeyAlone(_ journal: String) throws {
        try leave(journal)
        let before = try folder.snapshot()
        #expect(throws: EncryptedDatabaseError.wrongKey(path: path)) {
            try EncryptedDatabase.open(path, key: TestKey.raw().key)
        }
        #expect(try folder.snapshot() == before)
        #expect(try rows() == ["zettel"])
    }

    @Test(arguments: ["journal", "wal"])
    func storeIsLaunched(_ journal: String) throws {
        try leave(journal)
        let keys = InMemoryKeyStore()
        try keys.store(key.key, service: "test", account: "main", label: nil, replacing: false)
        let store = EncryptedStore(path: path, keyStore: keys, service: "test", account: "main")
        let queue = try store.open()
        #expect(try queue.read { try String.fetchAll($0, sql: "SELECT a FROM t") } == ["zettel"])
        try queue.close()
    }

    @Test(arguments: ["journal", "wal"])
    func backupAndRekeyTakeIt(_ journal: String) throws {
        try leave(journal)
        let output = folder.path("backup.db")
        try DatabaseBackup(path, to: output, form: .encrypted(key.key)).run()
        #expect(try SQLCipherShell.run(output, key: key.spelling, "SELECT a FROM t;") == "zettel")
    }

    @Test(arguments: ["journal", "wal"])
    func conversionTakesIt(_ journal: String) throws {
        try leave(journal)
        let new = try TestKey.raw()
        try DatabaseConversion.rekey(path, from: key.key, to: new.key).run()
        #expect(try SQLCipherShell.run(path, key: new.spelling, "SELECT a FROM t;") == "zettel")
    }

    @Test func whatTheLogReplacesIsNoDamage() throws {
        try leaveLog()
        let report = try EncryptedDatabase.inspect(path, key: key.key)
        #expect(report.damage == nil)
        #expect(report.key == .opens(.current))
        #expect(report.content?.journalMode == .wal)
    }

    @Test func olderFormatIsStillTold() throws {
        let cipher = try CipherSettings(compatibility: 3, pageSize: 4096)
        let options = EncryptedDatabase.Options(createsFile: true, cipher: cipher)
        let queue = try EncryptedDatabase.open(path, key: key.key, options: options)
        try queue.writeWithoutTransaction { db in
            try db.execute(sql: "PRAGMA journal_mode = WAL; CREATE TABLE t(a)")
        }
        let (database, log) = (try folder.databaseData(), try folder.data("notes.db-wal"))
        try queue.close()
        try folder.write("notes.db", database)
        try folder.write("notes.db-wal", log)
        try tear()
        let reopened = try EncryptedDatabase.open(
            path,
            key: key.key,
            options: .init(cipher: cipher)
        )
        try reopened.close()
    }

    // MARK: - A File of Nothing Yet

    /// What a first transaction leaves that was stopped: the whole size, and some of the page.
    @Test(arguments: [0, 512, 2048], [true, false])
    func newFileIsBegunAgain(_ count: Int, isEncrypted: Bool) throws {
        let options = EncryptedDatabase.Options(createsFile: true)
        func open(_ options: EncryptedDatabase.Options) throws -> DatabaseQueue {
            isEncrypted
                ? try EncryptedDatabase.open(path, key: key.key, options: options)
                : try EncryptedDatabase.openPlaintext(path, options: options)
        }
        try Fixtures.encrypted(path, key: .raw())
        let page = try folder.databaseData().prefix(count) + Data(count: 4096 - count)
        try folder.write("notes.db", page)
        try folder.write("notes.db-journal", Crash.journalOfNothing)
        let before = try folder.snapshot()
        #expect(throws: EncryptedDatabaseError.empty(path: path)) { try open(.init()) }
        #expect(try folder.snapshot() == before)

        let queue = try open(options)
        try queue.write { try $0.execute(sql: "CREATE TABLE t(a)") }
        try queue.close()
        #expect(try folder.names == ["notes.db"])
        try open(.init()).close()
    }

    @Test func firstLaunchThatWasStoppedIsMadeAgain() throws {
        let keys = InMemoryKeyStore()
        let store = EncryptedStore(path: path, keyStore: keys, service: "test", account: "main")
        try store.open().close()
        let page = try folder.databaseData().prefix(512) + Data(count: 4096 - 512)
        try folder.write("notes.db", page)
        try folder.write("notes.db-journal", Crash.journalOfNothing)
        #expect(try !store.exists())
        try store.open().close()
        #expect(try store.exists())
        #expect(try keys.items(service: nil, account: nil).count == 1)
    }
}
