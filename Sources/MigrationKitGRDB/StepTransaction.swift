import GRDB
import MigrationKit

/// What every step runs in, forward and back: the raw schema, a transaction that the step can't
/// end, and temporary storage that it can't move to the disk.
enum StepTransaction {
    /// Runs a step's closure inside the transaction that is open on the connection.
    ///
    /// - Throws: What the closure throws; `MigrationKitError.stepEndedTransaction(_:)`.
    static func run(
        _ identifier: String,
        in db: Database,
        _ body: @Sendable (Database) throws -> Void
    ) throws {
        // Once the temporary database is open, SQLite refuses to move it while a transaction is
        // active: a step that sets `temp_store` fails, and no sorter writes a row to the disk in
        // the clear. <https://www.sqlite.org/pragma.html#pragma_temp_store>
        _ = try Row.fetchOne(db, sql: "SELECT 1 FROM sqlite_temp_schema")

        let guardian = CommitGuard(identifier: identifier)
        db.add(transactionObserver: guardian)
        defer { db.remove(transactionObserver: guardian) }

        do {
            try db.withSchemaSource(nil) { try body(db) }
        } catch {
            // The first error that follows a transaction which the step ended says little.
            if !db.isInsideTransaction, guardian.sawEnd {
                throw MigrationKitError.stepEndedTransaction(identifier)
            }
            throw error
        }
        guard db.isInsideTransaction else {
            throw MigrationKitError.stepEndedTransaction(identifier)
        }
    }

    /// Runs a block with foreign keys off, and turns them on again on every path.
    ///
    /// SQLite's procedure for rebuilding a table wants them off before the transaction begins,
    /// checked before it is committed, and on again afterwards.
    /// <https://www.sqlite.org/lang_altertable.html#otheralter>
    ///
    /// - Parameter body: Gets whether foreign keys were on, and so must be checked.
    static func withForeignKeysOff(
        _ db: Database,
        _ body: (_ wereOn: Bool) throws -> Void
    ) throws {
        guard try Bool.fetchOne(db, sql: "PRAGMA foreign_keys") ?? false else {
            return try body(false)
        }
        try db.execute(sql: "PRAGMA foreign_keys = OFF")
        let result = Result { try body(true) }
        try db.execute(sql: "PRAGMA foreign_keys = ON")
        try result.get()
    }
}

/// Turns a `COMMIT` of the step's own into a rollback.
private final class CommitGuard: TransactionObserver {
    private let identifier: String
    private(set) var sawEnd = false

    init(identifier: String) {
        self.identifier = identifier
    }

    func observes(eventsOfKind eventKind: DatabaseEventKind) -> Bool { false }
    func databaseDidChange(with event: DatabaseEvent) {}

    func databaseWillCommit() throws {
        sawEnd = true
        throw MigrationKitError.stepEndedTransaction(identifier)
    }

    func databaseDidCommit(_ db: Database) {}

    func databaseDidRollback(_ db: Database) {
        sawEnd = true
    }
}
