import GRDB
import MigrationKit

/// What every step runs in, forward and back: the raw schema, a transaction that the step can't
/// end, and temporary storage that it can't move to the disk.
struct StepTransaction {
    let db: Database
    private let temporaryObjects: Statement
    private let settings: ConnectionSettings

    /// - Parameter db: A connection with an open transaction, in which one step runs, or several.
    init(on db: Database) throws {
        self.db = db
        // Compiling this opens the temporary database. From then on SQLite refuses to move it while
        // a transaction is active: a step that sets `temp_store` fails, and no sorter writes a row
        // to the disk in the clear. <https://www.sqlite.org/pragma.html#pragma_temp_store>
        temporaryObjects = try db.makeStatement(sql: "SELECT 1 FROM sqlite_temp_schema")
        try db.holdJournalMode()
        settings = try ConnectionSettings.withinTransaction(of: db)
    }

    /// Runs a step's closure.
    ///
    /// - Parameter mayFillLedger: Whether recording steps is part of it.
    /// - Throws: What the closure throws; `MigrationKitError.stepEndedTransaction(_:)`;
    ///   `MigrationKitError.stepChangedLedger(_:)`.
    func run(
        _ identifier: String,
        mayFillLedger: Bool = false,
        _ body: (Database) throws -> Void
    ) throws {
        let guardian = CommitGuard(identifier: identifier, on: db)
        db.add(transactionObserver: guardian)
        defer { db.remove(transactionObserver: guardian) }

        let result = Result { try db.withSchemaSource(nil) { try body(db) } }
        let changed = settings.putBack(on: db)
        do {
            try result.get()
        } catch {
            // SQLite itself ends the transaction where the disk is full, for example, and then its
            // error is the one to throw. Where the step did it, the error of the next statement
            // (GRDB's: the transaction was aborted) says little.
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
        // After most steps there is nothing temporary at all.
        let hasTemporary = try Row.fetchOne(temporaryObjects) != nil
        guard isUntouched, try !(hasTemporary && hasTemporaryLedger()) else {
            throw MigrationKitError.stepChangedLedger(identifier)
        }
        if guardian.sawSchemaWrite || changed.contains("writable_schema") {
            try GRDBMigrationVerifier.readSchemaAnew(in: db)
            try GRDBMigrationVerifier.verifyStructure(in: db)
        }
    }

    /// Whether there is a temporary table that would get what belongs into the ledger.
    private func hasTemporaryLedger() throws -> Bool {
        try Bool.fetchOne(
            db,
            sql: """
                SELECT EXISTS (
                    SELECT 1 FROM sqlite_temp_schema WHERE lower(name) IN (?, ?)
                )
                """,
            arguments: [MigrationLedger.table, MigrationJournal.table]
        ) ?? false
    }

    /// Runs the closure of a step that can't be in a transaction.
    ///
    /// - Throws: What the closure throws; `MigrationKitError.stepEndedTransaction(_:)` if it leaves
    ///   a transaction open, which is then rolled back.
    static func runWithout(
        _ identifier: String,
        in db: Database,
        _ body: (Database) throws -> Void
    ) throws {
        let settings = try ConnectionSettings.outsideTransaction(of: db)
        let result = Result { try db.withSchemaSource(nil) { try body(db) } }
        let leftOpen = db.isInsideTransaction
        if leftOpen { try db.rollback() }
        settings.putBack(on: db)
        try result.get()
        if leftOpen { throw MigrationKitError.stepEndedTransaction(identifier) }
    }

    /// Refuses steps that can't share one transaction.
    ///
    /// - Returns: Whether the transaction wants foreign keys off.
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

    /// Runs a block with foreign keys off, and turns them on again on every path.
    ///
    /// SQLite's procedure for rebuilding a table wants them off before the transaction begins,
    /// checked before it is committed, and on again afterwards.
    /// <https://www.sqlite.org/lang_altertable.html#otheralter>
    ///
    /// - Parameters:
    ///   - wanted: Whether they are to be off at all.
    ///   - body: What runs.
    static func withForeignKeysOff(
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

/// Turns a `COMMIT` of the step's own into a rollback, and looks out for changes of the ledger and of
/// the schema's own table.
private final class CommitGuard: TransactionObserver {
    private let identifier: String
    private unowned let db: Database
    private(set) var refusedCommit = false
    private(set) var sawLedgerChange = false

    /// `CREATE` and `ALTER` change that table, too. What writes its rows directly needs
    /// `writable_schema`.
    private(set) var sawSchemaWrite = false

    init(identifier: String, on db: Database) {
        self.identifier = identifier
        self.db = db
    }

    /// GRDB asks before every statement that changes a table. What it changes isn't waited for:
    /// inside a savepoint, that is reported too late.
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
