import Foundation
import GRDB
import MigrationKitKeys
import MigrationKit
import MigrationKitGRDB
import MigrationKitRescue
import MigrationKitSQLCipher
import TestSupport
import Testing

@Suite struct DatabaseVerificationTests {
    private let folder: TemporaryFolder
    private let key: TestKey

    init() throws {
        folder = try TemporaryFolder()
        key = try .raw()
    }

    // MARK: - Sound databases

    @Test(arguments: RichStore.all, [true, false])
    func aSoundDatabaseHasNoFindings(store: RichStore, isEncrypted: Bool) throws {
        try store.make(folder.database, key: isEncrypted ? key.spelling : nil)
        chmod(folder.database, 0o600)
        let before = try folder.databaseData()
        let checks = try verify(isEncrypted ? nil : .plaintext())
        #expect(checks.filter { !$0.ok } == [])
        #expect(
            checks.map(\.name) == ["file_modes", "write_ahead_log", "open"]
                + (isEncrypted ? ["cipher_integrity_check"] : [])
                + [
                    "quick_check", "foreign_key_check", "full_text", "integrity_check",
                    "row_constraints", "virtual_tables",
                ]
        )
        #expect(try folder.databaseData() == before)
        #expect(try folder.names == ["notes.db"])
    }

    @Test(arguments: [3, 1])
    func otherSettingsAreVerifiedWithThem(version: Int) throws {
        try RichStore.all[0].make(folder.database, key: key.spelling, compatibility: version)
        chmod(folder.database, 0o600)
        let checks = try verify(.encrypted(key.key, cipher: .sqlCipher(version)))
        #expect(checks.filter { !$0.ok } == [])
        let pages = try #require(checks.first { $0.name == "cipher_integrity_check" })
        #expect((pages.note == nil) == (version == 3), "\(pages)")
    }

    @Test func aRunnerBringsItsLedgerAndItsIndexes() throws {
        try Fixtures.encrypted(folder.database, key: key)
        let runner = try GRDBMigrationRunner(steps: [])
        try EncryptedDatabase.open(folder.database, key: key.key).write { db in
            try db.execute(
                sql: """
                    CREATE TABLE grdb_migrations (identifier TEXT NOT NULL PRIMARY KEY);
                    INSERT INTO grdb_migrations VALUES ('9');
                    """
            )
        }
        let checks = try DatabaseVerification(
            folder.database,
            form: .encrypted(key.key),
            runner: runner,
            requiredIndexes: [RequiredIndexSpec(table: "t", index: "none")]
        ).run()
        #expect(
            checks.filter { !$0.ok }.map(\.name) == ["required_index t.none", "ledger"]
        )
    }

    @Test func aHostMayOpenItWithAPassphraseThatSQLCipherDerives() throws {
        let key = try TestKey.passphrase()
        try RichStore.all[0].make(folder.database, key: key.spelling)
        chmod(folder.database, 0o600)
        let configuration = EncryptedDatabase.configuration(key: key.key)
        let checks = try DatabaseVerification(folder.database, form: nil) { [folder] in
            try DatabaseQueue(path: folder.database, configuration: configuration)
        }.run()
        #expect(checks.filter { !$0.ok } == [])
        #expect(checks.contains { $0.name == "cipher_integrity_check" && $0.note == nil })
    }

    /// SQLite reads its schema as text, so it takes a root page of any type.
    @Test(arguments: ["i", "t"])
    func rootPagesOfAnotherTypeAreRead(name: String) throws {
        try DatabaseQueue(path: folder.database).inDatabase { db in
            try db.execute(
                sql: """
                    PRAGMA auto_vacuum = 1;
                    CREATE TABLE t(a);
                    CREATE INDEX i ON t(a);
                    INSERT INTO t VALUES (1), (2);
                    PRAGMA writable_schema = ON;
                    UPDATE sqlite_schema SET rootpage = CAST(printf('%08d', rootpage) AS BLOB)
                    WHERE name = '\(name)'
                    """
            )
        }
        chmod(folder.database, 0o600)
        #expect(try verify(.plaintext()).filter { !$0.ok } == [])
        try DatabaseBackup(folder.database, to: folder.path("backup.db"), form: .plaintext()).run()
        let report = try DatabaseConversion.encrypt(folder.database, key: key.key).run()
        #expect(report.rowCount == 2)
        #expect(try verify().filter { !$0.ok } == [])
    }

    // MARK: - Damage

    @Test func aFlippedBitInAnyPageIsFound() throws {
        let count = try makeFilled()
        let sound = try folder.databaseData()
        for page in [1, count / 2, count] {
            try flip("notes.db", (page - 1) * 4096 + 100)
            let checks = try verify()
            let failed = checks.filter { !$0.ok }
            #expect(
                failed.first?.name == (page == 1 ? "open" : "cipher_integrity_check"),
                "\(failed)"
            )
            #expect(failed.first?.findings.map(\.page) == [page])
            try folder.write("notes.db", sound)
        }
    }

    @Test func aFlippedBitInTheSaltIsTold() throws {
        _ = try makeFilled()
        try flip("notes.db", 5)
        let checks = try verify()
        #expect(checks.last?.name == "open")
        #expect(checks.last?.findings.first?.text.contains("the salt") == true)
        #expect(checks.last?.findings.first?.text.contains("the key is right") == true)

        // Under a passphrase it is like another key.
        let other = try TestKey.passphrase()
        try Fixtures.encrypted(folder.path("other.db"), key: other)
        try flip("other.db", 5)
        let told = ToldChecks()
        #expect(throws: EncryptedDatabaseError.wrongKey(path: folder.path("other.db"))) {
            try DatabaseVerification(
                folder.path("other.db"),
                form: .encrypted(other.key),
                options: .init(observer: told.note)
            ).run()
        }
        #expect(told.checks.last?.name == "open")
        #expect(told.checks.last?.note?.contains("salt") == true)
    }

    @Test(arguments: [4096, 5000, 12288])
    func aTruncatedFileIsReported(cut: Int) throws {
        _ = try makeFilled()
        try folder.write("notes.db", folder.databaseData().dropLast(cut))
        let checks = try verify()
        let open = try #require(checks.last)
        #expect(open.name == "open")
        #expect(open.detail == "the database is too damaged to be opened")
        #expect(open.findings.contains { $0.text.contains("cut short") })
    }

    @Test func aDamagedPageDoesNotKeepTheOtherChecksFromRunning() throws {
        let count = try makeFilled()
        try flip("notes.db", (count - 1) * 4096 + 100)
        let checks = try verify()
        #expect(checks.last?.name == "virtual_tables")
        let rows = try #require(checks.first { $0.name == "row_constraints" })
        // From SQLCipher 4.19 on, nothing can be read after that page.
        #expect(rows.note != nil || rows.detail == "a page can't be read")
    }

    // MARK: - The log

    @Test func everyFlippedBitOfAFrameThatHidesACommitIsFound() throws {
        let name = try makeLogged()
        let sound = try folder.data("\(name)-wal")
        let frames = (sound.count - 32) / 4120
        let last = 32 + (frames - 1) * 4120
        // Of the log's header: magic, page size, salt. Of the last frame: page, commit, salts, sum,
        // content. Of the first one: content.
        let places = [1, 9, 17, last + 3, last + 7, last + 9, last + 17, last + 500, 32 + 500]
        for place in places {
            var data = sound
            // The frame's size of the database is a power of two, so that this hides its commit.
            data[place] ^= place == last + 7 ? data[place] : 1
            try folder.write("\(name)-wal", data)
            let database = try folder.data(name)
            let checks = try verify(name: name)
            let log = try #require(checks.first { $0.name == "write_ahead_log" })
            #expect(!log.ok, "\(place - last)")
            // It is left for whoever wants to read it.
            #expect(try folder.data("\(name)-wal") == data)
            #expect(try folder.data(name) == database)
            for suffix in ["-wal", "-shm"] { unlink(folder.path(name) + suffix) }
        }
    }

    @Test func aSoundLogStaysAsItWasFound() throws {
        let name = try makeLogged()
        let files = try [name, "\(name)-wal"].map { try folder.data($0) }
        let checks = try verify(name: name)
        #expect(checks.filter { !$0.ok } == [])
        let pages = try #require(checks.first { $0.name == "cipher_integrity_check" })
        #expect(pages.note?.contains("in the log") == true, "\(pages)")
        #expect(try [name, "\(name)-wal"].map { try folder.data($0) } == files)
        let queue = try EncryptedDatabase.open(folder.path(name), key: key.key)
        #expect(try queue.read { try Int.fetchOne($0, sql: "SELECT count(*) FROM t") } == 4)
        try queue.close()
    }

    /// SQLite reads the log up to there, whatever the sums say.
    @Test func aFrameOfNoPageHidesCommits() throws {
        let name = try makeLogged()
        var data = try folder.data("\(name)-wal")
        data[32 + 3] = 0
        LogSums.renew(&data)
        try folder.write("\(name)-wal", data)
        let log = try #require(try verify(name: name).first { $0.name == "write_ahead_log" })
        #expect(log.detail?.contains("commits are damaged or lost") == true, "\(log)")
        let copy = folder.path("backup.db")
        #expect(throws: EncryptedDatabaseError.self) {
            try DatabaseRestore(copy, from: folder.path(name), form: .encrypted(key.key)).run()
        }
    }

    /// A frame whose sum is right, and whose page isn't what was written under the key.
    @Test func aFrameThatWasForgedIsFound() throws {
        let name = try makeLogged()
        var data = try folder.data("\(name)-wal")
        data[32 + 24 + 500] ^= 1
        LogSums.renew(&data)
        try folder.write("\(name)-wal", data)
        let checks = try verify(name: name)
        let log = try #require(checks.first { $0.name == "write_ahead_log" })
        #expect(log.findings.first?.text.contains("frame 1 of the log") == true)
        #expect(log.findings.first?.page != nil)
    }

    /// SQLite reads such a page from the log, and the next checkpoint replaces it.
    @Test func aDamagedPageThatTheLogReplacesIsNoFault() throws {
        let name = try makeLogged()
        let log = try folder.data("\(name)-wal")
        // The fourth byte of a frame is the last one of the page's number.
        let page = Int(log[log.count - 4120 + 3])
        var data = try folder.data(name)
        data[(page - 1) * 4096 + 500] ^= 1
        try folder.write(name, data)
        #expect(try verify(name: name).filter { !$0.ok } == [])
    }

    @Test func othersThatReadKeepTheLog() throws {
        let queue = try EncryptedDatabase.open(
            folder.database,
            key: key.key,
            options: .init(createsFile: true)
        )
        try queue.writeWithoutTransaction { db in
            try db.execute(
                sql: "PRAGMA journal_mode = WAL; CREATE TABLE t(a); INSERT INTO t VALUES (1)"
            )
        }
        try queue.inDatabase { db in
            try db.execute(sql: "BEGIN")
            _ = try Int.fetchOne(db, sql: "SELECT count(*) FROM t")
            let other = try EncryptedDatabase.open(folder.database, key: key.key)
            try other.write { try $0.execute(sql: "INSERT INTO t VALUES (2)") }
            let checks = try verify()
            #expect(checks.filter { !$0.ok } == [])
            try other.close()
            try db.execute(sql: "COMMIT")
        }
        try queue.close()
    }

    // MARK: - Others

    @Test func aLockForWritingIsToldNotTakenForAFault() throws {
        try RichStore.all[0].make(folder.database, key: key.spelling)
        chmod(folder.database, 0o600)
        let holder = try EncryptedDatabase.open(folder.database, key: key.key)
        try holder.inDatabase { db in
            try db.execute(sql: "BEGIN IMMEDIATE")
            let told = ToldChecks()
            #expect(throws: EncryptedDatabaseError.locked(path: folder.database)) {
                try DatabaseVerification(
                    folder.database,
                    form: .encrypted(key.key),
                    opening: .init(busyTimeout: 0.01),
                    options: .init(observer: told.note)
                ).run()
            }
            #expect(told.checks.filter { !$0.ok } == [])
            #expect(told.checks.last?.name == "row_constraints")
            try db.execute(sql: "COMMIT")
        }
        try holder.close()
    }

    @Test func aCancelledVerificationEnds() async throws {
        _ = try makeFilled()
        let cancellation = Cancellation()
        let told = ToldChecks()
        let verification = DatabaseVerification(
            folder.database,
            form: .encrypted(key.key),
            options: .init(
                cancellation: cancellation,
                observer: { event in
                    told.note(event)
                    if event == .checkStarted(name: "open") { cancellation.cancel() }
                }
            )
        )
        await #expect(throws: CancellationError.self) {
            try await asyncRun { try verification.run() }
        }
        #expect(told.checks.last?.name == "open")

        let other = DatabaseVerification(folder.database, form: .encrypted(key.key))
        #expect(try await asyncRun { try other.run() }.filter { !$0.ok } == [])
        let task = Task {
            withUnsafeCurrentTask { $0?.cancel() }
            return try await asyncRun { try other.run() }
        }
        await #expect(throws: CancellationError.self) { try await task.value }
    }

    @Test func noFileIsAnError() {
        let path = folder.path("none.db")
        #expect(throws: EncryptedDatabaseError.noSuchFile(path: path)) {
            try DatabaseVerification(path, form: .encrypted(key.key)).run()
        }
    }

    // MARK: - Modes

    @Test func filesThatOthersCanReadAreNamed() throws {
        let name = try makeLogged()
        chmod(folder.path(name), 0o640)
        chmod(folder.path(name) + "-wal", 0o604)
        let modes = try #require(verify(name: name).first)
        #expect(modes.name == "file_modes")
        #expect(
            modes.findings.map(\.text) == [
                "\(folder.path(name)) can be read by others (mode 0640): chmod 600 it",
                "\(folder.path(name))-wal can be read by others (mode 0604): chmod 600 it",
            ]
        )
    }

    @Test func aFolderThatOthersCanWriteIsNamed() throws {
        let inner = try folder.makeFolder("inner", mode: 0o777)
        try Fixtures.encrypted(folder.path("inner/notes.db"), key: key)
        func modes() throws -> VerificationCheck? { try verify(name: "inner/notes.db").first }
        #expect(try modes()?.findings.first?.text.contains("the folder \(inner)") == true)
        // As /tmp is.
        chmod(inner, 0o1777)
        #expect(try modes()?.ok == true)
    }

    @Test func plaintextDatabasesAreCheckedTooAndAGroupCanBeAllowed() throws {
        try Fixtures.plaintext(folder.database)
        func modes(allowsGroup: Bool) throws -> VerificationCheck? {
            var verification = DatabaseVerification(folder.database, form: .plaintext())
            verification.allowsGroup = allowsGroup
            return try verification.run().first
        }
        chmod(folder.database, 0o644)
        let text = "\(folder.database) can be read by others (mode 0644): chmod"
        #expect(try modes(allowsGroup: false)?.findings.map(\.text) == ["\(text) 600 it"])
        #expect(try modes(allowsGroup: true)?.findings.map(\.text) == ["\(text) o= it"])
        chmod(folder.database, 0o666)
        #expect(
            try modes(allowsGroup: true)?.findings.first?.text.contains("can be written") == true
        )
        chmod(folder.database, 0o660)
        #expect(try modes(allowsGroup: false)?.ok == false)
        #expect(try modes(allowsGroup: true)?.ok == true)
        chmod(folder.path, 0o770)
        #expect(try modes(allowsGroup: true)?.ok == true)
        chmod(folder.path, 0o772)
        #expect(try modes(allowsGroup: true)?.ok == false)
    }

    // MARK: -

    private func verify(
        _ form: DatabaseForm? = nil,
        name: String = TemporaryFolder.databaseName
    ) throws -> [VerificationCheck] {
        try DatabaseVerification(folder.path(name), form: form ?? .encrypted(key.key)).run()
    }

    private func flip(_ name: String, _ offset: Int) throws {
        var data = try folder.data(name)
        data[offset] ^= 1
        try folder.write(name, data)
    }

    /// - Returns: The number of pages.
    private func makeFilled() throws -> Int {
        let queue = try EncryptedDatabase.open(
            folder.database,
            key: key.key,
            options: .init(createsFile: true)
        )
        try queue.write { try $0.execute(sql: Fixtures.fill(pages: 100)) }
        try queue.close()
        return try folder.databaseData().count / 4096
    }

    /// A database of two pages and its log, as a killed process leaves them.
    ///
    /// - Returns: The name of the database.
    private func makeLogged() throws -> String {
        let queue = try EncryptedDatabase.open(
            folder.database,
            key: key.key,
            options: .init(createsFile: true)
        )
        try queue.writeWithoutTransaction { db in
            try db.execute(
                sql: """
                    PRAGMA journal_mode = WAL; CREATE TABLE t(a); PRAGMA wal_checkpoint(TRUNCATE);
                    INSERT INTO t VALUES (1); INSERT INTO t VALUES (2);
                    INSERT INTO t VALUES (3); INSERT INTO t VALUES (4);
                    """
            )
        }
        try folder.write("copy.db", folder.databaseData())
        try folder.write("copy.db-wal", folder.data("notes.db-wal"))
        try queue.close()
        return "copy.db"
    }
}

/// The checks that an observer was told of.
private final class ToldChecks: @unchecked Sendable {
    // `@unchecked`: every access holds the lock.
    private let lock = NSLock()
    private var done: [VerificationCheck] = []

    @Sendable func note(_ event: VerificationEvent) {
        guard case .checkFinished(let check) = event else { return }
        lock.withLock { done.append(check) }
    }

    var checks: [VerificationCheck] { lock.withLock { done } }
}

/// The sums of a write-ahead log, as whoever forges one would make them.
private enum LogSums {
    static func renew(_ data: inout Data) {
        var bytes = Array(data)
        let isBigEndian = bytes[3] & 1 == 1
        var (first, second): (UInt32, UInt32) = (0, 0)
        func add(_ part: ArraySlice<UInt8>) {
            for offset in stride(from: part.startIndex, to: part.endIndex, by: 8) {
                first &+= word(offset) &+ second
                second &+= word(offset + 4) &+ first
            }
        }
        func word(_ offset: Int) -> UInt32 {
            let part = bytes[offset..<(offset + 4)]
            return (isBigEndian ? Array(part) : part.reversed()).reduce(0) { $0 << 8 | UInt32($1) }
        }
        add(bytes[0..<24])
        for start in stride(from: 32, to: bytes.count, by: 4120) {
            add(bytes[start..<(start + 8)])
            add(bytes[(start + 24)..<(start + 4120)])
            for (index, sum) in [first, second].enumerated() {
                for byte in 0..<4 {
                    bytes[start + 16 + index * 4 + byte] = UInt8(
                        truncatingIfNeeded: sum >> UInt32(24 - 8 * byte)
                    )
                }
            }
        }
        data = Data(bytes)
    }
}
