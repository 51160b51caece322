import GRDB
import MigrationKit

extension GRDBMigrationRunner {
    /// Everything that runners have done to the migrations of a database, oldest first.
    ///
    /// What plain GRDB did is not in it, nor what happened before the database had a journal.
    ///
    /// - Parameter writer: The database. It is only read.
    /// - Returns: An entry for every step that was applied, taken back, recorded or repaired.
    /// - Throws: A `DatabaseError` if the database can't be read.
    public static func history(in writer: any DatabaseWriter) throws -> [MigrationHistoryEntry] {
        try writer.read(MigrationJournal.read)
    }

    /// Where every migration stands, all of it read in one transaction.
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
                changed: registry.changed(among: applied, records),
                missing: unknown.missing,
                newer: unknown.newer,
                records: records
            )
        }
    }

    /// What is remembered of the applied steps, by their identifiers: when they were applied, how
    /// long they took, which text they had.
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

    /// The identifiers of the applied steps that this runner should have and hasn't, sorted: it has
    /// later ones. The other applied steps that it doesn't know are a newer program's.
    ///
    /// - Parameter writer: The database. It is only read.
    /// - Throws: A `DatabaseError` if the database can't be read.
    public func missingMigrationIdentifiers(in writer: any DatabaseWriter) throws -> [String] {
        try overview(of: writer).missing
    }

    /// Accepts the text that applied steps have now in place of the one that ran.
    ///
    /// Nothing but the journal is written: whether the database is as the new text would have made
    /// it is for whoever asks for this to know.
    ///
    /// - Parameters:
    ///   - identifiers: The steps.
    ///   - writer: The database, opened for writing.
    ///   - options: How long to wait for another process that is migrating the database.
    /// - Returns: The identifiers of those that had another text, in order.
    /// - Throws: `MigrationKitError.unknownMigrationIdentifier(_:)`;
    ///   `MigrationKitError.databaseIsNewer(unknown:)`.
    @discardableResult
    public func repairMigrations(
        _ identifiers: [String],
        in writer: any DatabaseWriter,
        options: MigrationOptions = MigrationOptions()
    ) throws -> [String] {
        if let unknown = identifiers.first(where: { !migrationIdentifiers.contains($0) }) {
            throw MigrationKitError.unknownMigrationIdentifier(unknown)
        }
        return try MigrationLock.hold(for: writer, options: options) {
            try DurableCommits.during(on: writer) {
                try writer.write { db in
                    let changed = try registry.changed(among: MigrationLedger.read(db), db)
                    let steps = registry.steps.filter {
                        identifiers.contains($0.identifier) && changed.contains($0.identifier)
                    }
                    for step in steps {
                        try MigrationJournal.add(.repaired, step, db)
                    }
                    return steps.map(\.identifier)
                }
            }
        }
    }
}
