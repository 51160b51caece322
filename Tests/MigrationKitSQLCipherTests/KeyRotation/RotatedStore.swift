import Foundation
import GRDB
import MigrationKitKeys
import MigrationKitSQLCipher
import TestSupport
import Testing

/// A database with its key in a key store of a test's own.
struct RotatedStore {
    static let service = "org.example.Notes"
    static let pendingService = "migrationkit-pending: org.example.Notes"
    static let previousService = "migrationkit-previous: org.example.Notes"

    let folder: TemporaryFolder
    let keys = InMemoryKeyStore()
    /// Its key at first.
    let key: TestKey

    init(_ key: TestKey? = nil, name: String = TemporaryFolder.databaseName) throws {
        folder = try TemporaryFolder()
        self.key = try key ?? .raw()
        try Fixtures.encrypted(folder.path(name), key: self.key)
        try keys.store(
            self.key.key,
            service: Self.service,
            account: "main",
            label: "Notes",
            replacing: false
        )
    }

    var path: String { folder.database }

    /// The store as an app has it.
    ///
    /// Rotations that stand still for a test are not waited for.
    func store(
        _ keys: (any KeyStore)? = nil,
        path: String? = nil,
        isReadOnly: Bool = false
    ) -> EncryptedStore {
        EncryptedStore(
            path: path ?? self.path,
            keyStore: keys ?? self.keys,
            service: Self.service,
            account: "main",
            options: .init(isReadOnly: isReadOnly, busyTimeout: 0.1)
        )
    }

    func rotation(
        _ keys: (any KeyStore)? = nil,
        path: String? = nil,
        account: String? = "main",
        keepsOldKey: Bool = true,
        options: RewriteOptions = .init()
    ) -> KeyRotation {
        KeyRotation(
            path ?? self.path,
            keyStore: keys ?? self.keys,
            service: Self.service,
            account: account,
            keepsOldKey: keepsOldKey,
            options: options
        )
    }

    /// Rotates, and ends as a process does that is killed at a call of the key store's: nothing
    /// works any more from then on.
    func rotateUntilKilled(
        at call: Int,
        _ moment: InterposedKeyStore.Moment,
        path: String? = nil,
        keepsOldKey: Bool = true
    ) {
        let keys = InterposedKeyStore(keys) { number, now in
            if number > call || (number == call && now == moment) { throw Killed() }
        }
        #expect(throws: (any Error).self) {
            try rotation(keys, path: path, keepsOldKey: keepsOldKey).run()
        }
    }

    struct Killed: Error {}

    /// How many calls of the key store's a rotation makes that isn't disturbed.
    static func callCount(keepsOldKey: Bool = true) throws -> Int {
        let other = try RotatedStore()
        let keys = InterposedKeyStore(other.keys)
        try other.rotation(keys, keepsOldKey: keepsOldKey).run()
        return keys.callCount
    }

    /// What stands in the database that an app opens.
    func content(
        _ keys: (any KeyStore)? = nil,
        path: String? = nil,
        isReadOnly: Bool = false
    ) throws -> String? {
        let store = store(keys, path: path, isReadOnly: isReadOnly)
        let queue = try store.open() as DatabaseQueue
        defer { try? queue.close() }
        return try queue.read { try String.fetchOne($0, sql: "SELECT a FROM t") }
    }

    func key(service: String = Self.service, account: String = "main") throws -> DatabaseKey {
        try keys.key(service: service, account: account)
    }

    var pending: [KeyItem] {
        get throws { try keys.items(service: Self.pendingService, account: nil) }
    }

    /// The former keys, oldest first.
    var previous: [DatabaseKey] {
        get throws {
            try keys.items(service: Self.previousService, account: nil).map {
                try keys.key(service: $0.service, account: $0.account)
            }
        }
    }

    /// Whether a key opens a file.
    func opens(_ key: DatabaseKey, path: String? = nil) -> Bool {
        let queue = try? EncryptedDatabase.open(path ?? self.path, key: key)
        try? queue?.close()
        return queue != nil
    }

    /// Nothing is left of a rotation but a database with one key and, in other items, former ones.
    func expectSettled(_ sourceLocation: SourceLocation = #_sourceLocation) throws {
        #expect(try pending == [], sourceLocation: sourceLocation)
        #expect(try opens(key()), sourceLocation: sourceLocation)
        let names = try folder.names.filter { $0.hasPrefix(".") }
        #expect(names == [], sourceLocation: sourceLocation)
    }
}
