import GRDB
import MigrationKit

extension GRDBMigrationRunner {
    /// Runs all pending steps and the verification, and undoes them.
    ///
    /// The steps really run, on the real rows, in one transaction that is rolled back: what fails
    /// here would fail in a run. Other programs can't write meanwhile. The host's
    /// `verifyPostMigration` doesn't run, since it needs committed steps.
    ///
    /// - Parameters:
    ///   - writer: The database, opened for writing.
    ///   - targetIdentifier: The last step to apply; `nil` for all.
    ///   - count: How many steps at most; `nil` for all.
    ///   - options: How the run works. It is always all or nothing.
    /// - Returns: What a run would do.
    /// - Throws: What a run would throw; `MigrationKitError.notForAllOrNothing(_:_:)` for steps that
    ///   can't be undone.
    public func dryRun(
        in writer: any DatabaseWriter,
        upTo targetIdentifier: String? = nil,
        steps count: Int? = nil,
        options: MigrationOptions = MigrationOptions()
    ) throws -> MigrationPreview {
        try forwardRun(on: writer, upTo: targetIdentifier, steps: count, options: options).preview()
    }

    /// A dry run for a database in which another tool has recorded applied steps: they are first
    /// recorded as applied. The recording is undone with the rest.
    ///
    /// - Parameters:
    ///   - writer: The database, opened for writing.
    ///   - identifiers: The steps to record. They don't run.
    ///   - targetIdentifier: The last step to apply; `nil` for all.
    ///   - count: How many steps at most; `nil` for all.
    ///   - options: How the run works. It is always all or nothing.
    /// - Returns: What a run would do.
    /// - Throws: What ``dryRun(in:upTo:steps:options:)`` throws;
    ///   `MigrationKitError.unknownMigrationIdentifier(_:)`.
    public func dryRun(
        in writer: any DatabaseWriter,
        recording identifiers: [String],
        upTo targetIdentifier: String? = nil,
        steps count: Int? = nil,
        options: MigrationOptions = MigrationOptions()
    ) throws -> MigrationPreview {
        let bootstrap = integration.bootstrapSchema
        // The hook runs in the transaction, before the plan is made again.
        let integration = Integration(
            bootstrapSchema: { db in
                _ = try record(identifiers, in: db)
                return try bootstrap?(db) ?? false
            },
            verifyIntegrity: integration.verifyIntegrity,
            verifyPostMigration: integration.verifyPostMigration
        )
        let recorded = Set(identifiers)
        let registry = try MigrationRegistry(
            // Recorded steps don't run, so they can't prevent a single transaction.
            steps: steps.map { recorded.contains($0.identifier) ? $0.withoutEffect : $0 },
            enforceLexicographicOrder: false,
            allowsOutOfOrder: registry.allowsOutOfOrder
        )
        let runner = GRDBMigrationRunner(self, registry: registry, integration: integration)
        return try runner.dryRun(
            in: writer,
            upTo: targetIdentifier,
            steps: count,
            options: options
        )
    }

    /// The steps that a run would apply, in order, without running any.
    ///
    /// - Parameters:
    ///   - writer: The database. It is only read.
    ///   - targetIdentifier: The last step to apply; `nil` for all.
    ///   - count: How many steps at most; `nil` for all.
    ///   - transaction: Whether the run commits its steps one by one or together.
    /// - Returns: The pending steps.
    /// - Throws: What a run would throw before its first step;
    ///   `MigrationKitError.notForAllOrNothing(_:_:)` for steps that can't share a transaction.
    public func plannedSteps(
        in writer: any DatabaseWriter,
        upTo targetIdentifier: String? = nil,
        steps count: Int? = nil,
        transaction: MigrationTransaction = .perStep
    ) throws -> [Step] {
        let run = try forwardRun(
            on: writer,
            upTo: targetIdentifier,
            steps: count,
            options: MigrationOptions(transaction: transaction)
        )
        let steps = try run.plan().pending
        if transaction == .allOrNothing { _ = try StepTransaction.checkAllOrNothing(steps) }
        return steps
    }
}

extension MigrationStep<Database> {
    /// A step of the same name and text that does nothing.
    fileprivate var withoutEffect: Self {
        MigrationStep(
            identifier: identifier,
            sourceFile: sourceFile,
            checksum: checksum,
            apply: { _ in }
        )
    }
}

extension ForwardRun {
    func preview() throws -> MigrationPreview {
        try monitor.naming(for: writer, log: runner.log) {
            try BusyWaiting.during(options, on: writer, tryOut)
        }
    }

    private func tryOut() throws -> MigrationPreview {
        let before = try writer.writeWithoutTransaction(SchemaObjects.init)
        // With nothing to do, take no lock: a lock file can't be created on a read-only medium.
        guard try runner.integration.bootstrapSchema != nil || !plan().isEmpty else {
            return MigrationPreview(
                steps: [],
                schemaBefore: before.sql,
                schemaAfter: before.sql,
                objects: []
            )
        }
        var after = before
        var steps: [MigrationReport.Step] = []
        try MigrationLock.hold(for: writer, options: options) {
            try applyAllOrNothing(ending: .rollback) { db in
                after = try SchemaObjects(db)
                steps = monitor.steps
            }
        }
        return MigrationPreview(
            steps: steps,
            schemaBefore: before.sql,
            schemaAfter: after.sql,
            objects: before.changes(to: after)
        )
    }
}

/// The objects of a schema.
private struct SchemaObjects {
    private struct Name: Hashable {
        let type: String
        let name: String
    }

    let sql: String
    private var definitions: [Name: String] = [:]

    init(_ db: Database) throws {
        sql = try GRDBSchemaSnapshotProvider.snapshot(of: db)
        for row in try GRDBSchemaSnapshotProvider.objects(of: db) {
            definitions[Name(type: row["type"], name: row["name"])] = row["sql"]
        }
    }

    func changes(to other: SchemaObjects) -> [MigrationPreview.ObjectChange] {
        let order = ["table", "index", "view", "trigger"]
        return Set(definitions.keys).union(other.definitions.keys)
            .sorted {
                (order.firstIndex(of: $0.type) ?? 0, $0.name)
                    < (order.firstIndex(of: $1.type) ?? 0, $1.name)
            }
            .compactMap { object in
                let kind: MigrationPreview.ObjectChange.Kind
                switch (definitions[object], other.definitions[object]) {
                case (nil, _): kind = .created
                case (_, nil): kind = .dropped
                case (let before, let after) where before == after: return nil
                default: kind = .changed
                }
                return .init(kind: kind, type: object.type, name: object.name)
            }
    }
}
