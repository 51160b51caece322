import GRDB
import MigrationKit

/// Sees to it that GRDB's migrator records a step before the step is committed.
///
/// The migrator writes the ledger after the step's closure, and doesn't look whether its row got
/// there. A trigger can keep it out, and a temporary table of that name can take it.
final class LedgerWitness: TransactionObserver {
    /// How many rows the ledger lacks yet.
    private var missing: Int

    /// Whether the commit has begun. If it fails on the disk, GRDB keeps this for the next transaction.
    private var isOver = false

    /// Watches until the end of the transaction, which can't be committed without the step's row.
    ///
    /// - Parameter removed: How many rows the migrator takes off the ledger, of steps that this one
    ///   stands for.
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
