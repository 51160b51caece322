import Foundation
import GRDB
import MigrationKitKeys
import MigrationKitSQLCipher
import TestSupport
import Testing

/// A store whose key comes from a file, as on a server.
@Suite struct KeySourceLaunchTests {
    private let folder: TemporaryFolder

    init() throws {
        folder = try TemporaryFolder()
    }

    private var keyPath: String { folder.path("notes.key") }

    private var store: EncryptedStore {
        EncryptedStore(
            path: folder.database,
            key: KeySourceStore(.file(path: keyPath), form: .rawKey)
        )
    }

    private func writeKey() throws -> DatabaseKey {
        let key = try DatabaseKey.generate()
        try folder.write("notes.key", key.stored().withUnsafeBytes { Array($0) })
        return key
    }

    @Test func aFirstLaunchMakesTheFileWithTheKeyThatIsThere() async throws {
        let key = try writeKey()
        try await store.asyncOpen().close()
        #expect(folder.mode("notes.db") == 0o600)
        #expect(try folder.names == ["notes.db", "notes.key"])
        try EncryptedDatabase.open(folder.database, key: key).close()
        try store.openPool().close()
    }

    @Test func withoutAKeyNothingIsMade() throws {
        #expect(throws: KeySourceError.noSuchFile(path: keyPath)) { try store.open() }
        #expect(try folder.names.isEmpty)
        try folder.write("notes.key", [])
        #expect(throws: KeySourceError.empty(source: "the file \"\(keyPath)\"")) {
            try store.open()
        }
        #expect(try folder.names == ["notes.key"])
    }

    @Test func anotherKeyIsAWrongKey() throws {
        _ = try writeKey()
        try store.open().close()
        _ = try writeKey()
        #expect(throws: EncryptedDatabaseError.wrongKey(path: folder.database)) {
            try store.open()
        }
    }

    @Test func theKeyIsNotRotatedWhereNoneCanBeStored() throws {
        let key = try writeKey()
        try store.open().close()
        let before = try folder.data("notes.db")
        let refusal = KeyStoreError.readOnly(source: "the file \"\(keyPath)\"")
        for keepsOldKey in [true, false] {
            #expect(throws: refusal) { try store.keyRotation(keepsOldKey: keepsOldKey).run() }
        }
        #expect(try folder.data("notes.db") == before)
        #expect(try folder.names == ["notes.db", "notes.key"])
        try EncryptedDatabase.open(folder.database, key: key).close()
    }
}
