import Foundation
import GRDB
import MigrationKitKeys
import MigrationKitRescue
import MigrationKitSQLCipher
import TestSupport
import Testing

@Suite struct InspectionTests {
    private let folder: TemporaryFolder

    init() throws {
        folder = try TemporaryFolder()
    }

    // MARK: - Sound files

    @Test(arguments: CipherSettingsTests.each, try TestKey.each())
    func theSettingsThatOpenAFileAreFound(cipher: CipherSettings, key: TestKey) throws {
        _ = try SQLCipherShell.run(
            folder.database,
            key: key.spelling,
            cipher.pragmas + """
                PRAGMA auto_vacuum = 2; PRAGMA user_version = 7; PRAGMA application_id = -3;
                CREATE TABLE t(a); CREATE TABLE grdb_migrations(identifier TEXT PRIMARY KEY);
                INSERT INTO grdb_migrations VALUES ('0001'), ('0002');
                INSERT INTO t VALUES (1), (2), (3);
                """ + Fixtures.fill(pages: 20) + "DELETE FROM filler;"
        )
        let report = try inspectUnchanged(key: key.key, cipher: cipher, countsRows: true)
        guard case .opens(let found) = report.key else {
            Issue.record("\(report)")
            return
        }
        #expect(found.pageSize == cipher.pageSize)
        #expect(found.hmacAlgorithm == cipher.hmacAlgorithm)
        #expect(found == cipher)
        #expect(report.kind == .encrypted)
        #expect(report.damage == nil)
        #expect(report.pageSize == cipher.pageSize)
        #expect(report.possiblePageSizes == [])
        #expect(report.hasPlaintextHeader == (cipher.plaintextHeaderSize > 0))
        #expect(
            try report.salt == cipher.salt(ofFile: folder.databaseData().prefix(16), key: key.key)
        )
        let content = try #require(report.content)
        #expect(content.pageCount == report.size / cipher.pageSize)
        let free = try SQLCipherShell.run(
            folder.database,
            key: key.spelling,
            cipher.pragmas + "PRAGMA freelist_count;"
        )
        #expect("\(content.freePageCount)" == free)
        #expect(content.freePageCount > 0 || cipher.pageSize == 65536)
        #expect(content.userVersion == 7)
        #expect(content.applicationID == -3)
        #expect(content.journalMode == .rollback)
        #expect(content.autoVacuum == .incremental)
        #expect(content.encoding == "UTF-8")
        #expect(content.ledger?.appliedCount == 2)
        #expect(content.ledger?.latest == "0002")
        #expect(content.tables?.map(\.name) == ["filler", "grdb_migrations", "t"])
        #expect(content.tables?.map(\.rowCount) == [0, 2, 3])
    }

    @Test(arguments: [3, 2, 1])
    func anOlderVersionIsFoundUnasked(version: Int) throws {
        let key = try TestKey.passphrase()
        _ = try SQLCipherShell.run(
            folder.database,
            key: key.spelling,
            compatibility: version,
            "CREATE TABLE t(a);"
        )
        #expect(
            try inspectUnchanged(key: key.key).key == .opens(.sqlCipher(version))
        )
        #expect(try inspectUnchanged(key: TestKey.passphrase().key).key == .wrong)
        #expect(try inspectUnchanged(key: TestKey.raw().key).key == .wrong)
    }

    @Test func withoutAKeyOnlyTheOutsideIsTold() throws {
        try Fixtures.encrypted(folder.database, key: .raw())
        chmod(folder.database, 0o640)
        let report = try inspectUnchanged(key: nil)
        #expect(report.kind == .encrypted)
        #expect(report.key == .notGiven)
        #expect(report.content == nil)
        #expect(report.pageSize == nil)
        #expect(report.possiblePageSizes == [1024, 2048, 4096, 8192])
        #expect(report.size == 8192)
        #expect(report.mode == 0o640)
        #expect(report.ownerID == geteuid())
        #expect(report.saltText?.count == 32)
        #expect(report.linkTarget == nil)
    }

    @Test func plaintextNeedsNoKey() throws {
        let queue = try EncryptedDatabase.openPlaintext(
            folder.database,
            options: .init(createsFile: true)
        )
        try queue.writeWithoutTransaction { db in
            try db.execute(sql: "PRAGMA encoding = 'UTF-16le'; CREATE TABLE \"a\"\"b\"(a)")
        }
        try queue.close()
        for key in [nil, try TestKey.raw().key] {
            let report = try inspectUnchanged(key: key, countsRows: true)
            #expect(report.kind == .plaintext)
            #expect(report.key == (key == nil ? .notGiven : .unneeded))
            #expect(report.salt == nil)
            #expect(report.content?.encoding == "UTF-16le")
            #expect(report.content?.tables?.map(\.name) == ["a\"b"])
            #expect(report.content?.tables?.map(\.rowCount) == [0])
        }
    }

    @Test func emptyFilesGarbageFoldersAndNothingAreTold() async throws {
        try folder.write("notes.db", Data())
        #expect(try inspectUnchanged(key: nil).kind == .empty)
        #expect(try inspectUnchanged(key: TestKey.raw().key).key == .unneeded)
        for count in [1, 15, 16, 5000] {
            try folder.write("notes.db", Self.noise(count))
            #expect(try inspectUnchanged(key: nil).kind == .notADatabase)
            let report = try inspectUnchanged(key: TestKey.raw().key)
            #expect(report.kind == .notADatabase)
            #expect(report.key == .wrong)
        }
        try folder.write("notes.db", Self.noise(4096))
        #expect(try inspectUnchanged(key: TestKey.passphrase().key).key == .wrong)
        try folder.write("notes.db", Data(DatabaseMagic.bytes) + Data(repeating: 7, count: 4080))
        #expect(try inspectUnchanged(key: nil).damage?.pages == [1])
        #expect(try !inspectUnchanged(key: nil).hasPlaintextHeader)
        // A plaintext header of only the mark looks like this.
        try folder.write("notes.db", Data(DatabaseMagic.bytes) + Self.noise(4080))
        #expect(try inspectUnchanged(key: nil).hasPlaintextHeader)
        await #expect(throws: EncryptedDatabaseError.isDirectory(path: folder.path)) {
            try await asyncRun { [folder] in try EncryptedDatabase.inspect(folder.path) }
        }
        let none = folder.path("none.db")
        await #expect(throws: EncryptedDatabaseError.noSuchFile(path: none)) {
            try await asyncRun { try EncryptedDatabase.inspect(none) }
        }
    }

    @Test(arguments: ["it's.db", "a b.db", "a\nb.db", "ünï?#%.db"])
    func oddNamesAndLinksWork(name: String) throws {
        let key = try TestKey.raw()
        try Fixtures.encrypted(folder.path(name), key: key)
        symlink(folder.path(name), folder.database)
        let report = try inspectUnchanged(key: key.key)
        #expect(report.key == .opens(.current))
        #expect(report.linkTarget == folder.path(name))
        #expect(try EncryptedDatabase.inspect(folder.path(name)).linkTarget == nil)
    }

    // MARK: - Damage

    @Test(arguments: try TestKey.each(), [4, 3])
    func aFlippedBitIsFound(key: TestKey, version: Int) throws {
        let cipher = try CipherSettings.sqlCipher(version)
        let count = try makeFilled(key: key, cipher: cipher)
        let sound = try folder.databaseData()
        for page in [1, count / 2, count] {
            try flip((page - 1) * cipher.pageSize + 100)
            let report = try inspectUnchanged(key: key.key)
            #expect(report.damage?.pages == [page])
            guard case .opens(let found) = report.key else {
                Issue.record("\(report.key)")
                continue
            }
            #expect(found.pageSize == cipher.pageSize)
            try folder.write("notes.db", sound)
        }
        try flip(5)
        let report = try inspectUnchanged(key: key.key)
        switch (key.key.form, key.fragments[0].count) {
        case (.passphrase, _):
            #expect(report.key == .wrong)
        case (_, 64):
            #expect(report.damage?.isSaltDamaged == true)
            #expect(report.content?.pageCount == count)
        default:
            // The key has a salt of its own, so that the file's is not needed.
            #expect(report.damage == nil)
        }
    }

    @Test func aDamagedPageIsFoundWithoutReadingAllOnlyByChance() throws {
        let key = try TestKey.raw()
        let count = try makeFilled(key: key, cipher: .current)
        try flip((count - 2) * 4096 + 9)
        #expect(try EncryptedDatabase.inspect(folder.database, key: key.key).damage != nil)
        let quick = try EncryptedDatabase.inspect(
            folder.database,
            key: key.key,
            checksPages: false
        )
        #expect(quick.damage == nil)
    }

    @Test(arguments: [4096, 5000, 12288])
    func aTruncatedFileIsReported(cut: Int) throws {
        let key = try TestKey.passphrase()
        _ = try makeFilled(key: key, cipher: .current)
        try folder.write("notes.db", folder.databaseData().dropLast(cut))
        let report = try inspectUnchanged(key: key.key)
        #expect(report.key == .opens(.current))
        #expect(report.kind == .encrypted)
        #expect(report.damage?.missingPageCount == (cut + 4095) / 4096)
    }

    // MARK: - Journals

    @Test(arguments: [true, false])
    func theLogIsReadAndLeftAlone(isEncrypted: Bool) throws {
        let key = try TestKey.raw()
        let name = try makeLogged(key: isEncrypted ? key.key : nil)
        let report = try inspectUnchanged(
            name,
            key: isEncrypted ? key.key : nil,
            countsRows: true
        )
        #expect(report.damage == nil)
        let wal = try #require(report.journals.first)
        #expect(wal.suffix == "-wal")
        let log = try #require(wal.log)
        #expect(log.pageSize == 4096)
        #expect(log.frameCount > 0)
        #expect(log.committedFrameCount == log.frameCount)
        #expect(wal.size == 32 + log.frameCount * 4120)
        #expect(report.content?.journalMode == .wal)
        #expect(report.content?.userVersion == 9)
        #expect(report.content?.tables?.map(\.rowCount) == [2])
        // Without a key the log tells the page size.
        #expect(try EncryptedDatabase.inspect(folder.path(name)).pageSize == 4096)
    }

    @Test func aFlippedBitInTheLogIsFound() throws {
        let key = try TestKey.raw()
        let name = try makeLogged(key: key.key)
        let sound = try folder.data("\(name)-wal")
        let frames = (sound.count - 32) / 4120
        try #require(frames >= 3)
        for (offset, frame) in [(17, 1), (32 + 9, 1), (32 + 4120 + 500, 2)] {
            var data = sound
            data[offset] ^= 1
            try folder.write("\(name)-wal", data)
            let report = try inspectUnchanged(name, key: key.key)
            #expect(report.damage?.logFrame == frame)
        }
    }

    @Test func anOldUseOfTheLogIsNoDamage() throws {
        let key = try TestKey.raw()
        let queue = try EncryptedDatabase.open(
            folder.database,
            key: key.key,
            options: .init(createsFile: true)
        )
        try queue.writeWithoutTransaction { db in
            try db.execute(sql: "PRAGMA journal_mode = WAL; CREATE TABLE t(a);")
            try db.execute(sql: Fixtures.fill(pages: 10))
            try db.execute(sql: "PRAGMA wal_checkpoint; INSERT INTO t VALUES (1)")
        }
        let log = try #require(
            EncryptedDatabase.inspect(folder.database, key: key.key).journals.first?.log
        )
        #expect(log.committedFrameCount == 1)
        #expect(log.damagedFrame == nil)
        // The connection still has its locks, and what it does is seen.
        try queue.write { try $0.execute(sql: "INSERT INTO t VALUES (2)") }
        let report = try EncryptedDatabase.inspect(
            folder.database,
            key: key.key,
            countsRows: true
        )
        #expect(report.content?.tables?.last?.rowCount == 2)
        try queue.close()
    }

    @Test func whatWasRolledBackIsNoDamageOfTheLog() throws {
        let key = try TestKey.raw()
        let queue = try EncryptedDatabase.open(
            folder.database,
            key: key.key,
            options: .init(createsFile: true)
        )
        try queue.writeWithoutTransaction { db in
            try db.execute(sql: "PRAGMA journal_mode = WAL; CREATE TABLE t(a);")
            // Frames that don't fit in memory are written before the transaction is finished.
            try db.execute(sql: "PRAGMA cache_size = 1; BEGIN")
            try db.execute(sql: Fixtures.fill(pages: 200))
            try db.execute(sql: "ROLLBACK; INSERT INTO t VALUES (1)")
        }
        let journal = try #require(
            EncryptedDatabase.inspect(folder.database, key: key.key).journals.first
        )
        let log = try #require(journal.log)
        #expect(journal.size > 32 + 100 * 4120)
        #expect(log.committedFrameCount < 20)
        #expect(log.damagedFrame == nil)
        try queue.close()
    }

    @Test(arguments: [true, false])
    func theLocksOfTheProcessSurviveAnInspection(hasLog: Bool) throws {
        let key = try TestKey.raw()
        let name = hasLog ? try makeLogged(key: key.key) : "plain.db"
        if !hasLog { try Fixtures.encrypted(folder.path(name), key: key) }
        let queue = try EncryptedDatabase.open(folder.path(name), key: key.key)
        try queue.inDatabase { db in
            try db.execute(sql: "BEGIN IMMEDIATE")
            _ = try EncryptedDatabase.inspect(folder.path(name), key: key.key, countsRows: true)
            #expect(throws: ProcessFailure.self) {
                try SQLCipherShell.run(folder.path(name), key: key.spelling, "BEGIN IMMEDIATE;")
            }
            try db.execute(sql: "COMMIT")
        }
        try queue.close()
    }

    // MARK: -

    private enum DatabaseMagic {
        static let bytes = Array("SQLite format 3\0".utf8)
    }

    private static func noise(_ count: Int) -> Data {
        Data((0..<count).map { _ in UInt8.random(in: .min ... .max) })
    }

    private func inspectUnchanged(
        _ name: String = TemporaryFolder.databaseName,
        key: DatabaseKey?,
        cipher: CipherSettings = .current,
        countsRows: Bool = false
    ) throws -> FileReport {
        let before = try folder.snapshot()
        let report = try EncryptedDatabase.inspect(
            folder.path(name),
            key: key,
            cipher: cipher,
            countsRows: countsRows
        )
        #expect(try folder.snapshot() == before)
        return report
    }

    /// - Returns: The number of pages.
    private func makeFilled(key: TestKey, cipher: CipherSettings) throws -> Int {
        let queue = try EncryptedDatabase.open(
            folder.database,
            key: key.key,
            options: .init(createsFile: true, cipher: cipher)
        )
        try queue.write { try $0.execute(sql: Fixtures.fill(pages: 100)) }
        try queue.close()
        return try folder.databaseData().count / cipher.pageSize
    }

    private func flip(_ offset: Int) throws {
        var data = try folder.databaseData()
        data[offset] ^= 1
        try folder.write("notes.db", data)
    }

    /// A database and its log as a killed process leaves them, without the index.
    ///
    /// - Returns: The name of the database.
    private func makeLogged(key: DatabaseKey?) throws -> String {
        let options = EncryptedDatabase.Options(createsFile: true)
        let queue =
            try key.map {
                try EncryptedDatabase.open(folder.database, key: $0, options: options)
            } ?? EncryptedDatabase.openPlaintext(folder.database, options: options)
        try queue.writeWithoutTransaction { db in
            try db.execute(
                sql: """
                    PRAGMA journal_mode = WAL; CREATE TABLE t(a); PRAGMA wal_checkpoint(TRUNCATE);
                    INSERT INTO t VALUES (1); INSERT INTO t VALUES (2); PRAGMA user_version = 9;
                    """
            )
        }
        try folder.write("copy.db", folder.databaseData())
        try folder.write("copy.db-wal", folder.data("notes.db-wal"))
        try queue.close()
        return "copy.db"
    }
}
