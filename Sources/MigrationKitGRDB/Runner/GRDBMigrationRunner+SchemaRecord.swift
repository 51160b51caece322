import GRDB

extension GRDBMigrationRunner {
    /// Whether nothing but the steps makes the schema.
    private var hasOnlySteps: Bool { integration.bootstrapSchema == nil }

    /// Begins a run after which the steps needn't run again for a comparison.
    func beginSchemaRecord(_ db: Database) throws -> SchemaRecord? {
        try hasOnlySteps ? SchemaRecord(beginning: registry, db) : nil
    }

    /// Whether the journal says that the applied steps gave this schema.
    package func hasSchemaRecord(
        of objects: [SchemaObject],
        applied: Set<String>,
        _ db: Database
    ) throws -> Bool {
        try hasOnlySteps && SchemaRecord.holds(objects, registry, applied, db)
    }
}
