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
    /// - Parameters:
    ///   - earlier: The violations that may remain.
    ///   - touched: Returns the tables that the step has changed, if only they and those that refer to
    ///     them are checked; it is called after the step.
    /// - Returns: What ``run(_:mayFillLedger:_:)`` returns.
    /// - Throws: What ``run(_:mayFillLedger:_:)`` and ``ForeignKeyCheck`` throw.
    @discardableResult func run(
        _ step: MigrationStep<Database>,
        allowing earlier: ForeignKeyViolations? = nil,
        touching touched: () throws -> Set<String>? = { nil },
        _ body: (Database) throws -> Void
    ) throws -> Bool {
        let wroteSchema = try run(step.identifier, body)
        try ForeignKeyCheck.run(
            after: step,
            allowing: earlier,
            touching: { try wroteSchema ? nil : touched() },
            in: db
        )
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
            do {
                try GRDBMigrationVerifier.verifyStructure(in: db)
            } catch GRDBMigrationVerificationError.quickCheckFailed(let result) {
                throw GRDBMigrationVerificationError.schemaEditFailed(result: result)
            }
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
    ///   a transaction open, which is then rolled back;
    ///   ``GRDBMigrationVerificationError/fullTextMismatch(table:content:)`` if a full-text table
    ///   doesn't match its content any more, as after `VACUUM`.
    package static func runWithout(
        _ identifier: String,
        in db: Database,
        _ body: (Database) throws -> Void
    ) throws {
        let settings = try ConnectionSettings.outsideTransaction(of: db)
        let faults = try FullTextIndex.faults(in: db)
        let result = Result { try db.withSchemaSource(nil) { try body(db) } }
        let leftOpen = db.isInsideTransaction
        if leftOpen { try db.rollback() }
        settings.putBack(on: db)
        let drop = Result { try settings.dropNewTemporaryObjects(on: db) }
        try result.get()
        try drop.get()
        if leftOpen { throw MigrationKitError.stepEndedTransaction(identifier) }
        try FullTextIndex.check(since: faults, in: db)
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
        if MigrationLedger.isTable(table) || MigrationJournal.isTable(table) {
            sawLedgerChange = true
        }
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
