import Foundation
import GRDB
import MigrationKitKeys
import MigrationKitSQLCipher
import TestSupport
import Testing

/// Files with other settings than SQLCipher 4's, in our code and in the `sqlcipher` shell.
@Suite struct CipherSettingsTests {
    private let folder: TemporaryFolder

    init() throws {
        folder = try TemporaryFolder()
    }

    static let each: [CipherSettings] = {
        do {
            return try CipherSettings.versions + [
                CipherSettings(pageSize: 1024, kdfIterations: 1000, hmacAlgorithm: .off),
                CipherSettings(pageSize: 65536, kdfIterations: 1),
                CipherSettings(kdfIterations: 1000, kdfAlgorithm: .sha256, hmacAlgorithm: .sha1),
                CipherSettings(compatibility: 3, pageSize: 8192, kdfAlgorithm: .sha512),
                CipherSettings(compatibility: 2, kdfIterations: 5000, hmacAlgorithm: .sha256),
                CipherSettings(compatibility: 1, pageSize: 2048, hmacAlgorithm: .sha512),
                CipherSettings(plaintextHeaderSize: 32, salt: randomSalt()),
                CipherSettings(
                    pageSize: 1024,
                    kdfIterations: 1000,
                    hmacAlgorithm: .sha1,
                    plaintextHeaderSize: 16,
                    salt: randomSalt()
                ),
                CipherSettings(compatibility: 3, plaintextHeaderSize: 96, salt: randomSalt()),
                CipherSettings(hmacAlgorithm: .off, plaintextHeaderSize: 48, salt: randomSalt()),
            ]
        } catch {
            Issue.record(error)
            return []
        }
    }()

    static func randomSalt() -> [UInt8] {
        (0..<16).map { _ in UInt8.random(in: .min ... .max) }
    }

    @Test(arguments: each, try TestKey.each())
    func weReadAndWriteWhatTheShellMade(cipher: CipherSettings, key: TestKey) throws {
        _ = try SQLCipherShell.run(
            folder.database,
            key: key.spelling,
            cipher.pragmas + "CREATE TABLE t(a); INSERT INTO t VALUES ('zettel');"
                + Fixtures.fill(pages: 20)
        )
        let options = EncryptedDatabase.Options(cipher: cipher)
        let queue = try EncryptedDatabase.open(folder.database, key: key.key, options: options)
        #expect(try queue.read { try String.fetchOne($0, sql: "SELECT a FROM t") } == "zettel")
        #expect(
            try queue.read { try Int.fetchOne($0, sql: "PRAGMA page_size") } == cipher.pageSize
        )
        try queue.write { try $0.execute(sql: "UPDATE t SET a = 'ours'") }
        try queue.close()
        #expect(try shellReads(cipher, key) == "ours\n20\nok")
    }

    @Test(arguments: each, try TestKey.each())
    func theShellReadsWhatWeMade(cipher: CipherSettings, key: TestKey) throws {
        let queue = try EncryptedDatabase.open(
            folder.database,
            key: key.key,
            options: .init(createsFile: true, cipher: cipher)
        )
        try queue.write { db in
            try db.execute(sql: "CREATE TABLE t(a); INSERT INTO t VALUES ('ours');")
            try db.execute(sql: Fixtures.fill(pages: 20))
        }
        try queue.close()
        #expect(try shellReads(cipher, key) == "ours\n20\nok")
    }

    @Test func aPoolAndAConfigurationOfOnesOwnWorkWithOtherSettings() throws {
        let cipher = try CipherSettings.sqlCipher(3)
        let key = try TestKey.passphrase()
        let options = EncryptedDatabase.Options(createsFile: true, cipher: cipher)
        let pool = try EncryptedDatabase.openPool(folder.database, key: key.key, options: options)
        try pool.write { try $0.execute(sql: "CREATE TABLE t(a); INSERT INTO t VALUES (7)") }
        #expect(try pool.read { try Int.fetchOne($0, sql: "SELECT a FROM t") } == 7)
        try pool.close()

        let configuration = EncryptedDatabase.configuration(key: key.key, options: options)
        let queue = try DatabaseQueue(path: folder.database, configuration: configuration)
        #expect(try queue.read { try Int.fetchOne($0, sql: "SELECT a FROM t") } == 7)
        try queue.close()
    }

    @Test(arguments: CipherSettings.versions, CipherSettings.versions)
    func otherSettingsThanThoseAskedForAreTold(
        made: CipherSettings,
        asked: CipherSettings
    ) throws {
        let key = try TestKey.passphrase()
        _ = try SQLCipherShell.run(
            folder.database,
            key: key.spelling,
            compatibility: made.compatibility,
            "CREATE TABLE t(a);"
        )
        let options = EncryptedDatabase.Options(cipher: asked)
        guard made != asked else {
            try EncryptedDatabase.open(folder.database, key: key.key, options: options).close()
            return
        }
        let before = try folder.snapshot()
        #expect(
            throws: EncryptedDatabaseError.olderFormat(
                path: folder.database,
                cipherCompatibility: made.compatibility
            )
        ) {
            try EncryptedDatabase.open(folder.database, key: key.key, options: options)
        }
        #expect(try folder.snapshot() == before)
    }

    /// In one of 256 the wrong key gives nonsense in which SQLite finds the mark of a log.
    @Test func wrongKeysLeaveNothingWhereNothingIsAuthenticated() throws {
        let cipher = try CipherSettings(compatibility: 4, hmacAlgorithm: .off)
        let options = EncryptedDatabase.Options(createsFile: true, cipher: cipher)
        let key = try TestKey.raw()
        let queue = try EncryptedDatabase.open(folder.database, key: key.key, options: options)
        try queue.writeWithoutTransaction { try $0.execute(sql: "CREATE TABLE t(a)") }
        try queue.close()
        let before = try folder.snapshot()
        for _ in 0..<400 {
            let other = try TestKey.raw()
            #expect(throws: EncryptedDatabaseError.wrongKey(path: folder.database)) {
                try EncryptedDatabase.open(folder.database, key: other.key, options: options)
            }
        }
        #expect(try folder.snapshot() == before)
    }

    @Test(arguments: each.filter { $0.hmacAlgorithm != .off })
    func aDamagedPageIsToldWithItsNumber(cipher: CipherSettings) throws {
        let key = try TestKey.passphrase()
        let queue = try EncryptedDatabase.open(
            folder.database,
            key: key.key,
            options: .init(createsFile: true, cipher: cipher)
        )
        try queue.write { try $0.execute(sql: Fixtures.fill(pages: 100)) }
        try queue.close()
        try folder.damage(at: 100)
        #expect(throws: EncryptedDatabaseError.damaged(path: folder.database, pages: [1])) {
            try EncryptedDatabase.open(
                folder.database,
                key: key.key,
                options: .init(cipher: cipher)
            )
        }
    }

    @Test func valuesOutOfRangeAreRefused() throws {
        #expect(throws: CipherSettingsError.compatibility(0)) { try CipherSettings.sqlCipher(0) }
        #expect(throws: CipherSettingsError.compatibility(5)) {
            try CipherSettings(compatibility: 5)
        }
        for size in [-1, 0, 512, 1000, 131_072] {
            #expect(throws: CipherSettingsError.pageSize(size)) {
                try CipherSettings(pageSize: size)
            }
        }
        for count in [-1, 0, 2_147_483_648] {
            #expect(throws: CipherSettingsError.kdfIterations(count)) {
                try CipherSettings(kdfIterations: count)
            }
        }
        for size in [-16, 8, 33, 112, 4096] {
            #expect(throws: CipherSettingsError.plaintextHeaderSize(size)) {
                try CipherSettings(plaintextHeaderSize: size)
            }
        }
        // Without HMACs, too little of the header would be left to prove a key.
        #expect(throws: CipherSettingsError.plaintextHeaderSize(64)) {
            try CipherSettings(hmacAlgorithm: .off, plaintextHeaderSize: 64)
        }
        #expect(throws: CipherSettingsError.saltSize(15)) {
            try CipherSettings(salt: Array(Self.randomSalt().dropLast()))
        }
        #expect(throws: CipherSettingsError.saltWithoutPlaintextHeader) {
            try CipherSettings(plaintextHeaderSize: 0, salt: Self.randomSalt())
        }
        #expect(throws: CipherSettingsError.pageSize(512)) {
            try CipherSettings.current.with(pageSize: 512)
        }
    }

    @Test func settingsAreEqualByTheirValues() throws {
        #expect(try CipherSettings(pageSize: 4096) == .current)
        #expect(try CipherSettings(pageSize: 8192) != .current)
        #expect(try CipherSettings.sqlCipher(4) == .current)
        #expect(try !CipherSettings(pageSize: 8192).isVersion)
        let salt = Self.randomSalt()
        #expect(
            try CipherSettings(salt: salt) == CipherSettings(plaintextHeaderSize: 32, salt: salt)
        )
        #expect(try CipherSettings(salt: salt) != CipherSettings(salt: Self.randomSalt()))
        #expect(
            CipherSettings.current.description
                == "4096-byte pages, PBKDF2-HMAC-SHA512 256000 times, HMAC-SHA512"
        )
    }

    private func shellReads(_ cipher: CipherSettings, _ key: TestKey) throws -> String {
        try SQLCipherShell.run(
            folder.database,
            key: key.spelling,
            cipher.pragmas + "SELECT a FROM t; SELECT count(*) FROM filler; PRAGMA quick_check;"
        )
    }
}
