import GRDB
import MigrationKit

/// Ensures that GRDB's migrator has recorded a step before the step is committed.
///
/// The migrator writes to the ledger after the step's closure, and doesn't check that its row is
/// there. A trigger can prevent it, or a temporary table of the same name can receive the row.
final class LedgerWitness: TransactionObserver {
    /// How many rows are still missing from the ledger.
    private var missing: Int

    /// Whether the commit has begun. If it fails on the disk, GRDB keeps this for the next transaction.
    private var isOver = false

    /// Watches until the end of the transaction, which can't be committed without the step's row.
    ///
    /// - Parameter removed: How many rows the migrator removes from the ledger, for steps that this
    ///   one replaces.
    static func watch(_ db: Database, removed: Int) {
        db.add(transactionObserver: LedgerWitness(missing: 1 - removed), extent: .nextTransaction)
    }

    private init(missing: Int) {
        self.missing = missing
    }

    func observes(eventsOfKind eventKind: DatabaseEventKind) -> Bool {
        !isOver && MigrationLedger.isTable(eventKind.tableName)
    }

    func databaseDidChange(with event: DatabaseEvent) {
        guard event.databaseName == "main" else { return }
        switch event.kind {
        case .insert: missing -= 1
        case .delete: missing += 1
        case .update: break
        }
    }

    func databaseWillCommit() throws {
        guard isOver || missing == 0 else {
            throw MigrationKitError.unusableTable(MigrationLedger.table)
        }
        isOver = true
    }

    func databaseDidCommit(_ db: Database) {}
    func databaseDidRollback(_ db: Database) {}
}
