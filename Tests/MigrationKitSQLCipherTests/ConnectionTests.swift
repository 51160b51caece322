import Foundation
import GRDB
import MigrationKitKeys
import MigrationKitPages
import MigrationKitSQLCipher
import MigrationKitSchema
import TestSupport
import Testing

@Suite struct ConnectionTests {
    private let folder: TemporaryFolder
    private let key: TestKey

    init() throws {
        folder = try TemporaryFolder()
        key = try .raw()
        try Fixtures.encrypted(folder.database, key: key)
    }

    @Test func everyConnectionIsSQLCipherAndHasItsTemporaryFilesEncrypted() throws {
        let checks = { @Sendable (db: Database) throws -> Void in
            #expect(try String.fetchOne(db, sql: "PRAGMA cipher_version") != nil)
            #expect(TemporaryStorage.serves(db.sqliteConnection))
            #expect(try Int.fetchOne(db, sql: "PRAGMA temp_store") == 1)
        }
        let queue = try EncryptedDatabase.open(folder.database, key: key.key)
        try queue.read(checks)
        try queue.close()
        let pool = try EncryptedDatabase.openPool(folder.database, key: key.key)
        try pool.read(checks)
        try pool.write(checks)
        try pool.close()
        try DatabaseQueue(configuration: EncryptedDatabase.configuration(key: key.key)).read(checks)

        let plain = folder.path("plain.db")
        let options = EncryptedDatabase.Options(createsFile: true)
        let plainQueue = try EncryptedDatabase.openPlaintext(plain, options: options)
        #expect(try plainQueue.read { try Int.fetchOne($0, sql: "PRAGMA temp_store") } == 1)
    }

    @Test(arguments: [-1, 0, 3e6, 1e30, .infinity, .nan])
    func noBusyTimeoutIsTooLong(seconds: TimeInterval) throws {
        let options = EncryptedDatabase.Options(busyTimeout: seconds)
        let queue = try EncryptedDatabase.open(folder.database, key: key.key, options: options)
        let milliseconds = try queue.read { try Int.fetchOne($0, sql: "PRAGMA busy_timeout") }
        #expect(milliseconds == (seconds > 0 ? 2_000_000_000 : 0))
    }

    @Test(arguments: ["delete", "truncate", "persist", "wal"])
    func theJournalModeOfAnExistingFileStays(mode: String) throws {
        _ = try SQLCipherShell.run(
            folder.database,
            key: key.spelling,
            "PRAGMA journal_mode = \(mode);"
        )
        let queue = try EncryptedDatabase.open(folder.database, key: key.key)
        try queue.write { try $0.execute(sql: "INSERT INTO t VALUES ('more')") }
        try queue.close()
        // Only WAL is kept in the file; the others are settings of a connection.
        let stored = try SQLCipherShell.run(
            folder.database,
            key: key.spelling,
            "PRAGMA journal_mode;"
        )
        #expect(stored == (mode == "wal" ? "wal" : "delete"))
    }

    @Test func aPoolSetsWAL() throws {
        try EncryptedDatabase.openPool(folder.database, key: key.key).close()
        let stored = try SQLCipherShell.run(
            folder.database,
            key: key.spelling,
            "PRAGMA journal_mode;"
        )
        #expect(stored == "wal")
    }

    @Test func aReadOnlyConnectionReadsAndDoesNotWrite() throws {
        let before = try folder.snapshot()
        let options = EncryptedDatabase.Options(isReadOnly: true)
        let queue = try EncryptedDatabase.open(folder.database, key: key.key, options: options)
        #expect(try queue.read { try String.fetchOne($0, sql: "SELECT a FROM t") } == "zettel")
        let error = #expect(throws: DatabaseError.self) {
            try queue.writeWithoutTransaction { try $0.execute(sql: "DELETE FROM t") }
        }
        let translated = try EncryptedDatabaseError(#require(error), path: "notes.db")
        #expect(translated == .readOnly(path: "notes.db"))
        try queue.close()
        #expect(try folder.snapshot() == before)
    }

    @Test func poolReadersWorkAtTheSameTimeWithOneDerivation() async throws {
        let key = try TestKey.passphrase()
        let path = folder.path("passphrase.db")
        try Fixtures.encrypted(path, key: key)
        let pool = try EncryptedDatabase.openPool(path, key: key.key)
        try await withThrowingTaskGroup(of: String?.self) { group in
            for _ in 0..<5 {
                group.addTask {
                    try await pool.read { try String.fetchOne($0, sql: "SELECT a FROM t") }
                }
            }
            for try await value in group { #expect(value == "zettel") }
        }
        try pool.close()
    }

    @Test(arguments: try TestKey.each())
    func theConfigurationKeysAnyFile(key: TestKey) throws {
        let configuration = EncryptedDatabase.configuration(key: key.key)
        let path = folder.path("own.db")
        let queue = try DatabaseQueue(path: path, configuration: configuration)
        try queue.write { try $0.execute(sql: "CREATE TABLE t(a)") }
        #expect(try !folder.data("own.db").starts(with: Data("SQLite format 3".utf8)))

        // GRDB replays the migrations into a temporary file with the queue's configuration.
        var migrator = DatabaseMigrator()
        migrator.registerMigration("1") {
            try $0.execute(sql: "CREATE TABLE u(a DEFAULT (uuid()))")
        }
        try migrator.migrate(queue)
        #expect(try queue.read { try migrator.hasSchemaChanges($0) })
        try queue.write { try $0.execute(sql: "DROP TABLE t") }
        #expect(try !queue.read { try migrator.hasSchemaChanges($0) })
        try queue.close()
        try EncryptedDatabase.open(path, key: key.key).close()
    }

    @Test func theHostsPreparationRunsOnEveryConnectionAfterTheKey() throws {
        let options = EncryptedDatabase.Options(prepareDatabase: { db in
            let value = try String.fetchOne(db, sql: "SELECT a FROM t")
            try db.execute(sql: "CREATE TEMP TABLE seen AS SELECT ? AS a", arguments: [value])
        })
        let pool = try EncryptedDatabase.openPool(folder.database, key: key.key, options: options)
        #expect(try pool.read { try String.fetchOne($0, sql: "SELECT a FROM seen") } == "zettel")
        #expect(try pool.write { try String.fetchOne($0, sql: "SELECT a FROM seen") } == "zettel")
        try pool.close()
    }

    @Test func theHostsErrorsComeOutUnchanged() throws {
        let options = EncryptedDatabase.Options(prepareDatabase: { db in
            try db.execute(sql: "SELECT * FROM missing")
        })
        let error = #expect(throws: DatabaseError.self) {
            try EncryptedDatabase.open(folder.database, key: key.key, options: options)
        }
        #expect(error?.message == "no such table: missing")
    }
}
