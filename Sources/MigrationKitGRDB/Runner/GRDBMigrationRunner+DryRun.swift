import GRDB
import MigrationKit

extension GRDBMigrationRunner {
    /// Runs the pending steps and the verification, and undoes them.
    ///
    /// The steps really run, on the real rows, in one transaction that is rolled back: what fails
    /// here would fail in a run. From the first step on that can't run in it,
    /// they are only named (``MigrationPreview/notTried``). Other programs can't write meanwhile. The host's
    /// `verifyPostMigration` doesn't run, since it needs committed steps.
    ///
    /// - Parameters:
    ///   - writer: The database, opened for writing.
    ///   - targetIdentifier: The last step to apply; `nil` for all.
    ///   - count: How many steps at most; `nil` for all.
    ///   - options: How the run works.
    /// - Returns: What a run would do.
    /// - Throws: What a run would throw.
    public func dryRun(
        in writer: any DatabaseWriter,
        upTo targetIdentifier: String? = nil,
        steps count: Int? = nil,
        options: MigrationOptions = MigrationOptions()
    ) throws -> MigrationPreview {
        try dryRun(
            in: writer,
            recording: [],
            upTo: targetIdentifier,
            steps: count,
            options: options
        )
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
        let runner = identifiers.isEmpty ? self : try recordingFirst(identifiers)
        let range = MigrationRange(upTo: targetIdentifier, steps: count)
        return try runner.forwardRun(on: writer, range, options: options).preview()
    }

    /// The same runner, but it begins by recording steps as applied.
    func recordingFirst(_ identifiers: [String]) throws -> GRDBMigrationRunner {
        let bootstrap = integration.bootstrapSchema
        // The hook runs in the transaction, before the plan is made again.
        let integration = Integration(
            bootstrapSchema: { db in
                let applied = try MigrationLedger.read(db)
                _ = try record(identifiers.filter { !applied.has($0) }, in: db)
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
        return GRDBMigrationRunner(self, registry: registry, integration: integration)
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
        try plannedSteps(
            in: writer,
            recording: [],
            MigrationRange(upTo: targetIdentifier, steps: count),
            transaction: transaction
        )
    }

    /// The steps that a run would apply after others are recorded as applied.
    package func plannedSteps(
        in writer: any DatabaseWriter,
        recording identifiers: [String],
        _ range: MigrationRange,
        transaction: MigrationTransaction
    ) throws -> [Step] {
        let run = try forwardRun(
            on: writer,
            range,
            recording: identifiers,
            options: MigrationOptions(transaction: transaction)
        )
        let steps = try run.plan().pending
        if transaction == .allOrNothing { _ = try StepTransaction.checkAllOrNothing(steps) }
        return steps
    }

    /// Throws what refuses steps before their first batch. That of a step behind one that runs as a whole
    /// can't be told: it may be about what that one makes.
    ///
    /// - Parameters:
    ///   - steps: The planned steps.
    ///   - writer: The database. It is only read.
    package func checkBatches(of steps: [Step], in writer: any DatabaseWriter) throws {
        let first = steps.prefix { !$0.batches.isEmpty }
        guard !first.isEmpty else { return }
        try writer.writeWithoutTransaction { db in
            try db.readingAtOnce {
                for step in first { try BatchRun.judge(step, in: db) }
            }
        }
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
        let before = try writer.writeWithoutTransaction(SchemaObject.own)
        // With nothing to do, take no lock: a lock file can't be created on a read-only medium.
        guard try runner.integration.bootstrapSchema != nil || !plan().isEmpty else {
            return MigrationPreview(
                steps: [],
                schemaBefore: before.script,
                schemaAfter: before.script,
                objects: []
            )
        }
        var after = before
        var (steps, notTried): ([MigrationReport.Step], [String]) = ([], [])
        try MigrationLock.hold(for: writer, options: options) {
            try applyAllOrNothing(ending: .rollback) { db in
                after = try SchemaObject.own(of: db)
                steps = monitor.steps
                notTried = try plan(db).pending.map(\.identifier)
            }
        }
        return MigrationPreview(
            steps: steps,
            schemaBefore: before.script,
            schemaAfter: after.script,
            objects: before.changes(to: after),
            notTried: notTried
        )
    }
}

extension [SchemaObject] {
    fileprivate var script: String { map(\.sql).script }

    /// What differs in another schema.
    fileprivate func changes(to others: [SchemaObject]) -> [MigrationPreview.ObjectChange] {
        let before = Dictionary(map { ($0.title, $0) }) { $1 }
        let after = Dictionary(others.map { ($0.title, $0) }) { $1 }
        let kinds = SchemaObject.Kind.allCases
        return before.merging(after) { $1 }.values
            .sorted {
                (kinds.firstIndex(of: $0.kind) ?? 0, $0.name)
                    < (kinds.firstIndex(of: $1.kind) ?? 0, $1.name)
            }
            .compactMap { object in
                let kind: MigrationPreview.ObjectChange.Kind
                switch (before[object.title]?.sql, after[object.title]?.sql) {
                case (nil, _): kind = .created
                case (_, nil): kind = .dropped
                case (let before, let after) where before == after: return nil
                default: kind = .changed
                }
                return .init(kind: kind, type: object.kind.rawValue, name: object.name)
            }
    }
}
