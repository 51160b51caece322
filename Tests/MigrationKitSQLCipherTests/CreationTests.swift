import Foundation
import GRDB
import MigrationKitKeys
import MigrationKitCommon
import MigrationKitSQLCipher
import TestSupport
import Testing

@Suite struct CreationTests {
    private let folder: TemporaryFolder
    private let key: TestKey

    init() throws {
        folder = try TemporaryFolder()
        key = try .raw()
    }

    @Test func aMissingFileIsNotCreatedUnasked() throws {
        let path = folder.database
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
            folder.database,
            key: key.key,
            options: .init(createsFile: true)
        )
        #expect(try folder.databaseData().count == 4096)
        try queue.write {
            try $0.execute(sql: "CREATE TABLE t(a); INSERT INTO t VALUES ('zettel')")
        }
        try queue.close()

        let data = try folder.databaseData()
        #expect(!data.starts(with: Data("SQLite format 3".utf8)))
        #expect(data.range(of: Data("zettel".utf8)) == nil)
        #expect(data.range(of: Data("CREATE TABLE".utf8)) == nil)
        #expect(try folder.names == ["notes.db"])
    }

    @Test func aNewDatabaseAndItsJournalsAreTheOwnersAlone() throws {
        let options = EncryptedDatabase.Options(createsFile: true)
        let queue = try EncryptedDatabase.open(folder.database, key: key.key, options: options)
        #expect(folder.mode("notes.db") == 0o600)
        try queue.write { db in
            try db.execute(sql: "CREATE TABLE t(a)")
            #expect(folder.mode("notes.db-journal") == 0o600)
        }
        try queue.close()

        let pool = try EncryptedDatabase.openPool(folder.database, key: key.key)
        try pool.write { try $0.execute(sql: "INSERT INTO t VALUES (1)") }
        #expect(folder.mode("notes.db-wal") == 0o600)
        #expect(folder.mode("notes.db-shm") == 0o600)
        #expect(folder.mode("notes.db") == 0o600)
        try pool.close()
    }

    @Test func aNewPlaintextDatabaseIsTheOwnersAlone() throws {
        let options = EncryptedDatabase.Options(createsFile: true)
        let queue = try EncryptedDatabase.openPlaintext(folder.database, options: options)
        try queue.close()
        #expect(folder.mode("notes.db") == 0o600)
        #expect(try folder.databaseData().starts(with: Data("SQLite format 3\0".utf8)))
    }

    @Test func aPoolCreatesToo() throws {
        let options = EncryptedDatabase.Options(createsFile: true)
        let pool = try EncryptedDatabase.openPool(folder.database, key: key.key, options: options)
        try pool.write { try $0.execute(sql: "CREATE TABLE t(a)") }
        #expect(try pool.read { try Int.fetchOne($0, sql: "SELECT count(*) FROM t") } == 0)
        #expect(folder.mode("notes.db") == 0o600)
        try pool.close()
    }

    @Test func anEmptyFileIsANewDatabaseOnlyWhereOneIsAskedFor() throws {
        try folder.write("notes.db", Data(), mode: 0o640)
        let before = try folder.snapshot()
        #expect(throws: EncryptedDatabaseError.empty(path: folder.database)) {
            try EncryptedDatabase.open(folder.database, key: key.key)
        }
        #expect(throws: EncryptedDatabaseError.empty(path: folder.database)) {
            try EncryptedDatabase.openPlaintext(folder.database)
        }
        #expect(try folder.snapshot() == before)

        let options = EncryptedDatabase.Options(createsFile: true)
        try EncryptedDatabase.open(folder.database, key: key.key, options: options).close()
        #expect(try folder.databaseData().count == 4096)
        #expect(folder.mode("notes.db") == 0o640)
    }

    @Test func aMissingFolderIsToldAndNotCreated() throws {
        let path = folder.path("missing/notes.db")
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
            atPath: folder.path("link.db"),
            withDestinationPath: folder.path("target.db")
        )
        #expect(
            throws: EncryptedDatabaseError.cannotCreate(
                path: folder.path("link.db"),
                reason: "it is a link to a file that does not exist"
            )
        ) {
            try EncryptedDatabase.open(
                folder.path("link.db"),
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
            try EncryptedDatabase.open(folder.database, key: key.key, options: options)
        }
        #expect(throws: Refused()) {
            try EncryptedDatabase.openPool(folder.database, key: key.key, options: options)
        }
        #expect(try folder.names == [])
    }

    @Test func theHostsPreparationRunsOnceOnANewFile() throws {
        let count = Locked(0)
        let options = EncryptedDatabase.Options(
            createsFile: true,
            prepareDatabase: { _ in count.withLock { $0 += 1 } }
        )
        try EncryptedDatabase.open(folder.path("queue.db"), key: key.key, options: options).close()
        #expect(count.withLock { $0 } == 1)
        try EncryptedDatabase.openPool(folder.path("pool.db"), key: key.key, options: options)
            .close()
        #expect(count.withLock { $0 } == 2)
        try EncryptedDatabase.openPlaintext(folder.path("plain.db"), options: options).close()
        #expect(count.withLock { $0 } == 3)
    }

    @Test func settingsOfAnEmptyDatabaseCanBeChosenByTheHost() throws {
        let options = EncryptedDatabase.Options(
            createsFile: true,
            prepareDatabase: { try $0.execute(sql: "PRAGMA auto_vacuum = INCREMENTAL") }
        )
        let queue = try EncryptedDatabase.open(folder.database, key: key.key, options: options)
        #expect(try queue.read { try Int.fetchOne($0, sql: "PRAGMA auto_vacuum") } == 2)
    }

    /// The salt of a new file is random. Whoever comes second has to go on with the first one's.
    @Test(arguments: try TestKey.each())
    func twoWhoOpenOneNewDatabaseShareIt(key: TestKey) throws {
        let options = EncryptedDatabase.Options(createsFile: true)
        let first = try EncryptedDatabase.open(folder.database, key: key.key, options: options)
        let second = try EncryptedDatabase.open(folder.database, key: key.key, options: options)
        try first.write { try $0.execute(sql: "CREATE TABLE t(a)") }
        try second.write { try $0.execute(sql: "INSERT INTO t VALUES (1)") }
        #expect(try first.read { try Int.fetchOne($0, sql: "SELECT a FROM t") } == 1)
    }

    @Test(arguments: try TestKey.each())
    func aDatabaseThatAnotherProcessCreatesMeanwhileIsOpened(key: TestKey) throws {
        let path = folder.database
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
