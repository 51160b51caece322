import Foundation
import GRDB
import MigrationKit
import MigrationKitCommon
import MigrationKitGRDB
import MigrationKitKeys
import MigrationKitRescue
import MigrationKitSQLCipher
import TestSupport
import Testing

@Suite struct RehearsalTests {
    private let folder: TemporaryFolder
    private let key: TestKey

    init() throws {
        folder = try TemporaryFolder()
        key = try .raw()
    }

    /// A store of 3,000 rows in a journal mode.
    private func store(_ journal: String = "delete") throws -> DatabaseQueue {
        let queue = try EncryptedDatabase.open(
            folder.database,
            key: key.key,
            options: .init(createsFile: true)
        )
        try queue.writeWithoutTransaction { db in
            try db.execute(sql: "PRAGMA journal_mode = \(journal)")
        }
        try GRDBMigrationRunner(steps: [Self.first]).migrate(in: queue)
        return queue
    }

    private static let first = step(
        "0001",
        """
        CREATE TABLE t (id INTEGER PRIMARY KEY, text);
        INSERT INTO t (text)
        WITH RECURSIVE n (x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n LIMIT 3000)
        SELECT hex(randomblob(50)) FROM n;
        """
    )

    private func runner(
        _ steps: MigrationStep<Database>...,
        integration: GRDBMigrationRunner.Integration = .init()
    ) throws -> GRDBMigrationRunner {
        try GRDBMigrationRunner(steps: [Self.first] + steps, integration: integration)
    }

    private func hidden() throws -> [String] { try folder.names.filter { $0.hasPrefix(".") } }

    /// A step that runs code of the test.
    private func look(
        _ body: @escaping @Sendable (Database) throws -> Void
    ) -> MigrationStep<Database> {
        MigrationStep(identifier: "0002", sourceFile: "test", apply: body)
    }

    @Test(arguments: ["delete", "wal"])
    func theCopyIsLikeTheStoreAndGoesAfterwards(_ journal: String) throws {
        let store = try store(journal)
        let folder = folder
        let report = try runner(
            look { db in
                #expect(try String.fetchOne(db, sql: "PRAGMA cipher_settings") != nil)
                let name = try #require(
                    try folder.drafts(".notes.db-writing-").first { $0.last?.isHexDigit == true }
                )
                #expect(folder.mode(name) == 0o600)
                #expect(try !folder.data(name).starts(with: "SQLite".utf8))
                try db.execute(sql: "DELETE FROM t")
            }
        ).rehearse(in: store, options: RehearsalOptions(drift: nil))
        #expect(report.isSuccessful)
        #expect(report.failure == nil)
        #expect(report.journalMode == journal)
        #expect(report.steps.map(\.step.rowsChanged) == [3000])
        #expect(report.checks.map(\.name).contains("cipher_integrity_check"))
        #expect(report.checks.map(\.name).contains("ledger"))
        #expect(report.pending == [])
        // Every page of the table is in the journal, or as a page without rows in the log.
        #expect(report.room.journalByteCount > report.byteCountBefore / 2)
        #expect(try hidden() == [])
        #expect(try store.read { try Int.fetchOne($0, sql: "SELECT count(*) FROM t") } == 3000)
        try store.close()
        #expect(try folder.names == [TemporaryFolder.databaseName])
    }

    /// What a plaintext store's copy can't be: encrypted.
    @Test func aPlaintextStoreIsRehearsed() throws {
        let queue = try EncryptedDatabase.openPlaintext(
            folder.database,
            options: .init(createsFile: true)
        )
        try GRDBMigrationRunner(steps: [Self.first]).migrate(in: queue)
        let report = try runner(step("0002", "DELETE FROM t")).rehearse(in: queue)
        #expect(report.isSuccessful)
        #expect(!report.checks.map(\.name).contains("cipher_integrity_check"))
        #expect(try hidden() == [])
    }

    /// The databases of a process share the place of their temporary files, and the memory for them.
    @Test func temporaryFilesAreMeasured() throws {
        let name = "childSortsMoreThanMemoryTakes"
        let result = try TestInOwnProcess.run(name, arguments: ["sort"])
        #expect(result.hasPassed(name), "\(result)")
    }

    @Test(.enabled(if: TestInOwnProcess.arguments != nil))
    func childSortsMoreThanMemoryTakes() throws {
        let report = try runner(
            step(
                "0002",
                """
                CREATE TABLE sorted AS
                WITH RECURSIVE n (x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n LIMIT 400000)
                SELECT x % 2 AS y FROM n GROUP BY hex(zeroblob(50)) || (x * 7919 % 400000) LIMIT 9;
                """
            )
        ).rehearse(in: store())
        #expect(report.room.temporaryByteCount > 1_000_000)
        #expect(report.steps.first?.room.temporaryByteCount == report.room.temporaryByteCount)
        #expect(report.room.byteCount >= report.room.temporaryByteCount)
    }

    /// SQLite removes it only when the pages are in the file.
    @Test(arguments: [MigrationTransaction.perStep, .allOrNothing])
    func theJournalIsThereAsLongAsTheFileGrows(_ transaction: MigrationTransaction) throws {
        let options = RehearsalOptions(migration: MigrationOptions(transaction: transaction))
        let report = try runner(step("0002", "UPDATE t SET text = text || hex(zeroblob(50))"))
            .rehearse(in: store(), options: options)
        let growth = try #require(report.byteCountAfter) - report.byteCountBefore
        #expect(growth > 200_000)
        #expect(report.room.journalByteCount > 200_000)
        #expect(report.room.byteCount >= report.room.journalByteCount + growth)
    }

    @Test(arguments: ["delete", "wal"])
    func othersReadAndWriteMeanwhile(_ journal: String) throws {
        let store = try store(journal)
        let other = try EncryptedDatabase.open(folder.database, key: key.key)
        let report = try runner(
            look { db in
                try other.write { try $0.execute(sql: "DELETE FROM t WHERE id > 10") }
                // The copy is of the instant before.
                let count = "SELECT count(*) FROM t"
                #expect(try other.read { try Int.fetchOne($0, sql: count) } == 10)
                #expect(try Int.fetchOne(db, sql: count) == 3000)
            }
        ).rehearse(in: store)
        #expect(report.isSuccessful, "\(report)")
        #expect(try store.read { try Int.fetchOne($0, sql: "SELECT count(*) FROM t") } == 10)
        try other.close()
    }

    @Test(arguments: [MigrationTransaction.perStep, .allOrNothing])
    func aFailureIsAResult(_ transaction: MigrationTransaction) throws {
        let store = try store()
        let report = try runner(
            step("0002", "DELETE FROM t"),
            step("0003", "INSERT INTO nowhere VALUES (1)"),
            step("0004", "DROP TABLE t")
        ).rehearse(
            in: store,
            options: RehearsalOptions(migration: MigrationOptions(transaction: transaction))
        )
        #expect(!report.isSuccessful)
        #expect(report.failure is DatabaseError)
        #expect(report.failedStep == "0003")
        #expect(report.steps.map(\.step.identifier) == ["0002"])
        let isUndone = transaction == .allOrNothing
        #expect(report.pending == (isUndone ? ["0002"] : []) + ["0003", "0004"])
        #expect(report.byteCountAfter == nil)
        #expect(report.checks.isEmpty)
        #expect(try hidden() == [])
    }

    @Test func theHostVerifiesTheCopy() throws {
        struct Refused: Error {}
        let store = try store()
        let seen = Locked<[Int]>([])
        let report = try runner(
            step("0002", "DELETE FROM t"),
            integration: .init(verifyPostMigration: { writer in
                let count = try writer.read { try Int.fetchOne($0, sql: "SELECT count(*) FROM t") }
                seen.withLock { $0.append(count ?? -1) }
                throw Refused()
            })
        ).rehearse(in: store)
        #expect(report.failure is Refused)
        #expect(seen.withLock { $0 } == [0])
        #expect(try store.read { try Int.fetchOne($0, sql: "SELECT count(*) FROM t") } == 3000)
    }

    @Test func aCancelledRehearsalLeavesNothing() throws {
        let store = try store()
        let cancellation = Cancellation()
        let options = RehearsalOptions(cancellation: cancellation) { event in
            if case .migrating(.stepStarted) = event { cancellation.cancel() }
        }
        #expect(throws: CancellationError.self) {
            try runner(step("0002", "DELETE FROM t")).rehearse(in: store, options: options)
        }
        #expect(try hidden() == [])
        #expect(try store.read { try Int.fetchOne($0, sql: "SELECT count(*) FROM t") } == 3000)
    }

    @Test func itTellsHowFarItIs() throws {
        let events = Locked<[RehearsalEvent]>([])
        let options = RehearsalOptions(observer: { event in events.withLock { $0.append(event) } })
        _ = try runner(step("0002", "DELETE FROM t")).rehearse(in: store(), options: options)
        let phases = events.withLock { $0 }.map { event in
            switch event {
            case .copying: 1
            case .migrating: 2
            case .verifying: 3
            }
        }
        #expect(phases == phases.sorted())
        #expect(Set(phases) == [1, 2, 3])
    }

    /// Even if there is nothing to rehearse.
    @Test(arguments: [true, false])
    func whatAKilledOneLeftGoes(_ isPending: Bool) throws {
        let store = try store()
        let room = try folder.makeFolder("room")
        for suffix in ["", "-wal", ".lock"] {
            try folder.write("room/.notes.db-writing-1f\(suffix)", "x".utf8)
        }
        // Of one that is still running.
        let running = "\(room)/.notes.db-writing-2e"
        let claim = try #require(try FileLock(beside: running, suffix: ".lock").hold())
        try folder.write("room/.notes.db-writing-2e", "x".utf8)
        // Of another database.
        try folder.write("room/.other.db-writing-3d", "x".utf8)
        let runner =
            isPending
            ? try runner(step("0002", "DELETE FROM t")) : try runner()
        _ = try runner.rehearse(in: store, copyInto: room)
        let left = try FileManager.default.contentsOfDirectory(atPath: room).sorted()
        #expect(
            left == [
                ".notes.db-writing-2e", ".notes.db-writing-2e.lock", ".other.db-writing-3d",
            ]
        )
        claim.release()
    }

    @Test func theFolderMustBeThere() throws {
        let store = try store()
        let runner = try runner(step("0002", "DELETE FROM t"))
        let path = folder.path("nowhere")
        #expect(throws: RehearsalError.noSuchFolder(path: path)) {
            try runner.rehearse(in: store, copyInto: path)
        }
        // Not even root can make a file there.
        let error = #expect(throws: RehearsalError.self) {
            try runner.rehearse(in: store, copyInto: "/proc")
        }
        guard case .cannotCopy("/proc", .cannotCreate)? = error else {
            Issue.record("\(String(describing: error))")
            return
        }
        #expect(throws: RehearsalError.inMemory) {
            try runner.rehearse(in: DatabaseQueue())
        }
    }

    @Test func stepsMayFirstBeRecorded() throws {
        let queue = try EncryptedDatabase.open(
            folder.database,
            key: key.key,
            options: .init(createsFile: true)
        )
        try queue.write { try $0.execute(sql: "CREATE TABLE t (id INTEGER PRIMARY KEY, text)") }
        let report = try runner(step("0002", "INSERT INTO t (text) VALUES ('x')"))
            .rehearse(in: queue, recording: ["0001"])
        #expect(report.isSuccessful)
        #expect(report.steps.map(\.step.identifier) == ["0002"])
        #expect(report.pending == [])
        #expect(try queue.read { try $0.tableExists("grdb_migrations") } == false)
    }
}
