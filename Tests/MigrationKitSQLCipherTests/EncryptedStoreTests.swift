import MigrationKitCommon
import Foundation
import GRDB
import MigrationKitKeys
import MigrationKitSQLCipher
import TestSupport
import Testing

/// What a launch does with the file and the item that it finds.
@Suite struct EncryptedStoreTests {
    private let folder: TemporaryFolder
    private let keys = InMemoryKeyStore()

    init() throws {
        folder = try TemporaryFolder()
    }

    private func store(
        _ keys: (any KeyStore)? = nil,
        path: String? = nil,
        keyForm: DatabaseKey.Form = .passphrase,
        options: EncryptedDatabase.Options = .init(),
        launchTimeout: TimeInterval = 60
    ) -> EncryptedStore {
        EncryptedStore(
            path: path ?? folder.database,
            keyStore: keys ?? self.keys,
            service: "org.example.Notes",
            account: "main",
            label: "Notes",
            keyForm: keyForm,
            options: options,
            launchTimeout: launchTimeout
        )
    }

    private func storedKey() throws -> DatabaseKey {
        try keys.key(service: "org.example.Notes", account: "main")
    }

    private var items: [KeyItem] {
        get throws { try keys.items(service: nil, account: nil) }
    }

    private var keyMissing: EncryptedStoreError {
        .keyMissing(path: folder.database, service: "org.example.Notes", account: "main")
    }

    // MARK: - Neither file nor item

    @Test func aFirstLaunchMakesKeyAndFile() throws {
        #expect(try !store().exists())
        let queue = try store().open()
        try queue.write { try $0.execute(sql: "CREATE TABLE t(a); INSERT INTO t VALUES ('new')") }
        try queue.close()
        #expect(try store().exists())

        let item = try #require(try items.first)
        #expect(try items.count == 1)
        #expect(item.service == "org.example.Notes")
        #expect(item.account == "main")
        #expect(item.label == "Notes")
        #expect(item.form == .rawKey)
        #expect(try storedKey().secret.count == 32)
        #expect(try folder.names == ["notes.db"])
        #expect(folder.mode("notes.db") == 0o600)

        let other = try EncryptedDatabase.open(folder.database, key: storedKey())
        #expect(try other.read { try String.fetchOne($0, sql: "SELECT a FROM t") } == "new")
    }

    @Test func theSecondLaunchOpensWhatTheFirstMade() throws {
        let first = try store().open()
        try first.write { try $0.execute(sql: "CREATE TABLE t(a); INSERT INTO t VALUES ('new')") }
        try first.close()
        let key = try storedKey()

        let second = try store().open()
        #expect(try second.read { try String.fetchOne($0, sql: "SELECT a FROM t") } == "new")
        #expect(try storedKey() == key)
    }

    @Test func eachFirstLaunchHasAKeyOfItsOwn() throws {
        let other = InMemoryKeyStore()
        try store().open().close()
        try store(other, path: folder.path("other.db")).open().close()
        #expect(try other.key(service: "org.example.Notes", account: "main") != storedKey())
    }

    @Test func launchesOnManyThreadsShareOneKeyAndOneFile() async throws {
        let store = store(options: .init(busyTimeout: 60))
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<8 {
                group.addTask {
                    let queue = try await store.asyncOpen()
                    try await queue.write { db in
                        try db.execute(
                            sql: "CREATE TABLE IF NOT EXISTS t(a); INSERT INTO t VALUES (1)"
                        )
                    }
                }
            }
            try await group.waitForAll()
        }
        #expect(try items.count == 1)
        #expect(try folder.names == ["notes.db"])
        let queue = try await store.asyncOpen()
        #expect(try await queue.read { try Int.fetchOne($0, sql: "SELECT count(*) FROM t") } == 8)
    }

    // MARK: - An item without a file

    @Test func aKeyWithoutAFileIsUsed() throws {
        let key = try DatabaseKey.generate()
        try keys.store(key, service: "org.example.Notes", account: "main")
        try store().open().close()
        #expect(try storedKey() == key)
        try EncryptedDatabase.open(folder.database, key: key).close()
    }

    @Test func anItemOfAnotherProgramIsAPassphraseUnlessToldOtherwise() throws {
        let digits = try DatabaseKey.generate().hexadecimal()
        keys.add(digits, service: "org.example.Notes", account: "main")
        try store().open().close()
        try EncryptedDatabase.open(folder.database, key: .passphrase(digits)).close()

        let raw = folder.path("raw.db")
        try store(path: raw, keyForm: .rawKey).open().close()
        try EncryptedDatabase.open(raw, key: .rawKey(hexadecimal: digits)).close()
    }

    @Test(arguments: [false, true])
    func anEmptyFileIsGoneOnWith(hasItem: Bool) throws {
        let key = try DatabaseKey.generate()
        if hasItem { try keys.store(key, service: "org.example.Notes", account: "main") }
        try folder.write("notes.db", Data())
        #expect(try !store().exists())
        try store().open().close()
        #expect(try items.count == 1)
        #expect(try (storedKey() == key) == hasItem)
        try EncryptedDatabase.open(folder.database, key: storedKey()).close()
    }

    // MARK: - A file without an item

    @Test func aFileWithoutItsItemGetsNoNewKey() throws {
        try Fixtures.encrypted(folder.database, key: .raw())
        let before = try folder.snapshot()
        #expect(throws: keyMissing) { try store().open() as DatabaseQueue }
        #expect(throws: keyMissing) { try store().openPool() as DatabasePool }
        #expect(throws: keyMissing) {
            try store(options: .init(createsFile: true)).open() as DatabaseQueue
        }
        #expect(try items == [])
        #expect(try folder.snapshot() == before)
    }

    @Test func aJournalWithoutItsFileGetsNoNewKey() throws {
        for suffix in ["-wal", "-journal"] {
            try folder.write("notes.db" + suffix, Data("content".utf8))
            #expect(throws: keyMissing) { try store().open() as DatabaseQueue }
            #expect(try folder.names == ["notes.db" + suffix])
            try FileManager.default.removeItem(atPath: folder.path("notes.db" + suffix))
        }
        #expect(try items == [])
    }

    @Test func aPlaintextFileIsNotTakenForOneWhoseKeyIsGone() throws {
        try Fixtures.plaintext(folder.database)
        let before = try folder.snapshot()
        for _ in 0..<2 {
            #expect(throws: EncryptedDatabaseError.plaintext(path: folder.database)) {
                try store().open() as DatabaseQueue
            }
            try keys.store(
                .generate(),
                service: "org.example.Notes",
                account: "main",
                label: nil,
                replacing: true
            )
        }
        #expect(try folder.snapshot() == before)
    }

    @Test func theKeyOfAnotherDatabaseIsToldAsThat() throws {
        try Fixtures.encrypted(folder.database, key: .raw())
        let key = try DatabaseKey.generate()
        try keys.store(key, service: "org.example.Notes", account: "main")
        #expect(throws: EncryptedDatabaseError.wrongKey(path: folder.database)) {
            try store().open() as DatabaseQueue
        }
        #expect(try storedKey() == key)
    }

    // MARK: - Pools, reading only, async

    @Test func aPoolMakesKeyAndFileToo() throws {
        let pool = try store().openPool() as DatabasePool
        try pool.write { try $0.execute(sql: "CREATE TABLE t(a)") }
        #expect(try pool.read { try String.fetchOne($0, sql: "PRAGMA journal_mode") } == "wal")
        #expect(try items.count == 1)
    }

    @Test func asyncFormsOpenTheSame() async throws {
        let queue = try await store().asyncOpen()
        try await queue.write { try $0.execute(sql: "CREATE TABLE t(a)") }
        try queue.close()
        let pool = try await store().asyncOpenPool()
        #expect(try await pool.read { try $0.tableExists("t") })
        #expect(try items.count == 1)
    }

    @Test func aCancelledLaunchMakesNothing() async throws {
        let store = store()
        let task = Task {
            withUnsafeCurrentTask { $0?.cancel() }
            return try await store.asyncOpen()
        }
        await #expect(throws: CancellationError.self) { try await task.value }
        #expect(try items == [])
        #expect(try folder.names == [])
    }

    @Test func cancellingEndsTheWaitForAnotherLaunch() async throws {
        let store = store()
        let lock = FileLock(beside: folder.database, suffix: "-launch.lock")
        let held = try #require(try lock.hold())
        let task = Task { try await store.asyncOpen() }
        try await Task.sleep(for: .milliseconds(100))
        task.cancel()
        // The lock is held all the while, and its time limit would be another error.
        await #expect(throws: CancellationError.self) { try await task.value }
        held.release()
        #expect(try items == [])
        #expect(try folder.names == [])
    }

    @Test func aLaunchThatIsCancelledWhileItStoresTheKeyKeepsKeyAndFileTogether() async throws {
        let (calls, continuation) = AsyncStream.makeStream(of: Int.self)
        let isCancelled = DispatchSemaphore(value: 0)
        let store = store(
            InterposedKeyStore(keys) { call, moment in
                // The first looks for a key, the second stores a new one.
                guard call == 2, moment == .before else { return }
                continuation.yield(call)
                isCancelled.wait()
            }
        )
        let launch = Task {
            defer { continuation.finish() }
            return try await store.asyncOpen()
        }
        var call = calls.makeAsyncIterator()
        try #require(await call.next() != nil)
        launch.cancel()
        isCancelled.signal()
        try await launch.value.close()
        #expect(try items.count == 1)
        try EncryptedDatabase.open(folder.database, key: storedKey()).close()
    }

    @Test func theBlockingFormCanBeCalledInAnAsynchronousFunction() async throws {
        let store = store()
        try store.open().close()
        try store.openPool().close()
        try EncryptedDatabase.open(folder.database, key: storedKey()).close()
    }

    @Test func databasesHaveAsynchronousFormsOfEveryOpening() async throws {
        try await store().asyncOpen().close()
        let key = try storedKey()
        try await EncryptedDatabase.asyncOpen(folder.database, key: key).close()
        try await EncryptedDatabase.asyncOpenPool(folder.database, key: key).close()
        let clear = folder.path("clear.db")
        try await EncryptedDatabase.asyncOpenPlaintext(clear, options: .init(createsFile: true))
            .close()
    }

    @Test func readingOnlyMakesNothing() throws {
        let store = store(options: .init(createsFile: true, isReadOnly: true))
        #expect(throws: EncryptedDatabaseError.noSuchFile(path: folder.database)) {
            try store.open() as DatabaseQueue
        }
        try folder.write("notes.db", Data())
        #expect(throws: EncryptedDatabaseError.empty(path: folder.database)) {
            try store.open() as DatabaseQueue
        }
        #expect(try items == [])
        #expect(try folder.names == ["notes.db"])
    }

    @Test func readingOnlyOpensWhatIsThere() throws {
        try store().open().close()
        let queue = try store(options: .init(isReadOnly: true)).open()
        #expect(throws: DatabaseError.self) {
            try queue.write { try $0.execute(sql: "CREATE TABLE t(a)") }
        }
    }
}
