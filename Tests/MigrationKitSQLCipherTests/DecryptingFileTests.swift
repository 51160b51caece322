@testable import MigrationKitPages
import Foundation
import GRDB
import MigrationKitKeys
import MigrationKitGRDB
import TestSupport
import Testing

@testable import MigrationKitSQLCipher

/// Files of SQLCipher are read without it.
@Suite struct DecryptingFileTests {
    private let folder: TemporaryFolder

    init() throws {
        folder = try TemporaryFolder()
    }

    private func make(_ key: TestKey, _ cipher: CipherSettings, mode: String) throws
        -> DatabaseQueue
    {
        _ = try SQLCipherShell.run(
            folder.database,
            key: key.spelling,
            cipher.pragmas + """
                PRAGMA journal_mode = \(mode); CREATE TABLE t(a); INSERT INTO t VALUES ('zettel');
                \(Fixtures.fill(pages: 300)) CREATE INDEX filler_a ON filler(a);
                PRAGMA user_version = 7;
                """
        )
        let options = EncryptedDatabase.Options(cipher: cipher)
        return try EncryptedDatabase.open(folder.database, key: key.key, options: options)
    }

    private func reader(of queue: DatabaseQueue) throws -> DatabaseQueue {
        let opensReader = try #require(try EncryptedDatabase.quietReaders(of: queue))
        return try opensReader(folder.database)
    }

    private static let questions = [
        "SELECT a FROM t", "SELECT count(*) FROM filler", "PRAGMA user_version",
        "SELECT sum(length(a)) FROM filler INDEXED BY filler_a WHERE a > ''",
        "PRAGMA integrity_check", "PRAGMA page_count",
    ]

    private func answers(_ queue: DatabaseQueue) throws -> [String] {
        try queue.read { db in
            try Self.questions.map { try String.fetchOne(db, sql: $0) ?? "" }
        }
    }

    @Test(arguments: CipherSettingsTests.each, try TestKey.each())
    func itReadsWhatSQLCipherReads(cipher: CipherSettings, key: TestKey) throws {
        for mode in ["DELETE", "WAL"] {
            let queue = try make(key, cipher, mode: mode)
            let expected = try answers(queue)
            #expect(expected[0] == "zettel" && expected[4] == "ok")
            let before = try folder.snapshot()
            let reader = try reader(of: queue)
            #expect(try answers(reader) == expected)
            // It is none of SQLCipher's connections.
            #expect(
                try reader.read { try String.fetchOne($0, sql: "PRAGMA cipher_page_size") } == nil
            )
            // It gets as far as the lock, and so makes no journal.
            let error = #expect(throws: DatabaseError.self) {
                try reader.writeWithoutTransaction { try $0.execute(sql: "BEGIN IMMEDIATE") }
            }
            #expect(error?.resultCode == .SQLITE_READONLY)
            #expect(throws: DatabaseError.self) {
                try reader.writeWithoutTransaction { try $0.execute(sql: "DELETE FROM t") }
            }
            try reader.close()
            #expect(try folder.snapshot() == before)
            try queue.close()
            try FileManager.default.removeItem(atPath: folder.database)
        }
    }

    @Test func otherConnectionsKeepTheirLocks() throws {
        let key = try TestKey.raw()
        let queue = try make(key, .current, mode: "DELETE")
        let opensReader = try #require(try EncryptedDatabase.quietReaders(of: queue))
        try queue.writeWithoutTransaction { db in
            try db.execute(sql: "BEGIN IMMEDIATE; INSERT INTO t VALUES ('held')")
            defer { if db.isInsideTransaction { try? db.execute(sql: "COMMIT") } }
            let path = try #require(db.filePath)
            let reader = try opensReader(path)
            #expect(try reader.read { try Int.fetchOne($0, sql: "SELECT count(*) FROM t") } == 1)
            try reader.close()
            // Closing its descriptor took nothing away.
            let other = try run(
                "sqlcipher",
                ["-batch", folder.database],
                input: "PRAGMA key = \"\(key.spelling)\"; INSERT INTO t VALUES ('other');".utf8
            )
            #expect(other.stderr.contains("locked"))
        }
        #expect(try queue.read { try Int.fetchOne($0, sql: "SELECT count(*) FROM t") } == 2)
    }

    @Test func aPageThatIsNotAsItWasWrittenIsNotRead() throws {
        let key = try TestKey.raw()
        let queue = try make(key, .current, mode: "DELETE")
        let reader = try reader(of: queue)
        #expect(try answers(reader)[1] == "300")
        // A small cache makes it read the pages anew, which it knows to be authentic.
        try reader.writeWithoutTransaction { try $0.execute(sql: "PRAGMA cache_size = 10") }
        #expect(try answers(reader)[1] == "300")
        try folder.damage(at: 200 * 4096 + 100)
        #expect(throws: DatabaseError.self) { try answers(reader) }
    }

    /// SQLite takes what is missing for zeros, and what is there as it is.
    @Test func aLastPageThatIsShortProvesNothing() throws {
        let key = try TestKey.raw()
        try make(key, .current, mode: "DELETE").close()
        let options = EncryptedDatabase.Options()
        let queue = try EncryptedDatabase.open(folder.database, key: key.key, options: options)
        try queue.write { try $0.execute(sql: "INSERT INTO t VALUES (hex(zeroblob(2000000)))") }
        try queue.close()
        // The last page of the value goes on in the clear.
        let file = try #require(FileHandle(forUpdatingAtPath: folder.database))
        let size = try file.seekToEnd()
        try file.truncate(atOffset: size - 4096)
        try file.seekToEnd()
        try file.write(contentsOf: Data([0, 0, 0, 0] + Array(repeating: 0x30, count: 600)))
        try file.close()

        let damaged = try EncryptedDatabase.open(folder.database, key: key.key, options: options)
        let reader = try reader(of: damaged)
        #expect(throws: DatabaseError.self) {
            try reader.read { db in try String.fetchAll(db, sql: "SELECT a FROM t") }
        }
        let checks = try GRDBMigrationRunner(steps: []).verificationChecks(in: damaged)
        #expect(checks.map(\.ok).contains(false))
    }

    /// SQLite reads more than the first page at first, when it doesn't know how large that is.
    @Test(arguments: [1, 2, 3])
    func aDamagedFreePageDoesNotStopAnUpgrade(_ version: Int) throws {
        let key = try TestKey.passphrase()
        let cipher = try CipherSettings.sqlCipher(version)
        _ = try SQLCipherShell.run(
            folder.database,
            key: key.spelling,
            cipher.pragmas + """
                CREATE TABLE one(a); CREATE TABLE two(a); CREATE TABLE three(a);
                CREATE TABLE t(a); INSERT INTO t VALUES ('zettel'); \(Fixtures.fill(pages: 50))
                DROP TABLE two; DROP TABLE three;
                """
        )
        try folder.damage(at: 3 * 1024 + 100)
        try DatabaseConversion.upgrade(folder.database, key: key.key).run()
        let queue = try EncryptedDatabase.open(folder.database, key: key.key)
        #expect(try queue.read { try String.fetchOne($0, sql: "SELECT a FROM t") } == "zettel")
        try queue.close()
    }

    /// Only the file that is asked for is opened so, whatever its connection opens meanwhile.
    @Test func whatAHostOpensMeanwhileIsOpenedAsEver() throws {
        let key = try TestKey.raw()
        try make(key, .current, mode: "DELETE").close()
        let other = folder.path("other.db")
        try Fixtures.encrypted(other, key: key)
        let options = EncryptedDatabase.Options(prepareDatabase: { _ in
            let queue = try EncryptedDatabase.open(other, key: key.key)
            try queue.write { try $0.execute(sql: "INSERT INTO t VALUES ('meanwhile')") }
            try queue.close()
        })
        let queue = try EncryptedDatabase.open(folder.database, key: key.key, options: options)
        try reader(of: queue).close()
        try queue.close()
        let count = try SQLCipherShell.run(other, key: key.spelling, "SELECT count(*) FROM t;")
        #expect(count == "3")
    }

    @Test func aPageIsAuthenticatedOnceAsLongAsItIsTheSame() throws {
        let pages = AuthenticPages()
        let digest = try PageDigest(key: pages.key)
        var count = 0
        func contain(_ bytes: [UInt8], _ number: Int, _ isAuthentic: Bool = true) -> Bool {
            bytes.withUnsafeBytes { page in
                pages.contain(page, number: number, digest) { _ in
                    count += 1
                    return isAuthentic
                }
            }
        }
        let (one, other) = ([UInt8](repeating: 1, count: 4096), [UInt8](repeating: 2, count: 4096))
        #expect(contain(one, 5) && contain(one, 5) && count == 1)
        #expect(!contain(other, 5, false) && count == 2)
        #expect(contain(one, 5) && count == 2)
        // In another place it is another page.
        #expect(!contain(one, 6, false) && !contain(one, 6, false) && count == 4)
        #expect(contain(one, 1 << 40) && contain(one, 1 << 40) && count == 5)
        // Of pages that share a place, the last one is known.
        let later = 5 + (2 << 20)
        #expect(contain(one, later) && contain(one, later) && count == 6)
        #expect(!contain(one, 5, false) && count == 7)
    }
}
