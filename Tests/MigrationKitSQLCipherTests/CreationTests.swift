import Foundation
import GRDB
import KeyStore
import MigrationKitSQLCipher
import Testing

@Suite struct CreationTests {
    private let folder: TestFolder
    private let key: TestKey

    init() throws {
        folder = try TestFolder()
        key = try .raw()
    }

    @Test func aMissingFileIsNotCreatedUnasked() throws {
        let path = folder.file()
        #expect(throws: EncryptedDatabaseError.noSuchFile(path: path)) {
            try EncryptedDatabase.open(path, key: key.key)
        }
        #expect(throws: EncryptedDatabaseError.noSuchFile(path: path)) {
            try EncryptedDatabase.openPool(path, key: key.key)
        }
        #expect(throws: EncryptedDatabaseError.noSuchFile(path: path)) {
            try EncryptedDatabase.openPlaintext(path)
        }
        #expect(throws: EncryptedDatabaseError.noSuchFile(path: path)) {
            try EncryptedDatabase.open(
                path,
                key: key.key,
                options: .init(createsFile: true, isReadOnly: true)
            )
        }
        #expect(throws: EncryptedDatabaseError.noSuchFile(path: "")) {
            try EncryptedDatabase.open("", key: key.key)
        }
        #expect(try folder.names == [])
    }

    @Test(arguments: try TestKey.each())
    func aNewDatabaseIsEncryptedFromItsFirstByte(key: TestKey) throws {
        let queue = try EncryptedDatabase.open(
            folder.file(),
            key: key.key,
            options: .init(createsFile: true)
        )
        #expect(try folder.data().count == 4096)
        try queue.write {
            try $0.execute(sql: "CREATE TABLE t(a); INSERT INTO t VALUES ('zettel')")
        }
        try queue.close()

        let data = try folder.data()
        #expect(!data.starts(with: Data("SQLite format 3".utf8)))
        #expect(data.range(of: Data("zettel".utf8)) == nil)
        #expect(data.range(of: Data("CREATE TABLE".utf8)) == nil)
        #expect(try folder.names == ["notes.db"])
    }

    @Test func aNewDatabaseAndItsJournalsAreTheOwnersAlone() throws {
        let options = EncryptedDatabase.Options(createsFile: true)
        let queue = try EncryptedDatabase.open(folder.file(), key: key.key, options: options)
        #expect(folder.mode() == 0o600)
        try queue.write { db in
            try db.execute(sql: "CREATE TABLE t(a)")
            #expect(folder.mode("notes.db-journal") == 0o600)
        }
        try queue.close()

        let pool = try EncryptedDatabase.openPool(folder.file(), key: key.key)
        try pool.write { try $0.execute(sql: "INSERT INTO t VALUES (1)") }
        #expect(folder.mode("notes.db-wal") == 0o600)
        #expect(folder.mode("notes.db-shm") == 0o600)
        #expect(folder.mode() == 0o600)
        try pool.close()
    }

    @Test func aNewPlaintextDatabaseIsTheOwnersAlone() throws {
        let options = EncryptedDatabase.Options(createsFile: true)
        let queue = try EncryptedDatabase.openPlaintext(folder.file(), options: options)
        try queue.close()
        #expect(folder.mode() == 0o600)
        #expect(try folder.data().starts(with: Data("SQLite format 3\0".utf8)))
    }

    @Test func aPoolCreatesToo() throws {
        let options = EncryptedDatabase.Options(createsFile: true)
        let pool = try EncryptedDatabase.openPool(folder.file(), key: key.key, options: options)
        try pool.write { try $0.execute(sql: "CREATE TABLE t(a)") }
        #expect(try pool.read { try Int.fetchOne($0, sql: "SELECT count(*) FROM t") } == 0)
        #expect(folder.mode() == 0o600)
        try pool.close()
    }

    @Test func anEmptyFileIsANewDatabaseOnlyWhereOneIsAskedFor() throws {
        try folder.write(Data())
        try FileManager.default.setAttributes(
            [.posixPermissions: 0o640],
            ofItemAtPath: folder.file()
        )
        let before = try folder.snapshot()
        #expect(throws: EncryptedDatabaseError.empty(path: folder.file())) {
            try EncryptedDatabase.open(folder.file(), key: key.key)
        }
        #expect(throws: EncryptedDatabaseError.empty(path: folder.file())) {
            try EncryptedDatabase.openPlaintext(folder.file())
        }
        #expect(try folder.snapshot() == before)

        let options = EncryptedDatabase.Options(createsFile: true)
        try EncryptedDatabase.open(folder.file(), key: key.key, options: options).close()
        #expect(try folder.data().count == 4096)
        #expect(folder.mode() == 0o640)
    }

    @Test func aMissingFolderIsToldAndNotCreated() throws {
        let path = folder.file("missing/notes.db")
        #expect(
            throws: EncryptedDatabaseError.cannotCreate(
                path: path,
                reason: "its folder does not exist"
            )
        ) {
            try EncryptedDatabase.open(path, key: key.key, options: .init(createsFile: true))
        }
        #expect(try folder.names == [])
    }

    @Test func aLinkToNothingIsNotFollowedByACreation() throws {
        try FileManager.default.createSymbolicLink(
            atPath: folder.file("link.db"),
            withDestinationPath: folder.file("target.db")
        )
        #expect(
            throws: EncryptedDatabaseError.cannotCreate(
                path: folder.file("link.db"),
                reason: "it is a link to a file that does not exist"
            )
        ) {
            try EncryptedDatabase.open(
                folder.file("link.db"),
                key: key.key,
                options: .init(createsFile: true)
            )
        }
        #expect(try folder.names == ["link.db"])
    }

    @Test func aCreationThatFailsIsTakenBack() throws {
        struct Refused: Error, Equatable {}
        let options = EncryptedDatabase.Options(
            createsFile: true,
            prepareDatabase: { _ in throw Refused() }
        )
        #expect(throws: Refused()) {
            try EncryptedDatabase.open(folder.file(), key: key.key, options: options)
        }
        #expect(throws: Refused()) {
            try EncryptedDatabase.openPool(folder.file(), key: key.key, options: options)
        }
        #expect(try folder.names == [])
    }

    @Test func settingsOfAnEmptyDatabaseCanBeChosenByTheHost() throws {
        let options = EncryptedDatabase.Options(
            createsFile: true,
            prepareDatabase: { try $0.execute(sql: "PRAGMA auto_vacuum = INCREMENTAL") }
        )
        let queue = try EncryptedDatabase.open(folder.file(), key: key.key, options: options)
        #expect(try queue.read { try Int.fetchOne($0, sql: "PRAGMA auto_vacuum") } == 2)
    }

    /// The salt of a new file is random. Whoever comes second has to go on with the first one's.
    @Test(arguments: try TestKey.each())
    func twoWhoOpenOneNewDatabaseShareIt(key: TestKey) throws {
        let options = EncryptedDatabase.Options(createsFile: true)
        let first = try EncryptedDatabase.open(folder.file(), key: key.key, options: options)
        let second = try EncryptedDatabase.open(folder.file(), key: key.key, options: options)
        try first.write { try $0.execute(sql: "CREATE TABLE t(a)") }
        try second.write { try $0.execute(sql: "INSERT INTO t VALUES (1)") }
        #expect(try first.read { try Int.fetchOne($0, sql: "SELECT a FROM t") } == 1)
    }

    @Test(arguments: try TestKey.each())
    func aDatabaseThatSomebodyCreatesMeanwhileIsGoneOnWith(key: TestKey) throws {
        let path = folder.file()
        let options = EncryptedDatabase.Options(
            createsFile: true,
            prepareDatabase: { db in
                // Between this connection's first look at the empty file and its first page.
                guard try Int.fetchOne(db, sql: "PRAGMA page_count") == 0 else { return }
                try Fixtures.encrypted(path, key: key)
            }
        )
        let queue = try EncryptedDatabase.open(path, key: key.key, options: options)
        #expect(try queue.read { try String.fetchOne($0, sql: "SELECT a FROM t") } == "zettel")
    }
}
