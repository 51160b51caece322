import GRDB
import MigrationKit

/// What a database's ledger and journal say. Nothing is changed.
///
/// Each query takes a database, or a connection to it: inside a transaction, or with a snapshot.
///
/// ```swift
/// try database.read { db in
///     guard try !runner.hasPendingMigrations(in: db) else { throw NotReady() }
///     return try Note.fetchAll(db)
/// }
/// ```
extension GRDBMigrationRunner {
    /// Returns for every step whether it is applied.
    ///
    /// - Parameter reader: The database.
    /// - Returns: A status for every step of the runner, in order.
    /// - Throws: A `DatabaseError` if the database can't be read.
    public func migrationStatus(in reader: any DatabaseReader) throws -> [MigrationStatus] {
        try reader.read { try migrationStatus(in: $0) }
    }

    /// Returns for every step whether it is applied.
    ///
    /// - Parameter db: A connection to the database.
    /// - Returns: A status for every step of the runner, in order.
    /// - Throws: A `DatabaseError` if the database can't be read.
    public func migrationStatus(in db: Database) throws -> [MigrationStatus] {
        let applied = try MigrationLedger.read(db)
        return registry.steps.map { step in
            MigrationStatus(
                identifier: step.identifier,
                sourceFile: step.sourceFile,
                state: applied.has(step.identifier) ? .up : .down
            )
        }
    }

    /// The identifiers of the steps that are not applied, in order.
    ///
    /// - Parameter reader: The database.
    /// - Throws: A `DatabaseError` if the database can't be read.
    public func pendingMigrationIdentifiers(in reader: any DatabaseReader) throws -> [String] {
        try reader.read { try pendingMigrationIdentifiers(in: $0) }
    }

    /// The identifiers of the steps that are not applied, in order.
    ///
    /// - Parameter db: A connection to the database.
    /// - Throws: A `DatabaseError` if the database can't be read.
    public func pendingMigrationIdentifiers(in db: Database) throws -> [String] {
        registry.pending(given: try MigrationLedger.read(db))
    }

    /// Whether a step is not applied.
    ///
    /// - Parameter reader: The database.
    /// - Throws: A `DatabaseError` if the database can't be read.
    public func hasPendingMigrations(in reader: any DatabaseReader) throws -> Bool {
        try reader.read { try hasPendingMigrations(in: $0) }
    }

    /// Whether a step is not applied.
    ///
    /// - Parameter db: A connection to the database.
    /// - Throws: A `DatabaseError` if the database can't be read.
    public func hasPendingMigrations(in db: Database) throws -> Bool {
        try !pendingMigrationIdentifiers(in: db).isEmpty
    }

    /// The identifiers of all applied steps, including those that this runner doesn't have.
    ///
    /// - Parameter reader: The database.
    /// - Throws: A `DatabaseError` if the database can't be read.
    public func appliedMigrationIdentifiers(in reader: any DatabaseReader) throws -> Set<String> {
        try reader.read { try appliedMigrationIdentifiers(in: $0) }
    }

    /// The identifiers of all applied steps, including those that this runner doesn't have.
    ///
    /// - Parameter db: A connection to the database.
    /// - Throws: A `DatabaseError` if the database can't be read.
    public func appliedMigrationIdentifiers(in db: Database) throws -> Set<String> {
        try MigrationLedger.read(db)
    }

    /// The identifiers of the steps of this runner that are applied, in order.
    ///
    /// - Parameter reader: The database.
    /// - Throws: A `DatabaseError` if the database can't be read.
    public func appliedMigrations(in reader: any DatabaseReader) throws -> [String] {
        try reader.read { try appliedMigrations(in: $0) }
    }

    /// The identifiers of the steps of this runner that are applied, in order.
    ///
    /// - Parameter db: A connection to the database.
    /// - Throws: A `DatabaseError` if the database can't be read.
    public func appliedMigrations(in db: Database) throws -> [String] {
        registry.applied(among: try MigrationLedger.read(db)).map(\.identifier)
    }

    /// The identifiers of the steps that are applied together with all steps before them, in order.
    ///
    /// - Parameter reader: The database.
    /// - Throws: A `DatabaseError` if the database can't be read.
    public func completedMigrationIdentifiers(in reader: any DatabaseReader) throws -> [String] {
        try reader.read { try completedMigrationIdentifiers(in: $0) }
    }

    /// The identifiers of the steps that are applied together with all steps before them, in order.
    ///
    /// - Parameter db: A connection to the database.
    /// - Throws: A `DatabaseError` if the database can't be read.
    public func completedMigrationIdentifiers(in db: Database) throws -> [String] {
        let applied = try MigrationLedger.read(db)
        return Array(migrationIdentifiers.prefix { applied.has($0) })
    }

    /// Whether every step is applied.
    ///
    /// - Parameter reader: The database.
    /// - Throws: A `DatabaseError` if the database can't be read.
    public func hasCompletedMigrations(in reader: any DatabaseReader) throws -> Bool {
        try reader.read { try hasCompletedMigrations(in: $0) }
    }

    /// Whether every step is applied.
    ///
    /// - Parameter db: A connection to the database.
    /// - Throws: A `DatabaseError` if the database can't be read.
    public func hasCompletedMigrations(in db: Database) throws -> Bool {
        try !hasPendingMigrations(in: db)
    }

    /// Whether a newer program has applied steps that this runner doesn't have, and with which it may
    /// fail: see `OlderVersions`.
    ///
    /// - Parameter reader: The database.
    /// - Throws: A `DatabaseError` if the database can't be read.
    public func hasBeenSuperseded(in reader: any DatabaseReader) throws -> Bool {
        try reader.read { try hasBeenSuperseded(in: $0) }
    }

    /// Whether a newer program has applied steps that this runner doesn't have, and with which it may
    /// fail: see `OlderVersions`.
    ///
    /// - Parameter db: A connection to the database.
    /// - Throws: A `DatabaseError` if the database can't be read.
    public func hasBeenSuperseded(in db: Database) throws -> Bool {
        let applied = try MigrationLedger.read(db)
        return try !registry.unknown(among: applied).missing.isEmpty
            || registry.newer(among: applied, db).contains { $0.older != .work }
    }

    /// The applied steps that the runner doesn't have, because a newer program applied them, oldest
    /// first. Those that it has begun come last.
    ///
    /// - Parameter reader: The database.
    /// - Returns: What the database's journal says of them.
    /// - Throws: A `DatabaseError` if the database can't be read.
    public func newerMigrations(in reader: any DatabaseReader) throws -> [NewerMigration] {
        try reader.read { try newerMigrations(in: $0) }
    }

    /// The applied steps that the runner doesn't have, because a newer program applied them, oldest
    /// first. Those that it has begun come last.
    ///
    /// - Parameter db: A connection to the database.
    /// - Returns: What the database's journal says of them.
    /// - Throws: A `DatabaseError` if the database can't be read.
    public func newerMigrations(in db: Database) throws -> [NewerMigration] {
        try registry.newer(among: MigrationLedger.read(db), db)
    }

    /// The latest applied step with which versions of the program may fail that don't know it: the
    /// oldest version that works with the database is the one that brought it.
    ///
    /// - Parameter reader: The database.
    /// - Returns: `nil` if no step is recorded to be one.
    /// - Throws: A `DatabaseError` if the database can't be read.
    public func oldestWorking(in reader: any DatabaseReader) throws -> NewerMigration? {
        try reader.read { try oldestWorking(in: $0) }
    }

    /// The latest applied step with which versions of the program may fail that don't know it: the
    /// oldest version that works with the database is the one that brought it.
    ///
    /// - Parameter db: A connection to the database.
    /// - Returns: `nil` if no step is recorded to be one.
    /// - Throws: A `DatabaseError` if the database can't be read.
    public func oldestWorking(in db: Database) throws -> NewerMigration? {
        let applied = try MigrationLedger.read(db)
        let records = try MigrationJournal.records(db)
        let newer = try registry.newer(among: applied, db)
        let known = registry.applied(among: applied).map { step in
            NewerMigration(step.identifier, records[step.identifier])
        }
        return (known + newer).last { $0.older?.reasons.isEmpty == false }
    }

    /// The state of every migration.
    ///
    /// - Parameter reader: The database.
    /// - Returns: What is applied, pending, changed and unknown, and the journal's records.
    /// - Throws: A `DatabaseError` if the database can't be read.
    public func overview(of reader: any DatabaseReader) throws -> MigrationOverview {
        try reader.read { try overview(of: $0) }
    }

    /// The state of every migration.
    ///
    /// - Parameter db: A connection to the database.
    /// - Returns: What is applied, pending, changed and unknown, and the journal's records.
    /// - Throws: A `DatabaseError` if the database can't be read.
    public func overview(of db: Database) throws -> MigrationOverview {
        let started = try MigrationLedger.started(db)
        let applied = started.applied
        let records = try MigrationJournal.records(db).filter { applied.has($0.key) }
        let unknown = registry.unknown(among: applied)
        return MigrationOverview(
            applied: applied,
            pending: registry.pending(given: applied),
            late: registry.late(among: started.all),
            changed: registry.changed(among: applied, records)
                + registry.changed(begun: started.begun),
            missing: unknown.missing,
            newer: unknown.newer,
            records: records,
            begun: started.begun
                .mapValues { .init(since: $0.since, rowsChanged: $0.progress.rowsChanged) }
        )
    }

    /// What is recorded about the applied steps, by identifier: when they were applied, how long
    /// they took, and which text they had.
    ///
    /// - Parameter reader: The database.
    /// - Returns: A record for every applied step that the journal knows.
    /// - Throws: A `DatabaseError` if the database can't be read.
    public func migrationRecords(
        in reader: any DatabaseReader
    ) throws -> [String: MigrationRecord] {
        try reader.read { try migrationRecords(in: $0) }
    }

    /// What is recorded about the applied steps, by identifier: when they were applied, how long
    /// they took, and which text they had.
    ///
    /// - Parameter db: A connection to the database.
    /// - Returns: A record for every applied step that the journal knows.
    /// - Throws: A `DatabaseError` if the database can't be read.
    public func migrationRecords(in db: Database) throws -> [String: MigrationRecord] {
        try overview(of: db).records
    }

    /// The identifiers of the steps that were changed after they were applied, in order, and then of those
    /// that were changed after their batches had begun.
    ///
    /// - Parameter reader: The database.
    /// - Throws: A `DatabaseError` if the database can't be read.
    public func changedMigrationIdentifiers(in reader: any DatabaseReader) throws -> [String] {
        try reader.read { try changedMigrationIdentifiers(in: $0) }
    }

    /// The identifiers of the steps that were changed after they were applied, in order, and then of those
    /// that were changed after their batches had begun.
    ///
    /// - Parameter db: A connection to the database.
    /// - Throws: A `DatabaseError` if the database can't be read.
    public func changedMigrationIdentifiers(in db: Database) throws -> [String] {
        try overview(of: db).changed
    }

    /// The identifiers of the applied steps that are missing from this runner, sorted: it has later
    /// ones. All other applied steps that it doesn't have belong to a newer program.
    ///
    /// - Parameter reader: The database.
    /// - Throws: A `DatabaseError` if the database can't be read.
    public func missingMigrationIdentifiers(in reader: any DatabaseReader) throws -> [String] {
        try reader.read { try missingMigrationIdentifiers(in: $0) }
    }

    /// The identifiers of the applied steps that are missing from this runner, sorted: it has later
    /// ones. All other applied steps that it doesn't have belong to a newer program.
    ///
    /// - Parameter db: A connection to the database.
    /// - Throws: A `DatabaseError` if the database can't be read.
    public func missingMigrationIdentifiers(in db: Database) throws -> [String] {
        try overview(of: db).missing
    }

    /// Everything that runners have done to the migrations of a database, oldest first.
    ///
    /// It doesn't include what plain GRDB did, or what happened before the database had a journal.
    ///
    /// - Parameter reader: The database.
    /// - Returns: An entry for every step that was applied, rolled back, recorded or repaired.
    /// - Throws: A `DatabaseError` if the database can't be read.
    public static func history(in reader: any DatabaseReader) throws -> [MigrationHistoryEntry] {
        try reader.read { try history(in: $0) }
    }

    /// Everything that runners have done to the migrations of a database, oldest first.
    ///
    /// It doesn't include what plain GRDB did, or what happened before the database had a journal.
    ///
    /// - Parameter db: A connection to the database.
    /// - Returns: An entry for every step that was applied, rolled back, recorded or repaired.
    /// - Throws: A `DatabaseError` if the database can't be read.
    public static func history(in db: Database) throws -> [MigrationHistoryEntry] {
        try MigrationJournal.read(db)
    }
}
