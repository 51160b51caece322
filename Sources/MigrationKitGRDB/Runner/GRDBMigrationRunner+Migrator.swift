import GRDB
import MigrationKit

extension GRDBMigrationRunner {
    /// GRDB's own migrator with the same steps, for apps that need its queries.
    ///
    /// Migrating with it uses the same ledger, but without the runner's guarantees: it takes no
    /// lock between processes, verifies nothing, and ends the process if a target is unknown or
    /// comes before the database's state. It runs every step in a transaction, even one that asks
    /// for none.
    public var migrator: DatabaseMigrator {
        var migrator = DatabaseMigrator()
        for step in registry.steps {
            migrator.register(step) { db, merged in try step.applyChecked(db, merging: merged) }
        }
        return migrator
    }
}

extension DatabaseWriter {
    /// Drops everything in the database, which keeps its key. No other process migrates it meanwhile.
    ///
    /// GRDB's own `erase()` copies an empty database over this one, which SQLCipher refuses.
    ///
    /// - Throws: `MigrationKitError.readOnlyDatabase`;
    ///   `MigrationKitError.locked(path:holder:seconds:)`; a `DatabaseError`.
    package func eraseContent() throws {
        try MigrationLock.hold(for: self, options: MigrationOptions()) {
            try barrierWriteWithoutTransaction { db in
                try StepTransaction.withForeignKeysOff(db, if: true) {
                    try db.inTransaction(.immediate) {
                        try db.dropObjects(of: "main")
                        try db.execute(
                            sql: "PRAGMA main.user_version = 0; PRAGMA main.application_id = 0"
                        )
                        return .commit
                    }
                }
                try db.execute(sql: "VACUUM")
                db.forgetSchema()
            }
        }
    }
}
