import CSQLCipher
@testable import MigrationKitPages
import Foundation
import GRDB
import MigrationKitKeys
import TestSupport
import Testing

@testable import MigrationKitSQLCipher

/// SQLCipher reads what was encrypted behind SQLite's back.
@Suite struct EncryptingFileTests {
    private let folder: TemporaryFolder

    init() throws {
        folder = try TemporaryFolder()
    }

    /// Rows in no order, so that pages of the index that have left the small cache are wanted again;
    /// pages that fall free; and values of several pages.
    private static func rows(_ schema: String) -> String {
        """
        CREATE TABLE \(schema).t(a INTEGER PRIMARY KEY, b TEXT UNIQUE, c);
        WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n LIMIT 2500)
        INSERT INTO \(schema).t
        SELECT x * 7919 % 10007, hex(x * 104729 % 1000003), printf('%.*c', x % 400, 'Z') FROM n;
        INSERT INTO \(schema).t SELECT 20000 + a, 'long ' || a, hex(zeroblob(90000))
        FROM \(schema).t LIMIT 5;
        DELETE FROM \(schema).t WHERE a % 3 = 0;
        CREATE INDEX \(schema).t_c ON t(c, b);
        UPDATE \(schema).t SET c = c || 'Zettel' WHERE a % 5 = 0;
        """
    }

    private static let questions = """
        SELECT count(*), sum(a), sum(length(b)), sum(length(c)) FROM t;
        SELECT b FROM t WHERE c LIKE '%Zettel' ORDER BY c, b LIMIT 3;
        PRAGMA integrity_check;
        """

    private func write(
        _ key: TestKey,
        _ cipher: CipherSettings,
        autoVacuum: Int,
        _ sql: String
    ) throws {
        let queue = try DatabaseQueue()
        try queue.inDatabase { db in
            try db.execute(
                sql: "ATTACH DATABASE ? AS copy KEY ''",
                arguments: [folder.database]
            )
            let salt = try cipher.newSalt(for: key.key)
            defer { if db.isInsideTransaction { try? db.execute(sql: "ROLLBACK") } }
            try EncryptingFile.encrypting(
                "copy",
                of: db.sqliteConnection,
                key: key.key.derived(salt: salt, cipher: cipher),
                salt: salt,
                cipher: cipher
            ) {
                try db.execute(
                    sql: """
                        PRAGMA copy.auto_vacuum = \(autoVacuum); PRAGMA copy.journal_mode = OFF;
                        PRAGMA copy.synchronous = OFF; PRAGMA copy.cache_size = 10;
                        BEGIN; \(sql) COMMIT;
                        """
                )
            }
            try db.execute(sql: "DETACH DATABASE copy")
        }
        try queue.close()
    }

    @Test(arguments: Array(CipherSettingsTests.each.enumerated()))
    func theShellReadsWhatIsWrittenSo(number: Int, cipher: CipherSettings) throws {
        let key = try TestKey.each()[number % 3]
        let plain = try SQLiteShell.run(":memory:", Self.rows("main") + Self.questions)
        for autoVacuum in 0...1 {
            try write(key, cipher, autoVacuum: autoVacuum, Self.rows("copy"))
            #expect(try folder.names == [TemporaryFolder.databaseName])
            let found = try SQLCipherShell.run(
                folder.database,
                key: key.spelling,
                cipher.pragmas + Self.questions
            )
            #expect(found + "\n" == plain)
            if cipher.hmacAlgorithm != .off {
                let check = "PRAGMA cipher_integrity_check;"
                #expect(
                    try SQLCipherShell.run(
                        folder.database,
                        key: key.spelling,
                        cipher.pragmas + check
                    ) == ""
                )
            }
            let data = try folder.data(TemporaryFolder.databaseName)
            for text in ["CREATE TABLE", "Zettel", "ZZZZZZZZ"] {
                #expect(data.range(of: Data(text.utf8)) == nil)
            }
            let mark = data.range(of: Data("SQLite format".utf8))
            #expect((mark != nil) == (cipher.plaintextHeaderSize > 0))
            try FileManager.default.removeItem(atPath: folder.database)
        }
    }

    @Test func everyPageHasAnInitializationVectorOfItsOwn() throws {
        let key = try TestKey.raw()
        try write(key, .current, autoVacuum: 0, Self.rows("copy"))
        let data = try folder.data(TemporaryFolder.databaseName)
        let size = CipherSettings.current.pageSize
        let ends = stride(from: 0, to: data.count, by: size).map { start in
            data[(start + size - CipherSettings.current.reservedCount)...].prefix(16)
        }
        #expect(ends.count > 100 && Set(ends).count == ends.count)
    }

    @Test func whatTheBodyThrowsEndsIt() throws {
        let key = try TestKey.raw()
        #expect(throws: DatabaseError.self) {
            try write(key, .current, autoVacuum: 0, Self.rows("copy") + "SELECT nothing;")
        }
    }
}
