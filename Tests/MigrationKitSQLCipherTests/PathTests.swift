import Foundation
import GRDB
import KeyStore
import MigrationKitSQLCipher
import Testing

@Suite struct PathTests {
    private let folder: TestFolder
    private let key: TestKey

    init() throws {
        folder = try TestFolder()
        key = try .raw()
    }

    @Test(arguments: [
        "with space.db", "o'clock.db", "\"quoted\".db", "what?mode=memory&cache=shared",
        "100%.db", "%41.db", "a#b.db", "größe 日本 🗝.db", "new\nline.db", "-flag", ":memory:",
        "file:x.db?mode=ro", "\\back", ";DROP",
    ])
    func aPathIsAPathWhateverIsInIt(name: String) throws {
        try Fixtures.encrypted(folder.file(name), key: key)
        #expect(try folder.names == [name])
        let queue = try EncryptedDatabase.open(folder.file(name), key: key.key)
        #expect(try queue.read { try String.fetchOne($0, sql: "SELECT a FROM t") } == "zettel")
        try queue.close()
        #expect(throws: EncryptedDatabaseError.wrongKey(path: folder.file(name))) {
            try EncryptedDatabase.open(folder.file(name), key: .generate())
        }
        #expect(throws: EncryptedDatabaseError.encrypted(path: folder.file(name))) {
            try EncryptedDatabase.openPlaintext(folder.file(name))
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
        try Fixtures.encrypted(folder.file(), key: key)
        let path = folder.file() + "\0.db"
        #expect(throws: EncryptedDatabaseError.noSuchFile(path: path)) {
            try EncryptedDatabase.open(path, key: key.key)
        }
        #expect(
            throws: EncryptedDatabaseError.cannotCreate(path: path, reason: "this is no file name")
        ) {
            try EncryptedDatabase.open(path, key: key.key, options: .init(createsFile: true))
        }
    }

    @Test func linksAreFollowed() throws {
        try FileManager.default.createDirectory(
            atPath: folder.file("real"),
            withIntermediateDirectories: false
        )
        try Fixtures.encrypted(folder.file("real/notes.db"), key: key)
        try FileManager.default.createSymbolicLink(
            atPath: folder.file("link.db"),
            withDestinationPath: "real/notes.db"
        )
        let pool = try EncryptedDatabase.openPool(folder.file("link.db"), key: key.key)
        try pool.write { try $0.execute(sql: "INSERT INTO t VALUES ('through the link')") }
        // Beside the file, where every other program looks for it, and not beside the link.
        #expect(try folder.names == ["link.db", "real"])
        try pool.close()
        let queue = try EncryptedDatabase.open(folder.file("real/notes.db"), key: key.key)
        #expect(try queue.read { try Int.fetchOne($0, sql: "SELECT count(*) FROM t") } == 2)
    }

    @Test func aJournalBesideTheFileIsFoundThroughALink() throws {
        try FileManager.default.createDirectory(
            atPath: folder.file("real"),
            withIntermediateDirectories: false
        )
        let real = folder.file("real/notes.db")
        try Fixtures.encrypted(real, key: key)
        try Crash.leaveLog(of: real, key: key)
        try FileManager.default.createSymbolicLink(
            atPath: folder.file("link.db"),
            withDestinationPath: real
        )
        let log = try folder.data("real/notes.db-wal")
        #expect(throws: EncryptedDatabaseError.wrongKey(path: folder.file("link.db"))) {
            try EncryptedDatabase.open(folder.file("link.db"), key: .generate())
        }
        #expect(try folder.data("real/notes.db-wal") == log)
    }
}
