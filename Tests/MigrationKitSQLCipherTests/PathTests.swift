import Foundation
import GRDB
import MigrationKitKeys
import MigrationKitSQLCipher
import TestSupport
import Testing

@Suite struct PathTests {
    private let folder: TemporaryFolder
    private let key: TestKey

    init() throws {
        folder = try TemporaryFolder()
        key = try .raw()
    }

    @Test(arguments: [
        "with space.db", "o'clock.db", "\"quoted\".db", "what?mode=memory&cache=shared",
        "100%.db", "%41.db", "a#b.db", "größe 日本 🗝.db", "new\nline.db", "-flag", ":memory:",
        "file:x.db?mode=ro", "\\back", ";DROP",
    ])
    func aPathIsAPathWhateverIsInIt(name: String) throws {
        try Fixtures.encrypted(folder.path(name), key: key)
        #expect(try folder.names == [name])
        let queue = try EncryptedDatabase.open(folder.path(name), key: key.key)
        #expect(try queue.read { try String.fetchOne($0, sql: "SELECT a FROM t") } == "zettel")
        try queue.close()
        #expect(throws: EncryptedDatabaseError.wrongKey(path: folder.path(name))) {
            try EncryptedDatabase.open(folder.path(name), key: .generate())
        }
        #expect(throws: EncryptedDatabaseError.encrypted(path: folder.path(name))) {
            try EncryptedDatabase.openPlaintext(folder.path(name))
        }
        #expect(try folder.names == [name])
    }

    @Test(arguments: [":memory:", "file::memory:", "file:x.db?mode=memory", "~/x", "no such file"])
    func aRelativePathNamesAFile(path: String) throws {
        // With SQLite's meaning of these paths, there would be a database.
        #expect(throws: EncryptedDatabaseError.noSuchFile(path: path)) {
            try EncryptedDatabase.open(path, key: key.key)
        }
        #expect(throws: EncryptedDatabaseError.noSuchFile(path: path)) {
            try EncryptedDatabase.openPlaintext(path)
        }
    }

    @Test func aPathIsNotCutAtAZeroByte() throws {
        try Fixtures.encrypted(folder.database, key: key)
        let path = folder.database + "\0.db"
        #expect(throws: EncryptedDatabaseError.noSuchFile(path: path)) {
            try EncryptedDatabase.open(path, key: key.key)
        }
        #expect(
            throws: EncryptedDatabaseError.cannotCreate(path: path, reason: "not a file name")
        ) {
            try EncryptedDatabase.open(path, key: key.key, options: .init(createsFile: true))
        }
    }

    @Test func linksAreFollowed() throws {
        try folder.makeFolder("real")
        try Fixtures.encrypted(folder.path("real/notes.db"), key: key)
        try FileManager.default.createSymbolicLink(
            atPath: folder.path("link.db"),
            withDestinationPath: "real/notes.db"
        )
        let pool = try EncryptedDatabase.openPool(folder.path("link.db"), key: key.key)
        try pool.write { try $0.execute(sql: "INSERT INTO t VALUES ('through the link')") }
        // Beside the file, where every other program looks for it, and not beside the link.
        #expect(try folder.names == ["link.db", "real"])
        try pool.close()
        let queue = try EncryptedDatabase.open(folder.path("real/notes.db"), key: key.key)
        #expect(try queue.read { try Int.fetchOne($0, sql: "SELECT count(*) FROM t") } == 2)
    }

    @Test func aJournalBesideTheFileIsFoundThroughALink() throws {
        try folder.makeFolder("real")
        let real = folder.path("real/notes.db")
        try Fixtures.encrypted(real, key: key)
        try Crash.leaveLog(of: real, key: key)
        try FileManager.default.createSymbolicLink(
            atPath: folder.path("link.db"),
            withDestinationPath: real
        )
        let log = try folder.data("real/notes.db-wal")
        #expect(throws: EncryptedDatabaseError.wrongKey(path: folder.path("link.db"))) {
            try EncryptedDatabase.open(folder.path("link.db"), key: .generate())
        }
        #expect(try folder.data("real/notes.db-wal") == log)
    }
}
