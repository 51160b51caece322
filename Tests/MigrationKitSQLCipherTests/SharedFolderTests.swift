import Foundation
import GRDB
import MigrationKitCommon
import MigrationKitPages
import MigrationKitSQLCipher
import TestSupport
import Testing

/// Others may write to the folder, rename what is being made, and put something else in its place.
@Suite struct SharedFolderTests {
    private let folder: TemporaryFolder

    init() throws {
        folder = try TemporaryFolder()
    }

    @Test(arguments: ["delete", "wal"])
    func sqliteOpensWhatWasMadeWhateverHasItsName(_ journal: String) throws {
        let new = try NewFiles(for: folder.database).make()
        defer { new.remove() }
        let trap = try folder.makeFolder("trap")
        let room = try #require(try folder.names.first { $0.hasPrefix(".notes.db-") })
        try #require(rename(folder.path(room), folder.path("taken")) == 0)
        try #require(symlink(trap, folder.path(room)) == 0)
        let queue = try EncryptedDatabase.openPlaintext(
            new.path,
            options: .init(createsFile: true)
        )
        try queue.writeWithoutTransaction {
            try $0.execute(
                sql:
                    "PRAGMA journal_mode = \(journal); CREATE TABLE t (a); INSERT INTO t VALUES (1)"
            )
        }
        #expect(try FileManager.default.contentsOfDirectory(atPath: trap) == [])
        try queue.close()
        try new.finish(mode: 0o600)
        try new.place(at: folder.database)
        let found = try EncryptedDatabase.openPlaintext(folder.database)
        #expect(try found.read { try Int.fetchOne($0, sql: "SELECT a FROM t") } == 1)
        #expect(try FileManager.default.contentsOfDirectory(atPath: trap) == [])
    }

    /// Its temporary files need another place: the folder is gone before the connection may be.
    @Test func aHeldFileIsShownByItsName() throws {
        let new = try NewFiles(for: folder.database).make()
        defer { new.remove() }
        let room = try #require(try folder.names.first)
        let path = try #require(folder.path(room).withCString { realpath($0, nil) })
        defer { free(path) }
        #expect(HeldFolder.holds(new.path))
        #expect(HeldFolder.shownPath(new.path) == "\(String(cString: path))/\(room)")
        #expect(HeldFolder.neighbour(of: new.path) == String(cString: path))
        #expect(!HeldFolder.holds(folder.database))
        #expect(HeldFolder.neighbour(of: folder.database) == folder.database)
    }

    @Test func aCreatedFileIsToldFromWhatTakesItsPlace() throws {
        let created = try #require(try DatabaseFile(folder.database).create())
        try #require(rename(folder.database, folder.path("taken")) == 0)
        try folder.write("notes.db", [])
        let other = try #require(FileHandle(forReadingAtPath: folder.database))
        let error = EncryptedDatabaseError.cannotCreate(
            path: folder.database,
            reason: "something else has taken its place"
        )
        #expect(throws: error) { try created.checkIsOpen() }
        let own = try #require(FileHandle(forReadingAtPath: folder.path("taken")))
        try created.checkIsOpen()
        withExtendedLifetime((other, own)) {}
    }
}
