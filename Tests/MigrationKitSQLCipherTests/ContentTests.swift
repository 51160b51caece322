import Foundation
import GRDB
import MigrationKit
import MigrationKitCommon
import MigrationKitSQLCipher
import TestSupport
import Testing

/// What GRDB and SQLCipher do otherwise with an encrypted database: erasing it, attaching another.
@Suite struct ContentTests {
    private let folder: TemporaryFolder
    private let key: TestKey

    init() throws {
        folder = try TemporaryFolder()
        key = try .raw()
        try Fixtures.encrypted(folder.database, key: key)
    }

    @Test func anErasedDatabaseIsEmptyAndKeepsItsKey() throws {
        let queue = try EncryptedDatabase.open(folder.database, key: key.key)
        // What the helper is for.
        #expect(throws: DatabaseError.self) { try queue.erase() }
        try queue.write { (db: Database) throws in
            try db.execute(
                sql: """
                    CREATE TABLE u(a REFERENCES t(a)); CREATE VIEW v AS SELECT * FROM t;
                    PRAGMA user_version = 7;
                    CREATE TABLE grdb_migrations(identifier TEXT NOT NULL PRIMARY KEY);
                    """
            )
        }
        let salt = try folder.databaseData().prefix(16)
        try EncryptedDatabase.erase(queue)
        try queue.read { (db: Database) throws in
            #expect(try Int.fetchOne(db, sql: "SELECT count(*) FROM sqlite_schema") == 0)
            #expect(try Int.fetchOne(db, sql: "PRAGMA user_version") == 0)
            #expect(try !db.tableExists("grdb_migrations"))
        }
        try queue.close()
        #expect(try folder.databaseData().prefix(16) == salt)
        try EncryptedDatabase.open(folder.database, key: key.key).close()
        let reader = try EncryptedDatabase.open(
            folder.database,
            key: key.key,
            options: .init(isReadOnly: true)
        )
        #expect(throws: MigrationKitError.readOnlyDatabase) { try EncryptedDatabase.erase(reader) }
    }

    @Test(arguments: try TestKey.each())
    func anAttachedDatabaseHasAKeyOfItsOwnThatNoTraceShows(other: TestKey) throws {
        let path = folder.path("other's.db")
        try Fixtures.encrypted(path, key: other)
        let traced = Locked<[String]>([])
        let options = EncryptedDatabase.Options(prepareDatabase: { db in
            db.trace { event in traced.withLock { $0.append(event.expandedDescription) } }
        })
        let queue = try EncryptedDatabase.open(folder.database, key: key.key, options: options)
        try queue.writeWithoutTransaction { (db: Database) throws in
            try EncryptedDatabase.attach(path, as: "the \"other\"", key: other.key, to: db)
            try db.execute(sql: #"INSERT INTO t SELECT a || '!' FROM "the ""other""".t"#)
            // The function that gave the key is gone.
            let error = #expect(throws: DatabaseError.self) {
                try db.execute(sql: "SELECT migrationkit_attached_key()")
            }
            #expect(error?.message?.hasPrefix("no such function") == true)
            try db.execute(sql: #"DETACH DATABASE "the ""other""""#)
            #expect(try String.fetchAll(db, sql: "SELECT a FROM t") == ["zettel", "zettel!"])
        }
        let trace = traced.withLock { $0 }.joined(separator: "\n")
        #expect(trace.contains("ATTACH"))
        for fragment in other.fragments { #expect(!trace.contains(fragment)) }
    }

    @Test func aPlaintextDatabaseIsAttachedWithoutAKey() throws {
        let path = folder.path("plain.db")
        try Fixtures.plaintext(path)
        let queue = try EncryptedDatabase.open(folder.database, key: key.key)
        try queue.writeWithoutTransaction { (db: Database) throws in
            try EncryptedDatabase.attach(path, as: "plain", key: nil, to: db)
            #expect(try String.fetchOne(db, sql: "SELECT a FROM plain.t") == "zettel")
        }
    }

    @Test func tablesOfAnAttachedDatabaseAreFoundEvenIfTheyWereMissedBefore() throws {
        let path = folder.path("other.db")
        try Fixtures.encrypted(path, key: key)
        let queue = try EncryptedDatabase.open(folder.database, key: key.key)
        try queue.writeWithoutTransaction { (db: Database) throws in
            try db.execute(sql: "DROP TABLE t")
            #expect(try !db.tableExists("t"))
            // What the helper is for: the salt would be that of the connection.
            let error = #expect(throws: DatabaseError.self) {
                try db.execute(sql: "ATTACH DATABASE ? AS other", arguments: [path])
            }
            #expect(error?.resultCode == .SQLITE_NOTADB)
            try EncryptedDatabase.attach(path, as: "other", key: key.key, to: db)
            #expect(try db.tableExists("t"))
            #expect(try db.columns(in: "t").map(\.name) == ["a"])
        }
    }

    @Test func whatCantBeAttachedIsToldAsWhatCantBeOpened() throws {
        let queue = try EncryptedDatabase.open(folder.database, key: key.key)
        let (missing, plain) = (folder.path("missing.db"), folder.path("plain.db"))
        try Fixtures.plaintext(plain)
        let other = try TestKey.raw()
        let path = folder.path("other.db")
        try Fixtures.encrypted(path, key: other)
        let before = try folder.names
        queue.writeWithoutTransaction { db in
            func attach(_ path: String, _ key: TestKey?) throws {
                try EncryptedDatabase.attach(path, as: "x", key: key?.key, to: db)
            }
            #expect(throws: EncryptedDatabaseError.noSuchFile(path: missing)) {
                try attach(missing, other)
            }
            #expect(throws: EncryptedDatabaseError.wrongKey(path: path)) { try attach(path, key) }
            #expect(throws: EncryptedDatabaseError.encrypted(path: path)) { try attach(path, nil) }
            #expect(throws: EncryptedDatabaseError.plaintext(path: plain)) {
                try attach(plain, other)
            }
            let error = #expect(throws: DatabaseError.self) {
                try EncryptedDatabase.attach(path, as: "main", key: other.key, to: db)
            }
            #expect(error?.message == "database main is already in use")
        }
        #expect(try folder.names == before)
    }

    @Test(arguments: try TestKey.each())
    func copiesOfGRDBsAreMadeWithTheConfiguration(key: TestKey) throws {
        let path = folder.path("source.db")
        try Fixtures.encrypted(path, key: key)
        let configuration = EncryptedDatabase.configuration(key: key.key)
        for copy in [
            try DatabaseQueue.inMemoryCopy(fromPath: path, configuration: configuration),
            try DatabaseQueue.temporaryCopy(fromPath: path, configuration: configuration),
        ] {
            try copy.write { try $0.execute(sql: "INSERT INTO t VALUES ('more')") }
            #expect(
                try copy.read { try String.fetchAll($0, sql: "SELECT a FROM t") }
                    == ["zettel", "more"]
            )
        }
    }

    @Test func noFileSaysWhichOptionCreatesOne() {
        let error = #expect(throws: EncryptedDatabaseError.self) {
            try EncryptedDatabase.open(folder.path("new.db"), key: key.key)
        }
        #expect(error?.recoverySuggestion?.contains("'createsFile'") == true)
    }
}
