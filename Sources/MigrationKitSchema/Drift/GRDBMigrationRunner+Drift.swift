import Foundation
import GRDB
import MigrationKitGRDB

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
    /// The host's `bootstrapSchema` and the applied steps run on a new database, in the order of the
    /// runner. What their closures do outside of the database, they do again. Like the compared
    /// database, the new one is a file or in memory. The file is temporary, and has the key that the
    /// writer's configuration gives. Steps that all have a checksum needn't run if the journal has a record of the same schema. Tables
    /// of SQLite, of GRDB and of virtual tables' modules are left out on both sides.
    ///
    /// - Parameters:
    ///   - writer: The database. It is only read.
    ///   - names: Tables and views that are left out, with their indexes and triggers, such as
    ///     those that the app makes outside of its steps. A `*` at the end stands for any
    ///     characters. The case of ASCII letters is ignored.
    ///   - configuration: The functions and collations that the steps use, for a new database in
    ///     memory; `nil` for the writer's configuration, which includes its key.
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
            cancellation: options.operation.cancellation
        )
    }

    package func drift(
        in writer: any DatabaseWriter,
        _ options: DriftOptions,
        cancellation: Cancellation? = nil
    ) throws -> SchemaDrift {
        do {
            return try compare(writer, options, cancellation: cancellation)
        } catch let error as GRDBMigrationReplayError {
            return .notCompared(reason: error.reason)
        }
    }

    /// - Throws: ``GRDBMigrationReplayError``; and what
    ///   ``drift(in:ignoring:configuration:options:)`` throws.
    private func compare(
        _ reader: any DatabaseReader,
        _ options: DriftOptions,
        cancellation: Cancellation? = nil
    ) throws -> SchemaDrift {
        try cancellation?.check()
        let present = try reader.read(presentSchema)
        let drift = try replaying(present, options, reader.configuration, cancellation) {
            replayed in
            try reader.read { db -> SchemaDrift? in
                // Another process may have migrated the database meanwhile.
                guard try MigrationLedger.read(db) == present.applied else { return nil }
                return try difference(between: db, and: replayed, options)
            }
        }
        return try drift ?? compare(reader, options, cancellation: cancellation)
    }

    private func presentSchema(_ db: Database) throws -> PresentSchema {
        let applied = try MigrationLedger.read(db)
        let objects = try SchemaObject.own(of: db)
        return PresentSchema(
            applied: applied,
            objects: objects,
            isRecorded: try hasSchemaRecord(of: objects, applied: applied, db),
            hasFile: db.filePath != nil
        )
    }

    /// Runs the applied steps on a new database, unless there is no need for it.
    ///
    /// - Parameters:
    ///   - configuration: That of the database that is compared.
    ///   - compare: Compares the database with the new one, if their schemas differ.
    private func replaying(
        _ present: PresentSchema,
        _ options: DriftOptions,
        _ configuration: Configuration,
        _ cancellation: Cancellation? = nil,
        _ compare: (_ replayed: DatabaseQueue) throws -> SchemaDrift?
    ) throws -> SchemaDrift? {
        let applied = present.applied
        guard !applied.isEmpty else { return .notCompared(reason: "no migration is applied") }
        let steps = registry.applied(among: applied)
        let identifiers = Set(steps.map(\.identifier))
        let known = steps.reduce(into: identifiers) { $0.formUnion($1.mergedIdentifiers) }
        guard applied.isSubset(of: known) else {
            return .notCompared(reason: "unknown migrations are applied")
        }
        if present.isRecorded { return .same }
        func look(_ replayed: DatabaseQueue) throws -> SchemaDrift? {
            // The usual case, without reading every table's columns.
            try replayed.read(SchemaObject.own) == present.objects ? .same : compare(replayed)
        }
        if let shared = try options.shared?(identifiers) { return try look(shared) }
        if options.configuration == nil, present.hasFile {
            return try StepReplay.inFile(
                self,
                identifiers,
                configuration,
                cancellation: cancellation,
                look
            )
        }
        return try look(
            StepReplay.inMemory(
                self,
                identifiers,
                options.configuration ?? configuration,
                cancellation: cancellation
            )
        )
    }

    private func difference(
        between db: Database,
        and replayed: DatabaseQueue,
        _ options: DriftOptions
    ) throws -> SchemaDrift {
        let target = try replayed.read(DatabaseSchema.init(of:))
        let ignored =
            try options.ignoredNames
            + (options.ignoredIn?(db) ?? []).filter { target.model.table($0) == nil }
        let difference = try SchemaDifference(
            from: DatabaseSchema(of: db).ignoring(tables: ignored),
            to: target.ignoring(tables: ignored)
        )
        guard !difference.isEmpty else { return .same }
        return difference.changes.allSatisfy(\.isOrderOfColumns)
            ? .sameInOtherOrder(difference.changes) : .differs(difference)
    }
}

/// What a comparison reads of a database first.
private struct PresentSchema {
    let applied: Set<String>
    let objects: [SchemaObject]
    /// Whether the journal says that the steps gave this schema.
    let isRecorded: Bool
    let hasFile: Bool
}

extension GRDBMigrationRunner {
    /// Whether the applied steps, run again, would produce another schema than the database has, or
    /// steps are applied that the runner doesn't have.
    ///
    /// For development: detects that a step was changed after it was applied. The steps run on a
    /// new database with this one's configuration, including its key: a temporary file, or a
    /// database in memory if this one is. For what differs, see
    /// ``drift(in:ignoring:configuration:options:)``.
    ///
    /// - Parameter reader: The database.
    /// - Throws: ``GRDBMigrationReplayError`` if the steps, or the configuration's
    ///   `prepareDatabase`, fail on the new database; a `DatabaseError` if the database can't be
    ///   read.
    public func hasSchemaChanges(in reader: any DatabaseReader) throws -> Bool {
        try hasUnknownMigrations(in: reader) || differs { try compare(reader, DriftOptions()) }
    }

    /// Whether the applied steps, run again, would produce another schema than the database has, or
    /// steps are applied that the runner doesn't have.
    ///
    /// - Parameter db: A connection to the database. It may be inside a transaction.
    /// - Throws: As for a database reader.
    public func hasSchemaChanges(in db: Database) throws -> Bool {
        try hasUnknownMigrations(in: db)
            || differs { try drift(in: db, DriftOptions()) }
    }

    /// Compares the schema inside a transaction.
    ///
    /// - Throws: ``GRDBMigrationReplayError``; a `DatabaseError`.
    func drift(in db: Database, _ options: DriftOptions) throws -> SchemaDrift {
        let configuration = options.configuration ?? db.configuration
        let drift = try replaying(presentSchema(db), options, configuration) { replayed in
            try difference(between: db, and: replayed, options)
        }
        return drift ?? .same
    }

    /// Compares the schema with the one that these steps give, whatever is recorded as applied.
    ///
    /// - Throws: ``GRDBMigrationReplayError``; a `DatabaseError`.
    package func drift(
        in db: Database,
        from identifiers: [String],
        _ options: DriftOptions
    ) throws -> SchemaDrift {
        let configuration = options.configuration ?? db.configuration
        return try difference(
            between: db,
            and: StepReplay.inMemory(self, Set(identifiers), configuration),
            options
        )
    }

    private func hasUnknownMigrations(in reader: any DatabaseReader) throws -> Bool {
        try reader.read(hasUnknownMigrations)
    }

    private func hasUnknownMigrations(in db: Database) throws -> Bool {
        let unknown = registry.unknown(among: try appliedMigrationIdentifiers(in: db))
        return !unknown.newer.isEmpty || !unknown.missing.isEmpty
    }

    private func differs(_ compare: () throws -> SchemaDrift?) throws -> Bool {
        do {
            return try compare()?.changes.isEmpty == false
        } catch let error as GRDBMigrationReplayError where error.underlying == nil {
            return false
        }
    }
}
