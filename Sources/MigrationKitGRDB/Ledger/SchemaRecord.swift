import GRDB
import MigrationKit

/// What the journal knows about the schema at the end of a run: the applied steps gave it, and
/// nothing else changed it.
///
/// This holds after a run if it held before it, or the database was empty, and no other connection
/// wrote meanwhile. As long as the schema and the steps are the recorded ones, they needn't be
/// compared by running every step again.
struct SchemaRecord {
    private let registry: MigrationRegistry<Database>
    private let dataVersion: Int

    /// Begins a run.
    ///
    /// - Returns: `nil` if something other than the steps may have changed the schema.
    init?(beginning registry: MigrationRegistry<Database>, _ db: Database) throws {
        self.registry = registry
        // What is committed after this changes the version.
        dataVersion = try MigrationLedger.dataVersion(db)
        guard registry.steps.contains(where: { $0.checksum != nil }) else { return nil }
        let applied = try MigrationLedger.read(db)
        let objects = try SchemaObject.own(of: db)
        guard
            try applied.isEmpty
                ? objects.isEmpty : Self.holds(objects, registry, applied, db)
        else { return nil }
    }

    /// Whether the journal's last record is of this schema and these steps.
    static func holds(
        _ objects: [SchemaObject],
        _ registry: MigrationRegistry<Database>,
        _ applied: Set<String>,
        _ db: Database
    ) throws -> Bool {
        guard let fingerprint = fingerprint(objects, registry, applied) else { return false }
        return try fingerprint == MigrationJournal.schemaFingerprint(db)
    }

    /// Adds the record at the end of the run, in the transaction of its last step.
    func add(applied: Set<String>, _ db: Database) throws {
        guard try MigrationLedger.dataVersion(db) == dataVersion,
            let last = registry.applied(among: applied).last?.identifier,
            let fingerprint = try Self.fingerprint(SchemaObject.own(of: db), registry, applied)
        else { return }
        try MigrationJournal.add(schemaFingerprint: fingerprint, after: last, db)
    }

    private static func fingerprint(
        _ objects: [SchemaObject],
        _ registry: MigrationRegistry<Database>,
        _ applied: Set<String>
    ) -> String? {
        // Steps in another order could give another schema.
        let steps = registry.steps.prefix(applied.count)
        guard applied == Set(steps.map(\.identifier)) else { return nil }
        return objects.fingerprint(of: steps)
    }
}
