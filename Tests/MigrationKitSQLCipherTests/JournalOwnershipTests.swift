import Foundation
import GRDB
import MigrationKitKeys
import MigrationKitPages
import MigrationKitRescue
import MigrationKitSQLCipher
import TestSupport
import Testing

/// A log or a journal beside a database that isn't the database's own is never written into it, and never
/// deleted.
@Suite struct JournalOwnershipTests {
    /// What a killed program leaves beside a database.
    enum Leftover: String, CaseIterable {
        /// A log with a change to a row.
        case log = "-wal"
        /// A journal of the pages before a change.
        case journal = "-journal"

        func leave(of path: String, key: TestKey) throws {
            self == .log
                ? try Crash.leaveLog(of: path, key: key)
                : try Crash.leaveJournal(of: path, key: key)
        }
    }

    private let folder: TemporaryFolder
    private let key: TestKey
    private var path: String { folder.database }

    init() throws {
        folder = try TemporaryFolder()
        key = try .raw()
    }

    private func rows(of name: String = "notes.db") throws -> [String] {
        let queue = try EncryptedDatabase.open(folder.path(name), key: key.key)
        defer { try? queue.close() }
        return try queue.read { try String.fetchAll($0, sql: "SELECT a FROM t ORDER BY rowid") }
    }

    /// A database of some pages.
    private func make(_ name: String = "notes.db", pageCount: Int = 40) throws {
        try Fixtures.encrypted(folder.path(name), key: key)
        let queue = try EncryptedDatabase.open(folder.path(name), key: key.key)
        try queue.write { db in
            let sql = Fixtures.fill(pages: pageCount).replacing("filler", with: "many")
            try db.execute(sql: sql)
        }
        try queue.close()
    }

    private func run(_ statements: String...) throws {
        let queue = try EncryptedDatabase.open(path, key: key.key)
        try queue.writeWithoutTransaction { db in
            for statement in statements { try db.execute(sql: statement) }
        }
        try queue.close()
    }

    private func replace(by name: String) throws {
        try folder.write("notes.db", folder.data(name))
    }

    private func salvage() throws -> SalvageReport {
        try DatabaseSalvage(path, to: folder.path("new.db"), form: .encrypted(key.key)).run()
    }

    /// Opens, restores and backs up the database: nothing of that may change anything.
    private func expect(
        _ mismatch: JournalMismatch,
        _ suffix: String,
        isSound: Bool? = true,
        _ location: SourceLocation = #_sourceLocation
    ) throws {
        let error = EncryptedDatabaseError.otherJournal(
            path: path,
            journal: path + suffix,
            mismatch: mismatch,
            isSound: isSound
        )
        func contents() throws -> [String: Data?] {
            try folder.snapshot().entries.mapValues(\.content)
        }
        let before = try contents()
        #expect(throws: error, sourceLocation: location) {
            try EncryptedDatabase.open(path, key: key.key, options: .init(createsFile: true))
        }
        #expect(throws: error, sourceLocation: location) {
            try EncryptedDatabase.open(path, key: key.key, options: .init(isReadOnly: true))
        }
        let backup = try TemporaryFolder()
        try Fixtures.encrypted(backup.path("backup.db"), key: key)
        #expect(throws: EncryptedDatabaseError.self, sourceLocation: location) {
            try DatabaseRestore(path, from: backup.path("backup.db"), form: .encrypted(key.key))
                .run()
        }
        #expect(try contents() == before, sourceLocation: location)
        if isSound != nil {
            let report = try EncryptedDatabase.inspect(path, key: key.key)
            #expect(report.journals.compactMap(\.mismatch) == [mismatch], sourceLocation: location)
            #expect(report.damage == nil && !report.hasUnfinishedChange, sourceLocation: location)
        }
        #expect(try contents() == before, sourceLocation: location)
    }

    @Test(arguments: Leftover.allCases)
    func aLeftoverOfAnotherSaltIsNotReplayed(_ leftover: Leftover) throws {
        try make()
        try make("backup.db")
        try leftover.leave(of: path, key: key)
        try replace(by: "backup.db")
        // A change to a row doesn't write the first page of a log.
        try expect(leftover == .log ? .key : .salt, leftover.rawValue)
        try FileManager.default.removeItem(atPath: path + leftover.rawValue)
        #expect(try rows() == ["zettel"])
    }

    @Test func aLeftoverOfAnotherKeyIsNotReplayed() throws {
        try make()
        let other = try TestKey.raw()
        try folder.write("other.db", folder.databaseData())
        try Crash.kill(
            after: [
                "PRAGMA rekey = \"\(other.spelling)\"", "PRAGMA journal_mode = WAL",
                "PRAGMA wal_autocheckpoint = 0", "INSERT INTO t VALUES ('other')",
            ],
            of: path,
            key: key
        )
        try replace(by: "other.db")
        try expect(.key, "-wal")
        let search = try KeySearch(path)
        #expect(try search.settings(of: other.key) == nil)
        #expect(try search.settings(of: key.key) == .current)
    }

    /// The log has all pages under the new key. Whether it continues the database is known only if the
    /// program hadn't written the first page before.
    @Test(
        arguments: [2, 40],
        [
            [], ["INSERT INTO t VALUES ('more')"],
            [
                "CREATE TABLE u (a)", "PRAGMA wal_checkpoint (TRUNCATE)",
                "INSERT INTO t VALUES ('more')",
            ],
        ]
    )
    func aChangeOfTheKeyThatIsOnlyInTheLogIsTheDatabasesOwn(
        _ pageCount: Int,
        _ before: [String]
    ) throws {
        try make(pageCount: pageCount)
        let other = try TestKey.raw()
        try run("PRAGMA journal_mode = WAL")
        try Crash.kill(
            after: ["PRAGMA wal_autocheckpoint = 0"] + before
                + ["PRAGMA rekey = \"\(other.spelling)\""],
            of: path,
            key: key
        )
        try expect(.key, "-wal")
        var opened = path
        if before.count > 1 {
            #expect(
                throws: EncryptedDatabaseError.otherJournal(
                    path: path,
                    journal: path + "-wal",
                    mismatch: .database,
                    isSound: false
                )
            ) { try EncryptedDatabase.open(path, key: other.key) }
            // The advice.
            opened = folder.path("new.db")
            let report = try DatabaseSalvage(path, to: opened, form: .encrypted(other.key)).run()
            let isComplete = report.isComplete
            #expect(isComplete, "\(report)")
        }
        let queue = try EncryptedDatabase.open(opened, key: other.key)
        #expect(
            try queue.read { try String.fetchAll($0, sql: "SELECT a FROM t") }
                == ["zettel"] + (before.isEmpty ? [] : ["more"])
        )
        try queue.close()
    }

    @Test func aLogOfAnotherStateIsNotReplayed() throws {
        try make()
        try run("PRAGMA journal_mode = WAL")
        try folder.write("older.db", folder.databaseData())
        try run("CREATE TABLE later(a)", "DROP TABLE many")
        try Crash.kill(
            after: ["PRAGMA wal_autocheckpoint = 0", "CREATE TABLE latest(a)"],
            of: path,
            key: key
        )
        let newer = try folder.databaseData()
        try replace(by: "older.db")
        try expect(.state, "-wal")
        // With its own database, it is recovered.
        try folder.write("notes.db", newer)
        let queue = try EncryptedDatabase.open(path, key: key.key)
        #expect(try queue.read { try $0.tableExists("latest") })
        try queue.close()
    }

    @Test func aJournalOfAnotherStateIsNotRolledBack() throws {
        try make()
        try folder.write("older.db", folder.databaseData())
        try run(
            "DROP TABLE many; VACUUM",
            "CREATE TABLE other(a, b); CREATE INDEX i ON other(a)",
            """
            WITH RECURSIVE c(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM c WHERE i < 300)
            INSERT INTO other SELECT hex(randomblob(100)), i FROM c
            """
        )
        try Crash.kill(
            after: ["PRAGMA cache_size = 2", "BEGIN", "UPDATE other SET a = hex(randomblob(90))"],
            of: path,
            key: key
        )
        let newer = try folder.databaseData()
        try replace(by: "older.db")
        try expect(.state, "-journal")
        let report = try salvage()
        #expect(report.journal?.leftOut == .otherTime)
        try folder.write("notes.db", newer)
        #expect(try rows() == ["zettel"])
    }

    /// What a program left that was killed while it changed many pages.
    private func leaveChange() throws {
        try make()
        try Crash.kill(
            after: [
                "PRAGMA cache_size = 2", "BEGIN", "DELETE FROM many WHERE rowid > 5",
                "UPDATE many SET a = 'never committed'",
            ],
            of: path,
            key: key
        )
    }

    /// How a journal is damaged.
    enum Damage: CaseIterable {
        case sector, bit, end

        func apply(to journal: inout Data) {
            let middle = journal.count / 2
            switch self {
            case .sector: journal.replaceSubrange(middle..<middle + 512, with: Data(count: 512))
            // In the page of the first record, which is behind the header's sector.
            case .bit: journal[(Int(journal[22]) << 8 | Int(journal[23])) + 1004] ^= 1
            case .end: journal = journal.prefix(middle)
            }
        }
    }

    /// SQLite undoes the change up to the damaged page, and deletes the journal.
    @Test(arguments: Damage.allCases) func aDamagedJournalIsNotRolledBackInPart(_ damage: Damage)
        throws
    {
        try leaveChange()
        var journal = try folder.data("notes.db-journal")
        damage.apply(to: &journal)
        try folder.write("notes.db-journal", journal)
        try expect(.damaged, "-journal", isSound: false)
        let report = try salvage()
        let isComplete = report.isComplete
        #expect(!isComplete && report.journal?.leftOut == nil, "\(report)")
    }

    /// A power cut may leave a journal that wasn't on the disk yet; then the database wasn't written either.
    @Test func aDamagedJournalOfAChangeThatHasNotBegunIsRolledBack() throws {
        try make()
        let before = try folder.databaseData()
        try Crash.kill(
            after: ["PRAGMA cache_size = 2", "BEGIN", "UPDATE many SET a = 'never committed'"],
            of: path,
            key: key
        )
        var journal = try folder.data("notes.db-journal")
        Damage.end.apply(to: &journal)
        try folder.write("notes.db-journal", journal)
        try folder.write("notes.db", before)
        #expect(try rows() == ["zettel"])
        #expect(try !folder.names.contains("notes.db-journal"))
    }

    /// After ROLLBACK TO, SQLCipher counts on from a number that is kept nowhere.
    @Test func aLogAfterRollbackToIsTheDatabasesOwn() throws {
        try make()
        try Crash.kill(
            after: [
                "PRAGMA journal_mode = WAL", "PRAGMA wal_autocheckpoint = 0", "BEGIN",
                "CREATE TABLE first (a)", "SAVEPOINT s", "CREATE TABLE second (a)",
                "ROLLBACK TO s", "INSERT INTO t VALUES ('from the log')", "COMMIT",
            ],
            of: path,
            key: key
        )
        #expect(try rows() == ["zettel", "from the log"])
    }

    /// A power cut may tear pages that were free before the change: the journal doesn't have them.
    @Test func pagesThatWereFreeMayBeTorn() throws {
        try make(pageCount: 100)
        try run("DELETE FROM many WHERE rowid > 20")
        try Crash.kill(
            after: [
                "PRAGMA cache_size = 2", "BEGIN",
                "INSERT INTO many SELECT randomblob(3500) FROM many LIMIT 15",
                "UPDATE t SET a = 'never committed'",
            ],
            of: path,
            key: key
        )
        let file = try #require(try RawFile.find(path + "-journal").get())
        let journal = try #require(try RollbackJournal(file))
        var data = try folder.databaseData()
        let free = (1...journal.originalPageCount).filter { journal.offsets[$0] == nil }.suffix(40)
        for number in free { data[(number - 1) * 4096 + 2000] ^= 1 }
        try folder.write("notes.db", data)
        #expect(try rows() == ["zettel"])
    }

    /// Pointer maps begin like pages of trees.
    @Test func aJournalOfAPlaintextDatabaseWithPointerMapsIsItsOwn() throws {
        let copy = try TemporaryFolder()
        let queue = try DatabaseQueue(path: path)
        try queue.writeWithoutTransaction { db in
            try db.execute(
                sql: """
                    PRAGMA page_size = 1024; PRAGMA auto_vacuum = FULL;
                    CREATE TABLE t (a);
                    WITH RECURSIVE c(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM c WHERE i < 3000)
                    INSERT INTO t SELECT hex(randomblob(300)) FROM c;
                    PRAGMA cache_size = 2; BEGIN; DELETE FROM t WHERE rowid % 3 > 0;
                    """
            )
            // As a killed program leaves it.
            for end in ["", "-journal"] {
                try copy.write("notes.db" + end, folder.data("notes.db" + end))
            }
            try db.execute(sql: "ROLLBACK")
        }
        try queue.close()
        let opened = try EncryptedDatabase.openPlaintext(copy.database)
        #expect(try opened.read { try Int.fetchOne($0, sql: "SELECT count(*) FROM t") } == 3000)
        try opened.close()
    }

    /// A transaction over several databases is committed when its super-journal is gone. But a database that
    /// isn't sound without the undoing was copied before that.
    @Test func aJournalWhoseSuperJournalIsLostIsKept() throws {
        try leaveChange()
        var journal = try folder.data("notes.db-journal")
        // The next sector after the last record.
        journal += Data(count: (512 - journal.count % 512) % 512)
        journal += Crash.journalEnd(naming: Array((path + "-mj0123459AB").utf8))
        try folder.write("notes.db-journal", journal)
        try expect(.superJournal, "-journal", isSound: false)
        let report = try salvage()
        let isComplete = report.isComplete
        #expect(isComplete, "\(report)")
        #expect(report.tables.first { $0.name == "many" }?.rowCount == 40)
    }

    /// With a journal that isn't removed, what a finished transaction over several databases has left says
    /// nothing, wherever its super-journal was.
    @Test func theNameInAFinishedJournalSaysNothing() throws {
        try make()
        var journal = Data(count: 8) + Crash.journalOfNothing.dropFirst(8)
        journal += Crash.journalEnd(naming: Array("/nowhere/other.db-mj0123459AB".utf8))
        try folder.write("notes.db-journal", journal)
        #expect(try rows() == ["zettel"])
    }

    /// A copy was made while the database was at rest, and both were written since. Their first pages
    /// continue the same one.
    @Test(arguments: [
        ["CREATE TABLE u (a)"],
        Array(repeating: "INSERT INTO many SELECT * FROM many LIMIT 3", count: 30),
    ])
    func aLogOfACopyThatWasWrittenSeparatelyIsNotReplayed(_ statements: [String]) throws {
        try make(pageCount: 4)
        try run("PRAGMA journal_mode = WAL")
        try folder.write("copy.db", folder.databaseData())
        try run("INSERT INTO many SELECT a FROM many, (SELECT 1 UNION SELECT 2 UNION SELECT 3)")
        try Crash.kill(
            after: ["PRAGMA wal_autocheckpoint = 0"] + statements,
            of: folder.path("copy.db"),
            key: key
        )
        try folder.write("notes.db-wal", folder.data("copy.db-wal"))
        for end in ["", "-wal", "-shm"] { unlink(folder.path("copy.db" + end)) }
        try expect(.state, "-wal")
    }

    @Test func aJournalThatWouldEmptyAWrittenDatabaseIsNotRolledBack() throws {
        try make()
        try folder.write("notes.db-journal", Crash.journalOfNothing)
        try expect(.emptyDatabase, "-journal")
        let other = try TestKey.raw()
        #expect(throws: EncryptedDatabaseError.wrongKey(path: path)) {
            try EncryptedDatabase.open(path, key: other.key, options: .init(createsFile: true))
        }
        #expect(try folder.data("notes.db-journal") == Crash.journalOfNothing)
    }

    @Test(arguments: Leftover.allCases)
    func aLeftoverOfAnotherPageSizeIsNotReplayed(_ leftover: Leftover) throws {
        try make()
        let cipher = try CipherSettings.current.with(pageSize: 8192)
        let other = try TemporaryFolder()
        let queue = try EncryptedDatabase.open(
            other.database,
            key: key.key,
            options: .init(createsFile: true, cipher: cipher)
        )
        try queue.write { try $0.execute(sql: "CREATE TABLE t(a); INSERT INTO t VALUES (1)") }
        try queue.close()
        let statements = ["PRAGMA cipher_page_size = 8192"]
        try Crash.kill(
            after: statements
                + (leftover == .log
                    ? ["PRAGMA journal_mode = WAL", "INSERT INTO t VALUES (2)"]
                    : [
                        "PRAGMA cache_size = 2", "BEGIN", "CREATE TABLE filler(a)",
                        """
                        WITH RECURSIVE c(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM c WHERE i < 50)
                        INSERT INTO filler SELECT randomblob(7000) FROM c
                        """,
                    ]),
            of: other.database,
            key: key
        )
        let name = "notes.db" + leftover.rawValue
        try folder.write(name, other.data(name))
        try expect(.pageSize, leftover.rawValue)
    }

    @Test(arguments: [nil, ""] as [String?])
    func aLogWhoseDatabaseIsGoneIsKept(_ content: String?) throws {
        try make()
        try Crash.leaveLog(of: path, key: key)
        try FileManager.default.removeItem(atPath: path)
        if let content { try folder.write("notes.db", content.utf8) }
        try expect(.missingDatabase, "-wal", isSound: nil)
        let store = EncryptedStore(
            path: path,
            keyStore: InMemoryKeyStore(),
            service: "test",
            account: "main"
        )
        #expect(throws: (any Error).self) { try store.open() }
        #expect(try folder.names.contains("notes.db-wal"))
    }

    /// The journal has the pages of a change to a database that is gone.
    @Test func aJournalWhoseDatabaseIsGoneIsKept() throws {
        try make()
        try Crash.leaveJournal(of: path, key: key)
        try FileManager.default.removeItem(atPath: path)
        try expect(.missingDatabase, "-journal", isSound: nil)
    }

    // MARK: - Plaintext

    private func plaintextExpects(_ mismatch: JournalMismatch, _ suffix: String) throws {
        let before = try folder.snapshot()
        #expect(
            throws: EncryptedDatabaseError.otherJournal(
                path: path,
                journal: path + suffix,
                mismatch: mismatch,
                isSound: true
            )
        ) { try EncryptedDatabase.openPlaintext(path) }
        #expect(try folder.snapshot() == before)
    }

    @Test(arguments: Leftover.allCases)
    func anEncryptedLeftoverIsNotWrittenIntoAPlaintextDatabase(_ leftover: Leftover) throws {
        try make()
        try leftover.leave(of: path, key: key)
        try FileManager.default.removeItem(atPath: path)
        let plain = try TemporaryFolder()
        try Fixtures.plaintext(plain.database)
        try folder.write("notes.db", plain.databaseData())
        // The journal has the first page.
        try plaintextExpects(leftover == .log ? .content : .salt, leftover.rawValue)
    }

    @Test func aLogOfAnotherStateIsNotWrittenIntoAPlaintextDatabase() throws {
        try Fixtures.plaintext(path)
        let older = try folder.databaseData()
        let queue = try EncryptedDatabase.openPlaintext(path)
        try queue.writeWithoutTransaction { db in
            for table in ["b", "c", "d"] { try db.execute(sql: "CREATE TABLE \(table)(a)") }
            try db.execute(sql: "PRAGMA journal_mode = WAL; CREATE TABLE e(a)")
        }
        let log = try folder.data("notes.db-wal")
        try queue.close()
        try folder.write("notes.db", older)
        try folder.write("notes.db-wal", log)
        try plaintextExpects(.state, "-wal")
    }
}
