import Foundation
import GRDB
import MigrationKitKeys
import MigrationKitPages
import MigrationKitRescue
import MigrationKitSQLCipher
import TestSupport
import Testing

/// Files as apps for Apple's systems make them: the header is in plaintext, and the salt elsewhere.
/// What is common to all settings is in ``CipherSettingsTests``.
@Suite struct PlaintextHeaderTests {
    private let folder: TemporaryFolder
    private let cipher: CipherSettings
    private var path: String { folder.database }

    init() throws {
        folder = try TemporaryFolder()
        cipher = try CipherSettings(salt: CipherSettingsTests.randomSalt())
    }

    /// - Parameter cipher: `nil` for the suite's own.
    private func make(
        key: TestKey,
        _ cipher: CipherSettings? = nil,
        _ sql: String = ""
    ) throws {
        _ = try SQLCipherShell.run(
            path,
            key: key.spelling,
            (cipher ?? self.cipher).pragmas
                + "CREATE TABLE t (a); INSERT INTO t VALUES ('zettel');\n"
                + Fixtures.fill(pages: 20) + sql
        )
    }

    private func open(_ key: TestKey, _ cipher: CipherSettings) throws {
        let options = EncryptedDatabase.Options(cipher: cipher)
        try EncryptedDatabase.open(path, key: key.key, options: options).close()
    }

    /// Every file. (The folder itself shows that a lock or a new file was there.)
    private func entries() throws -> [String: FolderSnapshot.Entry] {
        try folder.snapshot().entries.filter { $0.key != "." }
    }

    private func shellReads(
        _ path: String,
        _ key: TestKey,
        _ cipher: CipherSettings
    ) throws -> String {
        try SQLCipherShell.run(
            path,
            key: key.spelling,
            cipher.pragmas
                + "SELECT a FROM t; SELECT count(*) FROM filler; PRAGMA cipher_integrity_check;"
                + "PRAGMA integrity_check;"
        )
    }

    // MARK: - Telling Apart

    /// The first encrypted byte after a header of 96 bytes may be any: that of a table's page, too.
    @Test(arguments: [5, 13] as [UInt8])
    func pageThatBeginsLikeATablesIsNotTakenForPlaintext(byte: UInt8) throws {
        let cipher = try CipherSettings(plaintextHeaderSize: 96, salt: cipher.salt)
        let key = try TestKey.raw()
        try make(key: key, cipher)
        let options = EncryptedDatabase.Options(cipher: cipher)
        let queue = try EncryptedDatabase.open(path, key: key.key, options: options)
        // Each commit encrypts the first page with another vector.
        var number = 0
        while try Data(contentsOf: URL(filePath: path))[100] != byte {
            try #require(number < 20_000)
            number += 1
            try queue.write { try $0.execute(sql: "PRAGMA user_version = \(number)") }
        }
        try queue.close()
        try open(key, cipher)
        #expect(
            try EncryptedDatabase.inspect(path, key: key.key, cipher: cipher).kind == .encrypted
        )
    }

    @Test(arguments: [16, 32, 48, 64, 80, 96], [1024, 4096, 65536])
    func headerIsToldFromDamageAndPlaintext(size: Int, pageSize: Int) throws {
        let salt = CipherSettingsTests.randomSalt()
        let cipher = try CipherSettings(
            pageSize: pageSize,
            plaintextHeaderSize: size,
            salt: salt
        )
        let key = try TestKey.raw()
        try make(key: key, cipher)
        let before = try entries()
        let needed = EncryptedDatabaseError.plaintextHeader(path: path, size: nil)
        #expect(throws: needed) { try open(key, .current) }
        #expect(throws: needed) { try EncryptedDatabase.openPlaintext(path) }
        #expect(throws: needed) { try DatabaseConversion.encrypt(path, key: key.key).run() }
        let report = try EncryptedDatabase.inspect(path)
        #expect(report.kind == .encrypted)
        #expect(report.hasPlaintextHeader)
        #expect(report.damage == nil)
        #expect(report.salt == nil)
        #expect(report.pageSize == (size == 16 ? nil : pageSize))
        #expect(try EncryptedDatabase.inspect(path, key: key.key).key == .saltNeeded)
        #expect(try entries() == before)
    }

    /// Even if SQLCipher has left the bytes at the end of each page unused, as in what it decrypts.
    @Test(arguments: [0, 80], [512, 1024, 4096])
    func plaintextIsNotTakenForAPlaintextHeader(reserved: Int, pageSize: Int) throws {
        for number in 0..<30 {
            let path = folder.path("\(number).db")
            let tables = (0..<number).map {
                "CREATE TABLE \"\(UUID().uuidString) \($0)\" (\"\(UUID().uuidString)\");"
            }
            _ = try SQLiteShell.run(
                path,
                ".filectrl reserve_bytes \(reserved)\nPRAGMA page_size = \(pageSize);\n"
                    + "VACUUM; CREATE TABLE t (a);" + tables.joined()
                    + "WITH RECURSIVE c(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM c WHERE i < 50)"
                    + " INSERT INTO t SELECT randomblob(900) FROM c;"
            )
            try #require(folder.data("\(number).db")[20] == reserved)
            try EncryptedDatabase.openPlaintext(path).close()
            let key = try TestKey.raw()
            #expect(throws: EncryptedDatabaseError.plaintext(path: path)) {
                try EncryptedDatabase.open(path, key: key.key, options: .init(cipher: cipher))
            }
            #expect(throws: EncryptedDatabaseError.plaintext(path: path)) {
                try EncryptedDatabase.open(path, key: key.key)
            }
            #expect(try EncryptedDatabase.inspect(path, key: key.key).kind == .plaintext)
        }
    }

    @Test func fileWithoutHeaderIsTold() throws {
        let key = try TestKey.passphrase()
        try Fixtures.encrypted(path, key: key)
        #expect(throws: EncryptedDatabaseError.plaintextHeader(path: path, size: 0)) {
            try open(key, cipher)
        }
        #expect(
            try EncryptedDatabase.inspect(path, key: key.key, cipher: cipher).key
                == .opens(.current)
        )
    }

    // MARK: - Wrong Settings

    @Test(arguments: try TestKey.each())
    func wrongSaltAndMissingSaltAreTold(key: TestKey) throws {
        try make(key: key)
        let before = try entries()
        let other = try CipherSettings(salt: CipherSettingsTests.randomSalt())
        let none = try CipherSettings(plaintextHeaderSize: 32)
        if key.testDescription == "raw key of 48 bytes" {
            // The key contains the salt, which comes first, as in SQLCipher.
            try open(key, other)
            try open(key, none)
        } else {
            #expect(throws: EncryptedDatabaseError.wrongKeyOrSalt(path: path)) {
                try open(key, other)
            }
            #expect(throws: CipherSettingsError.noSalt) { try open(key, none) }
            #expect(try EncryptedDatabase.inspect(path, key: key.key, cipher: other).key == .wrong)
        }
        #expect(throws: EncryptedDatabaseError.wrongKeyOrSalt(path: path)) {
            try open(TestKey.raw(), cipher)
        }
        #expect(throws: EncryptedDatabaseError.wrongKeyOrSalt(path: path)) {
            try open(TestKey.passphrase(), cipher)
        }
        #expect(try entries() == before)
    }

    @Test func rawKeyAsPassphraseIsTold() throws {
        let digits = CipherSettingsTests.randomSalt() + CipherSettingsTests.randomSalt()
        let text = digits.hexadecimalDigits
        let raw = try DatabaseKey.rawKey(hexadecimal: Secret(utf8: text))
        let options = EncryptedDatabase.Options(createsFile: true, cipher: cipher)
        try EncryptedDatabase.open(path, key: raw, options: options).close()
        #expect(throws: EncryptedDatabaseError.rawKeyAsPassphrase(path: path)) {
            let passphrase = try DatabaseKey.passphrase(Secret(utf8: text))
            try EncryptedDatabase.open(path, key: passphrase, options: options).close()
        }
    }

    @Test(arguments: [16, 48, 64, 80, 96])
    func headerOfAnotherSizeIsToldWithItsSize(size: Int) throws {
        let key = try TestKey.passphrase()
        try make(key: key)
        let before = try entries()
        let other = cipher.with(plaintextHeaderSize: size, salt: cipher.salt)
        #expect(throws: EncryptedDatabaseError.plaintextHeader(path: path, size: 32)) {
            try open(key, other)
        }
        #expect(throws: EncryptedDatabaseError.plaintextHeader(path: path, size: 32)) {
            try DatabaseConversion.rekey(path, from: key.key, to: key.key, cipher: other).run()
        }
        let report = try EncryptedDatabase.inspect(path, key: key.key, cipher: other)
        #expect(report.key == .opens(cipher))
        #expect(report.damage == nil)
        #expect(try entries() == before)
    }

    /// SQLite would take the wrong page size from a header that nothing authenticates.
    @Test(arguments: [16, 20])
    func changedHeaderIsNotUsed(offset: Int) throws {
        let key = try TestKey.raw()
        try make(key: key)
        var data = try folder.databaseData()
        data[offset] = offset == 16 ? 0x20 : 16
        try folder.write("notes.db", data)
        #expect(throws: EncryptedDatabaseError.damaged(path: path, pages: [1])) {
            try open(key, cipher)
        }
        #expect(try folder.databaseData() == data)
    }

    @Test func damagedPagesAreFound() throws {
        let key = try TestKey.raw()
        try make(key: key)
        try folder.damage(at: 3 * 4096 + 50)
        let report = try EncryptedDatabase.inspect(path, key: key.key, cipher: cipher)
        #expect(report.damage?.pages == [4])
        #expect(report.key == .opens(cipher))
        try folder.damage(at: 200)
        #expect(throws: EncryptedDatabaseError.damaged(path: path, pages: [1, 4])) {
            try open(key, cipher)
        }
    }

    // MARK: - Rewriting

    @Test(arguments: try TestKey.each())
    func conversionsKeepOrChangeTheHeader(key: TestKey) throws {
        try make(key: key, nil, "PRAGMA journal_mode = WAL;")
        let answer = "zettel\n20\nok"
        let new = try TestKey.passphrase()
        try DatabaseConversion.rekey(path, from: key.key, to: new.key, cipher: cipher).run()
        #expect(try shellReads(path, new, cipher) == answer)

        let (copy, restored) = (folder.path("copy.db"), folder.path("restored.db"))
        let form = DatabaseForm.encrypted(new.key, cipher: cipher)
        try DatabaseBackup(path, to: copy, form: form).run()
        #expect(try shellReads(copy, new, cipher) == answer)
        try DatabaseRestore(restored, from: copy, form: form).run()
        #expect(try shellReads(restored, new, cipher) == answer)

        // Of the same page form, so that pages are copied, and of another one.
        for pageSize in [4096, 8192] {
            let plain = try CipherSettings(pageSize: pageSize)
            try DatabaseConversion.rekey(
                path,
                from: new.key,
                to: key.key,
                cipher: cipher,
                newCipher: plain
            ).run()
            #expect(try folder.databaseData().prefix(6) != Data("SQLite".utf8))
            #expect(try shellReads(path, key, plain) == answer)
            try DatabaseConversion.rekey(
                path,
                from: key.key,
                to: new.key,
                cipher: plain,
                newCipher: cipher
            ).run()
            #expect(try shellReads(path, new, cipher) == answer)
        }

        try DatabaseConversion.decrypt(path, key: new.key, cipher: cipher).run()
        #expect(try SQLiteShell.run(path, "SELECT a FROM t;") == "zettel\n")
        try DatabaseConversion.encrypt(path, key: key.key, cipher: cipher).run()
        #expect(try shellReads(path, key, cipher) == answer)
        #expect(try folder.databaseData().prefix(16) == Data("SQLite format 3\0".utf8))
    }

    @Test func upgradeKeepsTheHeader() throws {
        let key = try TestKey.passphrase()
        let old = try CipherSettings(compatibility: 3, salt: cipher.salt)
        try make(key: key, old)
        #expect(throws: EncryptedDatabaseError.olderFormat(path: path, cipherCompatibility: 3)) {
            try open(key, cipher)
        }
        try DatabaseConversion.upgrade(path, key: key.key, cipher: cipher, newCipher: cipher).run()
        #expect(try shellReads(path, key, cipher) == "zettel\n20\nok")
    }

    /// Otherwise nobody could open it.
    @Test func nothingIsWrittenWithoutItsSalt() throws {
        let key = try TestKey.raw()
        let none = try CipherSettings(plaintextHeaderSize: 32)
        #expect(throws: CipherSettingsError.noSalt) {
            let options = EncryptedDatabase.Options(createsFile: true, cipher: none)
            try EncryptedDatabase.open(path, key: key.key, options: options).close()
        }
        #expect(try folder.names == [])
        try Fixtures.plaintext(path)
        let before = try entries()
        #expect(throws: CipherSettingsError.noSalt) {
            try DatabaseConversion.encrypt(path, key: key.key, cipher: none).run()
        }
        #expect(try entries() == before)
    }

    @Test func rotationKeepsTheSalt() throws {
        let key = try TestKey.raw(count: 48)
        let salt = Array(key.key.salt ?? [])
        let cipher = try CipherSettings(salt: salt)
        try make(key: key, cipher)
        let keys = InMemoryKeyStore()
        try keys.store(key.key, service: "notes", account: "main", label: nil, replacing: false)
        func rotation(_ cipher: CipherSettings) -> KeyRotation {
            KeyRotation(path, keyStore: keys, service: "notes", account: "main", cipher: cipher)
        }
        let before = try entries()
        // The key contains the salt, but the next one won't.
        #expect(throws: CipherSettingsError.noSalt) {
            try rotation(CipherSettings(plaintextHeaderSize: 32)).run()
        }
        #expect(try entries() == before)
        #expect(try keys.items(service: nil, account: nil).count == 1)

        try rotation(cipher).run()
        let new = try keys.entry(service: "notes", account: "main").key(assuming: .rawKey)
        #expect(new != key.key)
        #expect(throws: EncryptedDatabaseError.wrongKeyOrSalt(path: path)) {
            try open(.raw(), cipher)
        }
        let options = EncryptedDatabase.Options(cipher: cipher)
        try EncryptedDatabase.open(path, key: new, options: options).close()
    }

    @Test func damagedDatabaseIsSalvaged() throws {
        let key = try TestKey.passphrase()
        try make(key: key)
        try folder.damage(at: 5 * 4096 + 50)
        let output = folder.path("salvaged.db")
        let form = DatabaseForm.encrypted(key.key, cipher: cipher)
        let report = try DatabaseSalvage(path, to: output, form: form).run()
        #expect(report.damagedPages.map(\.number) == [6])
        let rows = try SQLCipherShell.run(
            output,
            key: key.spelling,
            cipher.pragmas + "SELECT a FROM t; PRAGMA cipher_integrity_check;"
        )
        #expect(rows == "zettel")
        let none = DatabaseForm.encrypted(key.key)
        #expect(throws: EncryptedDatabaseError.plaintextHeader(path: path, size: nil)) {
            try DatabaseSalvage(path, to: folder.path("other.db"), form: none).run()
        }
        #expect(throws: EncryptedDatabaseError.plaintextHeader(path: path, size: nil)) {
            try DatabaseSalvage(path, to: folder.path("other.db"), form: .plaintext()).run()
        }
    }

    // MARK: - Journals

    /// As a process leaves it that was killed.
    @Test(arguments: ["wal", "journal"])
    func unfinishedWorkIsTakenUp(_ suffix: String) throws {
        let key = try TestKey.raw()
        let start = folder.path("start.db")
        let change =
            suffix == "wal"
            ? "PRAGMA journal_mode = WAL; PRAGMA wal_autocheckpoint = 0; UPDATE t SET a = 'new';"
            : "PRAGMA cache_size = 1; BEGIN; UPDATE t SET a = 'new'; CREATE TABLE u (a);"
                + " UPDATE filler SET a = randomblob(3500);"
        _ = try SQLCipherShell.run(
            start,
            key: key.spelling,
            cipher.pragmas + "CREATE TABLE t (a); INSERT INTO t VALUES ('zettel');\n"
                + Fixtures.fill(pages: 20) + "\n\(change)\n"
                + ".shell cp \(start) \(path); cp \(start)-\(suffix) \(path)-\(suffix)\n"
        )
        let before = try entries()
        #expect(throws: EncryptedDatabaseError.wrongKeyOrSalt(path: path)) {
            try open(TestKey.raw(), cipher)
        }
        let report = try EncryptedDatabase.inspect(path, key: key.key, cipher: cipher)
        #expect(report.key == .opens(cipher))
        #expect(report.damage == nil)
        #expect(report.hasUnfinishedChange == (suffix == "journal"))
        #expect(try entries() == before)

        if suffix == "wal" {
            // Read with the log, while it is there.
            let copy = folder.path("copy.db")
            try DatabaseBackup(path, to: copy, form: .encrypted(key.key, cipher: cipher)).run()
            #expect(try shellReads(copy, key, cipher) == "new\n20\nok")
        }
        try open(key, cipher)
        #expect(
            try shellReads(path, key, cipher) == (suffix == "wal" ? "new" : "zettel") + "\n20\nok"
        )
    }

    /// A process was killed before the first page was written.
    @Test func newFileIsBegunAnew() throws {
        let key = try TestKey.raw()
        try folder.write("notes.db", Data(count: 4096))
        try folder.write("notes.db-journal", Crash.journalOfNothing)
        let options = EncryptedDatabase.Options(createsFile: true, cipher: cipher)
        let queue = try EncryptedDatabase.open(path, key: key.key, options: options)
        try queue.write { try $0.execute(sql: "CREATE TABLE t (a)") }
        try queue.close()
        #expect(
            try SQLCipherShell.run(
                path,
                key: key.spelling,
                cipher.pragmas + "SELECT count(*) FROM t; PRAGMA quick_check;"
            ) == "0\nok"
        )
    }

    /// The power was cut while the first page was written. The whole one is in the log.
    @Test func tornFirstPageIsTakenFromTheLog() throws {
        let key = try TestKey.raw()
        let start = folder.path("start.db")
        _ = try SQLCipherShell.run(
            start,
            key: key.spelling,
            cipher.pragmas + """
                PRAGMA journal_mode = WAL; CREATE TABLE t (a); INSERT INTO t VALUES ('zettel');
                .shell cp \(start) \(path); cp \(start)-wal \(path)-wal
                """
        )
        var data = try folder.databaseData()
        data.replaceSubrange(0..<4096, with: Data(repeating: 0xff, count: 4096))
        try folder.write("notes.db", data)
        #expect(throws: EncryptedDatabaseError.wrongKeyOrSalt(path: path)) {
            try open(TestKey.raw(), cipher)
        }
        try open(key, cipher)
        #expect(
            try SQLCipherShell.run(path, key: key.spelling, cipher.pragmas + "SELECT a FROM t;")
                == "zettel"
        )
    }

    @Test func poolAndOtherProcessesWriteTheSameFile() throws {
        let key = try TestKey.passphrase()
        try make(key: key)
        let options = EncryptedDatabase.Options(cipher: cipher)
        let pool = try EncryptedDatabase.openPool(path, key: key.key, options: options)
        _ = try SQLCipherShell.run(
            path,
            key: key.spelling,
            cipher.pragmas + "INSERT INTO t VALUES ('theirs');"
        )
        try pool.write { try $0.execute(sql: "INSERT INTO t VALUES ('ours')") }
        #expect(
            try pool.read { try String.fetchAll($0, sql: "SELECT a FROM t") }
                == ["zettel", "theirs", "ours"]
        )
        try pool.close()
        #expect(try shellReads(path, key, cipher) == "zettel\ntheirs\nours\n20\nok")
    }

    // MARK: - The Page Size in a Log

    /// Its size fits several page sizes.
    @Test func inspectionTriesThePageSizeThatALogNames() throws {
        let key = try TestKey.passphrase()
        let cipher = try CipherSettings(pageSize: 1024)
        let start = folder.path("start.db")
        _ = try SQLCipherShell.run(
            start,
            key: key.spelling,
            cipher.pragmas + """
                PRAGMA journal_mode = WAL; CREATE TABLE t (a); INSERT INTO t VALUES ('zettel');
                .shell cp \(start) \(path); cp \(start)-wal \(path)-wal
                """
        )
        let report = try EncryptedDatabase.inspect(path, key: key.key)
        #expect(report.key == .opens(cipher))
        #expect(report.pageSize == 1024)
        #expect(report.damage == nil)
        #expect(try EncryptedDatabase.inspect(path, key: TestKey.passphrase().key).key == .wrong)
    }
}
