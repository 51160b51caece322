import Foundation
import GRDB
import MigrationKit

extension GRDBMigrationRunner {
    /// Compares the schema of a database with the one that its applied steps give.
    ///
    /// A table that was dropped, altered or added behind the runner's back is found:
    ///
    /// ```swift
    /// switch try runner.drift(in: writer) {
    /// case .same: break
    /// case .differs(let difference): report(difference.changes)
    /// case .notCompared(let reason): log(reason)
    /// }
    /// ```
    ///
    /// The host's `bootstrapSchema` and the applied steps run on a new database in memory, in the
    /// order of the runner. What their closures do outside of the database, they do again. Steps
    /// that all have a checksum needn't run if the journal has a record of the same schema. Tables
    /// of SQLite, of GRDB and of virtual tables' modules are left out on both sides.
    ///
    /// - Parameters:
    ///   - writer: The database. It is only read.
    ///   - names: Tables and views that are left out, with their indexes and triggers, such as
    ///     those that the app makes outside of its steps. A `*` at the end stands for any
    ///     characters. The case of ASCII letters is ignored.
    ///   - configuration: The configuration of the database in memory, with the functions and
    ///     collations that the steps use; `nil` for the writer's, which includes its key.
    ///   - options: The cancellation.
    /// - Returns: What differs, or why that can't be determined.
    /// - Throws: A `DatabaseError` if the database can't be read; a `CancellationError`.
    public func drift(
        in writer: any DatabaseWriter,
        ignoring names: [String] = [],
        configuration: Configuration? = nil,
        options: VerificationOptions = VerificationOptions()
    ) throws -> SchemaDrift {
        try drift(
            in: writer,
            DriftOptions(ignoring: names, configuration: configuration),
            cancellation: options.cancellation
        )
    }

    package func drift(
        in writer: any DatabaseWriter,
        _ options: DriftOptions,
        cancellation: Cancellation? = nil
    ) throws -> SchemaDrift {
        do {
            return try compare(writer, options, cancellation: cancellation)
        } catch let failure as MigratedMemory.Failure {
            return .notCompared(reason: failure.text)
        }
    }

    /// - Throws: `MigratedMemory.Failure`; and what ``drift(in:ignoring:configuration:options:)``
    ///   throws.
    private func compare(
        _ writer: any DatabaseWriter,
        _ options: DriftOptions,
        cancellation: Cancellation? = nil
    ) throws -> SchemaDrift {
        try cancellation?.check()
        let (applied, present, isRecorded) = try writer.read { db in
            let applied = try MigrationLedger.read(db)
            let texts = try SchemaTexts(db)
            return (
                applied, texts,
                try hasOnlySteps && SchemaRecord.holds(texts, registry, applied, db)
            )
        }
        guard !applied.isEmpty else { return .notCompared(reason: "no migration is applied") }
        let steps = registry.applied(among: applied)
        let identifiers = Set(steps.map(\.identifier))
        let known = steps.reduce(into: identifiers) { $0.formUnion($1.mergedIdentifiers) }
        guard applied.isSubset(of: known) else {
            return .notCompared(reason: "unknown migrations are applied")
        }
        if isRecorded { return .same }
        let memory =
            try options.shared?(identifiers)
            ?? MigratedMemory(
                self,
                identifiers,
                options.configuration ?? writer.configuration,
                cancellation: cancellation
            ).queue
        // The usual case, without reading every table's columns.
        guard try memory.read(SchemaTexts.init) != present else { return .same }

        let (now, schema, ignored) = try writer.read { db in
            let ignored = try options.ignoredNames + (options.ignoredIn?(db) ?? [])
            return (
                try MigrationLedger.read(db),
                try DatabaseSchema(of: db).ignoring(tables: ignored), ignored
            )
        }
        // Another process may have migrated the database meanwhile.
        guard now == applied else {
            return try compare(writer, options, cancellation: cancellation)
        }
        let difference = try SchemaDifference(
            from: schema,
            to: memory.read(DatabaseSchema.init(of:)).ignoring(tables: ignored)
        )
        guard !difference.isEmpty else { return .same }
        return difference.changes.allSatisfy(\.isOrderOfColumns)
            ? .sameInOtherOrder(difference.changes) : .differs(difference)
    }
}

extension GRDBMigrationRunner {
    /// Whether nothing but the steps makes the schema.
    private var hasOnlySteps: Bool { integration.bootstrapSchema == nil }

    /// Begins a run after which the steps needn't run again for a comparison.
    func beginSchemaRecord(_ db: Database) throws -> SchemaRecord? {
        try hasOnlySteps ? SchemaRecord(beginning: registry, db) : nil
    }
}

extension GRDBMigrationRunner {
    /// Whether the applied steps, run again, would produce another schema than the database has, or
    /// steps are applied that the runner doesn't have.
    ///
    /// For development: detects that a step was changed after it was applied. The steps run on a
    /// new database in memory with this one's configuration, including its key. For what differs,
    /// see ``drift(in:ignoring:configuration:options:)``.
    ///
    /// - Parameter writer: The database. It is only read.
    /// - Throws: What a step throws on the new database.
    public func hasSchemaChanges(in writer: any DatabaseWriter) throws -> Bool {
        if try hasBeenSuperseded(in: writer) { return true }
        do {
            return try !compare(writer, DriftOptions()).changes.isEmpty
        } catch let failure as MigratedMemory.Failure {
            if let error = failure.underlying { throw error }
            return false
        }
    }
}
