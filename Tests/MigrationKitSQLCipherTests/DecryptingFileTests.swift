import Foundation
import GRDB
import KeyStore
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
            let reader = try StillFile.open(folder.database, queue.configuration)
            #expect(try answers(reader) == expected)
            // It is none of SQLCipher's connections.
            #expect(
                try reader.read { try String.fetchOne($0, sql: "PRAGMA cipher_page_size") } == nil
            )
            #expect(throws: (any Error).self) {
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
        try queue.writeWithoutTransaction { db in
            try db.execute(sql: "BEGIN IMMEDIATE; INSERT INTO t VALUES ('held')")
            defer { if db.isInsideTransaction { try? db.execute(sql: "COMMIT") } }
            let reader = try StillFile.open(folder.database, queue.configuration)
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
        let reader = try StillFile.open(folder.database, queue.configuration)
        #expect(try answers(reader)[1] == "300")
        // A small cache makes it read the pages anew, which it knows to be authentic.
        try reader.writeWithoutTransaction { try $0.execute(sql: "PRAGMA cache_size = 10") }
        #expect(try answers(reader)[1] == "300")
        try folder.damage(at: 200 * 4096 + 100)
        #expect(throws: DatabaseError.self) { try answers(reader) }
    }

    @Test func aPageIsAuthenticatedOnceAsLongAsItIsTheSame() {
        let pages = AuthenticPages()
        var count = 0
        func contain(_ bytes: [UInt8], _ number: Int, _ isAuthentic: Bool = true) -> Bool {
            bytes.withUnsafeBytes { page in
                pages.contain(page, number: number) { _ in
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
        #expect(contain(one, 1 << 40) && contain(one, 1 << 40) && count == 6)
    }
}
