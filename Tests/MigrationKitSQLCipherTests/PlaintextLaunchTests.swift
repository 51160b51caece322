import Foundation
import GRDB
import MigrationKit
import MigrationKitKeys
import Synchronization
import TestSupport
import Testing

@testable import MigrationKitSQLCipher

/// Launches that encrypt what an earlier version of the app has left in plaintext.
@Suite struct PlaintextLaunchTests {
    private let folder: TemporaryFolder
    private let keys = InMemoryKeyStore()

    init() throws {
        folder = try TemporaryFolder()
        try Fixtures.plaintext(folder.database)
    }

    private func store(
        _ keys: (any KeyStore)? = nil,
        options: EncryptedDatabase.Options = .init(),
        encryptsPlaintext: Bool = true
    ) -> EncryptedStore {
        EncryptedStore(
            path: folder.database,
            keyStore: keys ?? self.keys,
            service: "org.example.Notes",
            account: "main",
            label: "Notes",
            options: options,
            encryptsPlaintext: encryptsPlaintext
        )
    }

    private func storedKey() throws -> DatabaseKey {
        try keys.key(service: "org.example.Notes", account: "main")
    }

    private func expectEncrypted() throws {
        let queue = try EncryptedDatabase.open(folder.database, key: storedKey())
        #expect(try queue.read { try String.fetchOne($0, sql: "SELECT a FROM t") } == "zettel")
        try queue.close()
        #expect(try folder.names == ["notes.db"])
        #expect(folder.mode("notes.db") == 0o600)
        #expect(try folder.data("notes.db").range(of: Data("zettel".utf8)) == nil)
    }

    @Test func theKeyIsMadeAndTheDatabaseEncrypted() async throws {
        let queue = try await store().asyncOpen()
        #expect(
            try await queue.read { try String.fetchOne($0, sql: "SELECT a FROM t") } == "zettel"
        )
        try queue.close()
        try expectEncrypted()
        let item = try #require(try keys.items(service: nil, account: nil).first)
        #expect(item.label == "Notes" && item.form == .rawKey)
        // The next launch is like any other.
        try store().openPool().close()
        try store(encryptsPlaintext: false).open().close()
    }

    /// Fewer bytes of an encrypted page have content, so that a row of these takes one page more.
    @Test func theRoomThatIsNamedIsEnough() throws {
        let plaintext = try DatabaseQueue(path: folder.database)
        try plaintext.write { db in
            for _ in 0..<200 {
                try db.execute(sql: "INSERT INTO t VALUES (hex(randomblob(2000)))")
            }
        }
        try plaintext.close()
        let before = try folder.data("notes.db").count
        try store().open().close()
        let after = try folder.data("notes.db").count
        #expect(after > before + before / 16)
        #expect(after <= DatabaseCopy.encryptedSize(of: before))
    }

    @Test func aKeyThatIsThereIsTaken() throws {
        let key = try DatabaseKey.generate()
        try keys.store(key, service: "org.example.Notes", account: "main")
        try store().open().close()
        #expect(try storedKey() == key)
        try expectEncrypted()
    }

    @Test func aKeyOfAnotherSourceIsTaken() throws {
        let path = try folder.write("key", "a passphrase of the owner".utf8)
        let store = EncryptedStore(
            path: folder.database,
            key: KeySourceStore(.file(path: path)),
            encryptsPlaintext: true
        )
        try store.open().close()
        let key = try DatabaseKey.passphrase(Secret(utf8: "a passphrase of the owner"))
        try EncryptedDatabase.open(folder.database, key: key).close()
    }

    /// It has put its own database in the place of the encrypted one, which it can't open.
    @Test func theOldVersionsNextDatabaseGetsTheSameKey() throws {
        try store().open().close()
        let key = try storedKey()
        unlink(folder.database)
        try Fixtures.plaintext(folder.database)
        try store().open().close()
        #expect(try storedKey() == key)
        try expectEncrypted()
    }

    @Test func withoutBeingAskedForNothingIsEncrypted() throws {
        var readOnly = EncryptedDatabase.Options()
        readOnly.isReadOnly = true
        let before = try folder.snapshot()
        for store in [store(encryptsPlaintext: false), store(options: readOnly)] {
            #expect(throws: EncryptedDatabaseError.plaintext(path: folder.database)) {
                try store.open() as DatabaseQueue
            }
        }
        #expect(try folder.snapshot() == before)
        #expect(try keys.items(service: nil, account: nil) == [])
    }

    @Test func theOldVersionMustNotBeRunning() throws {
        let shell = try ChildProcess("sqlcipher", ["-batch", folder.database])
        shell.write("BEGIN; SELECT a FROM t;\n".utf8)
        #expect(shell.readLine() == "zettel")
        let before = try folder.data("notes.db")
        let error = #expect(throws: DatabaseConversionError.self) {
            try store(options: .init(busyTimeout: 0)).open() as DatabaseQueue
        }
        guard case .inUse(folder.database, by: _) = error else {
            Issue.record("\(String(describing: error))")
            return
        }
        #expect(try folder.data("notes.db") == before)
        shell.closeInput()
        _ = try shell.finish()
        try store().open().close()
        try expectEncrypted()
    }

    @Test(arguments: [
        KeyStoreError.noBus, .locked(collection: "login"), .failure(message: "broken"),
    ])
    func withoutAPlaceForTheKeyThePlaintextStays(error: KeyStoreError) throws {
        keys.fail(with: error)
        let before = try folder.snapshot()
        #expect(throws: error) { try store().open() as DatabaseQueue }
        #expect(try folder.snapshot() == before)
    }

    /// No key is missing of what was never encrypted.
    @Test(arguments: [0, 1, 100])
    func aFileThatWasNeverEncryptedHasNoLostKey(_ count: Int) throws {
        let text = Data(String(repeating: "text ", count: 20).utf8)
        try folder.write("notes.db", count == 0 ? Data(count: 8192) : text.prefix(count))
        let before = try folder.snapshot()
        #expect(throws: EncryptedDatabaseError.self) { try store().open() as DatabaseQueue }
        #expect(try folder.snapshot() == before)
        #expect(try keys.items(service: nil, account: nil) == [])
    }

    /// Its answer says nothing about its disk.
    @Test func aProgramThatWritesLaterIsWaitedForAndTheWaitCanBeCancelled() async throws {
        let store = store(LateKeyStore(keys))
        let opening = Task { try await store.asyncOpen() }
        // A thread of its own: other tests may keep those of tasks for longer than the wait.
        Thread.detachNewThread { [keys] in
            while (try? keys.items(service: nil, account: nil)) == [] { usleep(5000) }
            opening.cancel()
        }
        await #expect(throws: CancellationError.self) { try await opening.value }
        #expect(try folder.data("notes.db").starts(with: "SQLite format 3".utf8))
        #expect(try folder.names == ["notes.db"])
        // With one that writes at once, the same key is taken without a wait.
        let key = try storedKey()
        try self.store().open().close()
        #expect(try storedKey() == key)
        try expectEncrypted()
    }

    /// A part of the schema that only the app's own code can read, such as a tokenizer.
    @Test func whatTheSchemaNeedsIsThereWhileItIsEncrypted() throws {
        let options = EncryptedDatabase.Options(
            functions: [DatabaseFunction("half", argumentCount: 1, pure: true) { _ in 1 }],
            collations: [DatabaseCollation("odd") { $0.compare($1) }],
            prepareDatabase: { $0.add(tokenizer: Folding.self) }
        )
        let plain = try EncryptedDatabase.openPlaintext(folder.database, options: options)
        try plain.write { db in
            try db.execute(
                sql: """
                    CREATE TABLE word (text COLLATE odd, CHECK (half(text) = 1));
                    CREATE INDEX words ON word (text, half(text));
                    INSERT INTO word VALUES ('one');
                    CREATE VIRTUAL TABLE found USING fts5 (text, tokenize = 'fold');
                    INSERT INTO found VALUES ('one');
                    """
            )
        }
        try plain.close()
        let store = store(options: options)
        let queue = try store.open()
        #expect(try queue.read { try Int.fetchOne($0, sql: "SELECT rowid FROM found('one')") } == 1)
        try queue.close()

        #expect(try store.backup(to: folder.path("copy.db")).findings == [])
        let report = try store.keyRotation().run()
        #expect(report.conversion.findings == [])
        let rewriting = RewriteOptions(
            functions: options.functions,
            collations: options.collations,
            prepareDatabase: options.prepareDatabase
        )
        let decrypted = try DatabaseConversion.decrypt(
            folder.database,
            key: storedKey(),
            options: rewriting
        ).run(to: folder.path("plain.db"))
        #expect(decrypted.findings == [])
    }
}

/// The tokenizer of an app.
private final class Folding: FTS5WrapperTokenizer {
    static let name = "fold"
    let wrappedTokenizer: any FTS5Tokenizer

    init(db: Database, arguments: [String]) throws {
        wrappedTokenizer = try db.makeTokenizer(.unicode61())
    }

    func accept(
        token: String,
        flags: FTS5TokenFlags,
        for tokenization: FTS5Tokenization,
        tokenCallback: FTS5WrapperTokenCallback
    ) throws {
        try tokenCallback(token, flags)
    }
}

/// A key store whose program answers before it writes.
private struct LateKeyStore: KeyStore {
    let keys: InMemoryKeyStore

    init(_ keys: InMemoryKeyStore) {
        self.keys = keys
    }

    func items(service: String?, account: String?) throws -> [KeyItem] {
        try keys.items(service: service, account: account)
    }

    func entry(service: String, account: String?) throws -> KeyEntry {
        try keys.entry(service: service, account: account)
    }

    func store(
        _ key: DatabaseKey,
        service: String,
        account: String,
        label: String?,
        replacing: Bool
    ) throws {
        try keys.store(key, service: service, account: account, label: label, replacing: replacing)
    }

    func delete(service: String, account: String?) throws -> KeyItem {
        try keys.delete(service: service, account: account)
    }

    func provider() throws -> KeyStoreProvider? {
        KeyStoreProvider(name: "Late", run: "1", hasWritten: false)
    }
}
