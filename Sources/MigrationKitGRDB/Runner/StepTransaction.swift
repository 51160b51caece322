import Foundation
import GRDB
import GRDBSQLite
import MigrationKit
import MigrationKitCommon

/// What every step runs in, forward and back: the raw schema, a transaction that the step can't
/// end, temporary storage that it can't move, and a connection as it was before the run.
package struct StepTransaction {
    let db: Database
    private let settings: ConnectionSettings

    /// - Parameters:
    ///   - db: A connection with an open transaction, in which one step runs, or several.
    ///   - settings: What the connection was like before the run's first step; `nil` if that is now.
    package init(on db: Database, _ settings: ConnectionSettings? = nil) throws {
        self.db = db
        try db.holdJournalMode()
        // This also opens the temporary database. Afterwards SQLite refuses to move it during
        // a transaction: a step that changes `temp_store` fails, and temporary data is where the
        // host wants it. <https://www.sqlite.org/pragma.html#pragma_temp_store>
        self.settings = try settings ?? ConnectionSettings.withinTransaction(of: db)
    }

    /// Runs a step's closure, and checks foreign keys as the step asks for it.
    ///
    /// - Parameter earlier: The violations that may remain.
    /// - Returns: What ``run(_:mayFillLedger:_:)`` returns.
    /// - Throws: What ``run(_:mayFillLedger:_:)`` and ``ForeignKeyCheck`` throw.
    @discardableResult func run(
        _ step: MigrationStep<Database>,
        allowing earlier: ForeignKeyViolations? = nil,
        _ body: (Database) throws -> Void
    ) throws -> Bool {
        let wroteSchema = try run(step.identifier, body)
        try ForeignKeyCheck.run(after: step, allowing: earlier, in: db)
        // Not before the check, since SQLite then forgets what violates them.
        db.set("PRAGMA defer_foreign_keys = OFF")
        return wroteSchema
    }

    /// Runs a step's closure.
    ///
    /// - Parameter mayFillLedger: Whether the closure may record steps.
    /// - Returns: Whether it wrote the schema table other than by SQLite's own statements.
    /// - Throws: What the closure throws; `MigrationKitError.stepEndedTransaction(_:)`;
    ///   `MigrationKitError.stepChangedLedger(_:)`.
    @discardableResult package func run(
        _ identifier: String,
        mayFillLedger: Bool = false,
        _ body: (Database) throws -> Void
    ) throws -> Bool {
        let guardian = CommitGuard(identifier: identifier, on: db)
        db.add(transactionObserver: guardian)
        defer { db.remove(transactionObserver: guardian) }

        let result = Result { try db.withSchemaSource(nil) { try body(db) } }
        let changed = settings.putBack(on: db)
        do {
            try result.get()
        } catch {
            // SQLite itself ends the transaction if the disk is full, for example. Then its error
            // is thrown. If the step ended it, the next statement's error (GRDB's: the transaction
            // was aborted) explains little.
            let wasAborted = (error as? DatabaseError)?.resultCode == .SQLITE_ABORT
            if !db.isInsideTransaction, guardian.refusedCommit || wasAborted {
                throw MigrationKitError.stepEndedTransaction(identifier)
            }
            throw error
        }
        guard db.isInsideTransaction else {
            throw MigrationKitError.stepEndedTransaction(identifier)
        }
        let isUntouched = mayFillLedger || !guardian.sawLedgerChange
        guard isUntouched, try !hasTemporaryLedger() else {
            throw MigrationKitError.stepChangedLedger(identifier)
        }
        try settings.dropNewTemporaryObjects(on: db)
        if guardian.sawSchemaWrite || changed.contains("writable_schema") {
            try GRDBMigrationVerifier.readSchemaAnew(in: db)
            try GRDBMigrationVerifier.verifyStructure(in: db)
        }
        return guardian.sawSchemaWrite
    }

    /// Whether a temporary table would receive rows that belong in the ledger.
    private func hasTemporaryLedger() throws -> Bool {
        try db.temporaryObjects().contains { object in
            let name = object.lowercased()
            return [MigrationLedger.table, MigrationJournal.table].contains {
                name.hasSuffix(" \($0)")
            }
        }
    }

    /// Runs the closure of a step that can't run in a transaction.
    ///
    /// - Throws: What the closure throws; `MigrationKitError.stepEndedTransaction(_:)` if it leaves
    ///   a transaction open, which is then rolled back.
    package static func runWithout(
        _ identifier: String,
        in db: Database,
        _ body: (Database) throws -> Void
    ) throws {
        let settings = try ConnectionSettings.outsideTransaction(of: db)
        let result = Result { try db.withSchemaSource(nil) { try body(db) } }
        let leftOpen = db.isInsideTransaction
        if leftOpen { try db.rollback() }
        settings.putBack(on: db)
        let drop = Result { try settings.dropNewTemporaryObjects(on: db) }
        try result.get()
        try drop.get()
        if leftOpen { throw MigrationKitError.stepEndedTransaction(identifier) }
    }

    /// Throws if steps can't share one transaction.
    ///
    /// - Returns: Whether the transaction needs foreign keys off.
    static func checkAllOrNothing(_ steps: [MigrationStep<Database>]) throws -> Bool {
        if let step = steps.first(where: { !$0.usesTransaction }) {
            throw MigrationKitError.notForAllOrNothing(step.identifier, .usesNoTransaction)
        }
        let immediate = steps.filter { $0.foreignKeyChecks == .immediate }
        if let step = immediate.first, immediate.count < steps.count {
            throw MigrationKitError.notForAllOrNothing(step.identifier, .mixedForeignKeyChecks)
        }
        return immediate.isEmpty
    }

    /// Runs a block with foreign keys off, and always turns them on again.
    ///
    /// SQLite's procedure for rebuilding a table requires that they are turned off before the
    /// transaction begins, checked before it is committed, and turned on again afterwards.
    /// <https://www.sqlite.org/lang_altertable.html#otheralter>
    ///
    /// - Parameters:
    ///   - wanted: Whether to turn them off at all.
    ///   - body: The block.
    package static func withForeignKeysOff(
        _ db: Database,
        if wanted: Bool,
        _ body: () throws -> Void
    ) throws {
        guard wanted, try Bool.fetchOne(db, sql: "PRAGMA foreign_keys") ?? false else {
            return try body()
        }
        try db.execute(sql: "PRAGMA foreign_keys = OFF")
        let result = Result { try body() }
        try db.execute(sql: "PRAGMA foreign_keys = ON")
        try result.get()
    }
}

/// Turns a `COMMIT` by the step into a rollback, and detects changes of the ledger and of the
/// schema table.
private final class CommitGuard: TransactionObserver {
    private let identifier: String
    private unowned let db: Database
    private(set) var refusedCommit = false
    private(set) var sawLedgerChange = false

    /// `CREATE` and `ALTER` change that table, too. Writing its rows directly requires
    /// `writable_schema`.
    private(set) var sawSchemaWrite = false

    init(identifier: String, on db: Database) {
        self.identifier = identifier
        self.db = db
    }

    /// GRDB asks before every statement that changes a table. The change itself would be reported
    /// too late: inside a savepoint, only when that ends.
    func observes(eventsOfKind eventKind: DatabaseEventKind) -> Bool {
        let table = eventKind.tableName
        if MigrationLedger.isTable(table) { sawLedgerChange = true }
        if table == "sqlite_master", !sawSchemaWrite { sawSchemaWrite = db.hasWritableSchema }
        return false
    }

    func databaseDidChange(with event: DatabaseEvent) {}

    func databaseWillCommit() throws {
        refusedCommit = true
        throw MigrationKitError.stepEndedTransaction(identifier)
    }

    func databaseDidCommit(_ db: Database) {}
    func databaseDidRollback(_ db: Database) {}
}

// MARK: - Migration Lock

/// Allows only one process at a time to migrate a database.
///
/// The lock is a file beside the database, `NAME-migration.lock`, which the kernel unlocks when its
/// holder ends. Programs that migrate with GRDB alone don't use it. What they do meanwhile is
/// detected under SQLite's own lock.
enum MigrationLock {
    /// Runs a block under the lock.
    ///
    /// - Parameter operation: Whose progress those see who wait for the lock; `nil` to show none.
    static func hold<Value>(
        for writer: any DatabaseWriter,
        options: MigrationOptions,
        operation: LongOperation<MigrationEvent>? = nil,
        _ body: () throws -> Value
    ) throws -> Value {
        guard !writer.configuration.readonly else { throw MigrationKitError.readOnlyDatabase }
        guard !options.isUnderLock else { return try body() }
        // The path as SQLite has resolved it, so that all programs use the same one; empty for a
        // database in memory. <https://www.sqlite.org/pragma.html#pragma_database_list>
        let path = try writer.writeWithoutTransaction { db in
            try String.fetchOne(
                db,
                sql: "SELECT file FROM pragma_database_list WHERE name = 'main'"
            )
        }
        guard let path, !path.isEmpty else { return try body() }

        let lock = FileLock(beside: path, suffix: FileLock.migrationSuffix)
        do {
            return try (operation ?? options.operation).holding(
                lock,
                waitsForProgress: options.waitsForProgress,
                reporting: { .waiting(holder: $0) },
                body
            )
        } catch FileLock.Failure.held(let holder) {
            let seconds = options.lockTimeout
            throw options.waitsForProgress && seconds > 0
                ? MigrationKitError.stalled(path: path, holder: holder, seconds: seconds)
                : MigrationKitError.locked(path: path, holder: holder, seconds: seconds)
        } catch FileLock.Failure.refused(let code) {
            throw MigrationKitError.cannotLock(path: lock.path, code: code)
        }
    }
}

// MARK: - Busy Waiting

/// During a run, waits for SQLite's own locks as long as for the lock between processes.
///
/// Another process has exclusive access while it commits, or for a whole step that changes more
/// than fits its cache. By default, a connection would give up at once, and would not stop waiting
/// if the run is cancelled.
final class BusyWaiting {
    private let operation: LongOperation<MigrationEvent>
    private let limit: Duration
    private var start = ContinuousClock.now
    /// The lock of a migration whose progress is waited for.
    private let lock: FileLock?
    private var sign: FileLock.SignOfProgress?

    /// Runs a block during which the writer's connection waits. If the host's configuration has a
    /// busy handler of its own, that one is used.
    static func during<Value>(
        _ options: MigrationOptions,
        on writer: any DatabaseWriter,
        _ body: () throws -> Value
    ) throws -> Value {
        let ownTimeout: TimeInterval
        switch writer.configuration.busyMode {
        case .callback: return try body()
        case .timeout(let seconds): ownTimeout = seconds
        case .immediateError: ownTimeout = 0
        }

        let operation = options.operation
        let limit = Duration(timeout: max(ownTimeout, options.lockTimeout))
        let path = options.waitsForProgress ? writer.writeWithoutTransaction(\.filePath) : nil
        let lock = path.map { FileLock(beside: $0, suffix: FileLock.migrationSuffix) }
        let waiting = BusyWaiting(operation, limit: limit, lock)
        writer.writeWithoutTransaction { waiting.start(on: $0) }
        defer {
            // > Setting a new busy handler clears any previously set handler.
            // <https://www.sqlite.org/c3ref/busy_handler.html>
            writer.writeWithoutTransaction { db in
                // As GRDB has set it when it opened the connection.
                _ = sqlite3_busy_timeout(db.sqliteConnection, Int32(ownTimeout * 1000))
            }
            withExtendedLifetime(waiting) {}
        }
        do {
            return try body()
        } catch let error as DatabaseError where error.resultCode == .SQLITE_BUSY {
            try operation.checkCancellation()
            throw error
        }
    }

    private init(
        _ operation: LongOperation<MigrationEvent>,
        limit: Duration,
        _ lock: FileLock?
    ) {
        self.operation = operation
        self.limit = limit
        self.lock = lock
    }

    private func start(on db: Database) {
        sqlite3_busy_handler(
            db.sqliteConnection,
            { context, attempt in
                guard let context else { return 0 }
                let waiting = Unmanaged<BusyWaiting>.fromOpaque(context).takeUnretainedValue()
                return waiting.waits(attempt) ? 1 : 0
            },
            Unmanaged.passUnretained(self).toOpaque()
        )
    }

    /// Waits a moment.
    ///
    /// - Parameter attempt: How often SQLite has already asked for the same lock.
    /// - Returns: Whether SQLite should try again.
    private func waits(_ attempt: Int32) -> Bool {
        if attempt == 0 {
            start = .now
            sign = lock?.lastSign
        }
        guard !operation.isCancelled else { return false }
        if .now - start >= limit {
            guard limit > .zero, lock?.hasSign(since: &sign) == true else { return false }
            start = .now
        }
        // A commit takes some milliseconds. Longer waits are reported.
        if attempt == 10 { operation.report(.waiting(holder: nil)) }
        usleep(attempt < 5 ? 1000 << useconds_t(attempt) : 25_000)
        return true
    }
}
