import GRDB
import MigrationKit

extension GRDBMigrationRunner {
    /// Everything that runners have done to the migrations of a database, oldest first.
    ///
    /// It doesn't include what plain GRDB did, or what happened before the database had a journal.
    ///
    /// - Parameter writer: The database. It is only read.
    /// - Returns: An entry for every step that was applied, rolled back, recorded or repaired.
    /// - Throws: A `DatabaseError` if the database can't be read.
    public static func history(in writer: any DatabaseWriter) throws -> [MigrationHistoryEntry] {
        try writer.read(MigrationJournal.read)
    }

    /// The state of every migration, all read in one transaction.
    ///
    /// - Parameter writer: The database. It is only read.
    /// - Throws: A `DatabaseError` if the database can't be read.
    public func overview(of writer: any DatabaseWriter) throws -> MigrationOverview {
        try writer.read { db in
            let applied = try MigrationLedger.read(db)
            let records = try MigrationJournal.records(db).filter { applied.contains($0.key) }
            let unknown = registry.unknown(among: applied)
            return MigrationOverview(
                applied: applied,
                pending: registry.pending(given: applied),
                late: registry.late(among: applied),
                changed: registry.changed(among: applied, records),
                missing: unknown.missing,
                newer: unknown.newer,
                records: records
            )
        }
    }

    /// What is recorded about the applied steps, by identifier: when they were applied, how long
    /// they took, and which text they had.
    ///
    /// - Parameter writer: The database. It is only read.
    /// - Returns: A record for every applied step that the journal knows.
    /// - Throws: A `DatabaseError` if the database can't be read.
    public func migrationRecords(
        in writer: any DatabaseWriter
    ) throws -> [String: MigrationRecord] {
        try overview(of: writer).records
    }

    /// The identifiers of the steps that were changed after they were applied, in order.
    ///
    /// - Parameter writer: The database. It is only read.
    /// - Throws: A `DatabaseError` if the database can't be read.
    public func changedMigrationIdentifiers(in writer: any DatabaseWriter) throws -> [String] {
        try overview(of: writer).changed
    }

    /// The identifiers of the applied steps that are missing from this runner, sorted: it has later
    /// ones. All other applied steps that it doesn't have belong to a newer program.
    ///
    /// - Parameter writer: The database. It is only read.
    /// - Throws: A `DatabaseError` if the database can't be read.
    public func missingMigrationIdentifiers(in writer: any DatabaseWriter) throws -> [String] {
        try overview(of: writer).missing
    }
}
