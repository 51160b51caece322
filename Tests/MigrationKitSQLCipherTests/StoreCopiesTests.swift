import Foundation
import GRDB
import MigrationKitKeys
import MigrationKitSQLCipher
import TestSupport
import Testing

/// What an app keeps elsewhere: a copy of its key, and of its database.
@Suite struct StoreCopiesTests {
    private let folder: TemporaryFolder
    private let keys = InMemoryKeyStore()
    private let passphrase: Secret

    init() throws {
        folder = try TemporaryFolder()
        passphrase = Secret(utf8: UUID().uuidString)
        let queue = try store().open()
        try queue.write {
            try $0.execute(sql: "CREATE TABLE t(a); INSERT INTO t VALUES ('zettel')")
        }
        try queue.close()
    }

    private func store(_ keys: (any KeyStore)? = nil, path: String? = nil) -> EncryptedStore {
        EncryptedStore(
            path: path ?? folder.database,
            keyStore: keys ?? self.keys,
            service: "org.example.Notes",
            account: "main"
        )
    }

    private func storedKey() throws -> DatabaseKey {
        try keys.key(service: "org.example.Notes", account: "main")
    }

    // MARK: - The key

    @Test func aLostKeyComesBackFromItsCopy() throws {
        let copy = try store().recoveryCopy(passphrase: passphrase)
        let key = try storedKey()
        #expect(Data(copy).range(of: key.secret.withUnsafeBytes { Data($0) }) == nil)
        _ = try keys.delete(service: "org.example.Notes", account: "main")
        #expect(throws: EncryptedStoreError.self) { try store().open() as DatabaseQueue }

        try store().restoreKey(from: copy, passphrase: passphrase)
        #expect(try storedKey() == key)
        try store().open().close()
        // Once more is no fault.
        try store().restoreKey(from: copy, passphrase: passphrase)
    }

    @Test func whatOpensNothingIsNotStored() throws {
        let copy = try store().recoveryCopy(passphrase: passphrase)
        _ = try keys.delete(service: "org.example.Notes", account: "main")
        let other = try RecoveryContainer.seal(.generate(), named: "", with: passphrase)
        #expect(throws: EncryptedDatabaseError.wrongKey(path: folder.database)) {
            try store().restoreKey(from: other, passphrase: passphrase)
        }
        #expect(throws: RecoveryCopyError.wrongPassphrase(source: "memory")) {
            try store().restoreKey(from: copy, passphrase: Secret(utf8: "another"))
        }
        #expect(throws: RecoveryCopyError.self) {
            try store().restoreKey(from: Array("no copy".utf8), passphrase: passphrase)
        }
        #expect(throws: EncryptedDatabaseError.noSuchFile(path: folder.path("none.db"))) {
            try store(path: folder.path("none.db")).restoreKey(from: copy, passphrase: passphrase)
        }
        #expect(try keys.items(service: nil, account: nil) == [])
    }

    /// It may be the only one of another database.
    @Test func anotherStoredKeyStays() throws {
        let copy = try store().recoveryCopy(passphrase: passphrase)
        _ = try keys.delete(service: "org.example.Notes", account: "main")
        let other = try DatabaseKey.generate()
        try keys.store(other, service: "org.example.Notes", account: "main")
        let exists = KeyStoreError.itemExists(service: "org.example.Notes", account: "main")
        #expect(throws: exists) { try store().restoreKey(from: copy, passphrase: passphrase) }
        #expect(try storedKey() == other)
        try store().restoreKey(from: copy, passphrase: passphrase, replacing: true)
        try store().open().close()
        let former = try keys.items(
            service: "migrationkit-previous: org.example.Notes",
            account: nil
        )
        #expect(former.count == 1)
        try keys.store(
            other,
            service: "org.example.Notes",
            account: "main",
            label: nil,
            replacing: true
        )
        #expect(throws: EncryptedDatabaseError.wrongKey(path: folder.database)) {
            try store().recoveryCopy(passphrase: passphrase)
        }
    }

    @Test func aCopyIsMadeOnlyOfTheKeyOfADatabase() throws {
        let path = folder.path("none.db")
        #expect(throws: EncryptedDatabaseError.noSuchFile(path: path)) {
            try store(path: path).recoveryCopy(passphrase: passphrase)
        }
        _ = try keys.delete(service: "org.example.Notes", account: "main")
        #expect(throws: KeyStoreError.self) { try store().recoveryCopy(passphrase: passphrase) }
    }

    // MARK: - The database

    @Test func aBackupHasTheStoresKey() throws {
        let queue = try store().open()
        let report = try store().backup(to: folder.path("copy.db"))
        try queue.close()
        #expect(report.findings == [])
        try expectRows(folder.path("copy.db"), key: storedKey())
    }

    /// The file has the pending key, and the item the old one: the rotation was killed.
    @Test func duringARotationABackupHasTheKeyThatTheFileHas() throws {
        let old = try storedKey()
        let new = try DatabaseKey.generate()
        try DatabaseConversion.rekey(folder.database, from: old, to: new).run()
        try keys.store(
            new,
            service: "migrationkit-pending: org.example.Notes",
            account: "main \(folder.database)"
        )
        try store().backup(to: folder.path("copy.db"))
        try expectRows(folder.path("copy.db"), key: new)
    }

    private func expectRows(_ path: String, key: DatabaseKey) throws {
        let queue = try EncryptedDatabase.open(path, key: key)
        #expect(try queue.read { try String.fetchOne($0, sql: "SELECT a FROM t") } == "zettel")
        try queue.close()
    }
}
