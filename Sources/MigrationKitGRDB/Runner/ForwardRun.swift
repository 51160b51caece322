import GRDB
import MigrationKit

/// One run that applies steps.
struct ForwardRun {
    let runner: GRDBMigrationRunner
    let writer: any DatabaseWriter
    let end: Int
    let limit: Int
    let options: MigrationOptions
    /// Steps that are to be recorded as applied before the run.
    let recorded: Set<String>
    let monitor: RunMonitor
    /// What its steps have added so far.
    let additions = SchemaAdditions()
    /// When the time for batches is over.
    let deadline: ContinuousClock.Instant?

    /// - Parameters:
    ///   - end: How many of the registry's steps to apply, counted from its start.
    ///   - limit: How many of the pending steps to apply at most.
    ///   - recorded: Steps that are to be recorded as applied before the run.
    init(
        _ runner: GRDBMigrationRunner,
        on writer: any DatabaseWriter,
        through end: Int,
        limit: Int = .max,
        recording recorded: [String] = [],
        options: MigrationOptions
    ) {
        self.runner = runner
        self.writer = writer
        self.end = end
        self.limit = limit
        self.recorded = Set(recorded)
        self.options = options
        monitor = RunMonitor(direction: .forward, options: options)
        deadline = options.budget.map { .now + .seconds($0) }
    }

    func run() throws -> MigrationReport {
        try monitor.naming(for: writer, log: runner.log) {
            try BusyWaiting.during(options, on: writer) {
                let plan = try plan()
                // Nothing to do is the common case. It takes no lock and writes nothing, if the host's
                // hooks don't.
                let writes =
                    !plan.isEmpty || runner.integration.bootstrapSchema != nil
                    || options.verifiesUnchanged
                guard writes else { return try carryOut(plan) }
                return try DurableCommits.during(on: writer) { try carryOut(plan) }
            }
        }
    }

    private func carryOut(_ plan: MigrationPlan) throws -> MigrationReport {
        var bootstrapped = false
        var isUpToDate = plan.isEmpty
        if runner.integration.bootstrapSchema != nil,
            isUpToDate || options.transaction == .perStep
        {
            bootstrapped = try writer.write(bootstrap)
            // The host may have recorded steps as applied.
            if !isUpToDate { isUpToDate = try self.plan().isEmpty }
        }
        if !isUpToDate {
            try MigrationLock.hold(for: writer, options: options, operation: monitor.operation) {
                switch options.transaction {
                case .perStep: try KeptJournal.during(on: writer, applyStepByStep)
                case .allOrNothing: try applyAllOrNothing(ending: .commit)
                }
            }
        }

        // Everything up to `end` is applied now, by this process or another, unless there was a
        // limit, or the time was over.
        let isPaused = monitor.isPaused
        let pending =
            limit == .max && !isPaused
            ? Array(runner.migrationIdentifiers[end...])
            : runner.registry.pending(
                given: try writer.writeWithoutTransaction(MigrationLedger.read)
            )
        let steps = monitor.steps
        if steps.isEmpty, bootstrapped || options.verifiesUnchanged {
            try monitor.verifying {
                try writer.readingWithConstraints { db in
                    try monitor.watching(db) {
                        try runner.verify(
                            db,
                            isComplete: pending.isEmpty,
                            checksForeignKeys: !options.allowsViolations
                        )
                    }
                }
            }
        }
        if !steps.isEmpty { try monitor.readSchemaAnew(of: writer) }
        let verifies = !steps.isEmpty || bootstrapped || options.verifiesUnchanged
        if verifies, pending.isEmpty {
            try runner.integration.verifyPostMigration?(writer)
        }
        let violations = try monitor.violationsLeft(in: writer)
        let report = MigrationReport(
            steps: steps,
            pending: pending,
            verified: try verifies && !isPaused && violations == nil
                && runner.findsNothingFromBefore(in: writer),
            unchecked: monitor.unchecked,
            violations: violations,
            newer: plan.newer,
            verificationSeconds: monitor.verificationSeconds
        )
        if !steps.isEmpty {
            runner.log?("✅ Applied \(steps.count) of \(runner.registry.steps.count) migrations")
            monitor.operation.report(.runFinished(report))
        }
        return report
    }

    // MARK: - Before the Steps

    func plan() throws -> MigrationPlan {
        // The writer's own connection: opening another one to an encrypted file costs a key
        // derivation.
        try writer.writeWithoutTransaction(plan(_:))
    }

    func plan(_ db: Database) throws -> MigrationPlan {
        try monitor.watching(db) {
            try db.readingAtOnce {
                let started = try MigrationLedger.started(db).adding(recorded)
                var plan = try MigrationPlan(
                    started,
                    registry: runner.registry,
                    through: end,
                    limit: limit - monitor.steps.count,
                    db
                )
                try runner.registry.checkUnchanged(started, db)
                // GRDB creates its ledger before the first step, and so before the journal is
                // written.
                if !plan.isEmpty {
                    // Another process may have changed the schema since this connection read it,
                    // and steps may ask GRDB for it.
                    db.clearSchemaCache()
                    let checks = plan.pending.flatMap { $0.requirements + $0.checks }
                    try (checks + runner.checks).forEach { try $0.checkIsQuery() }
                    try GRDBMigrationVerifier.verifyEmptiness(in: db)
                    _ = try db.hasTable(MigrationJournal.table)
                    plan.earlier = try EarlierFaults(in: db)
                }
                return plan
            }
        }
    }

    /// - Returns: Whether the host created anything.
    func bootstrap(_ db: Database) throws -> Bool {
        db.clearSchemaCache()
        let created = try runner.integration.bootstrapSchema?(db) ?? false
        if created {
            runner.log?("🧱 Created the base schema")
        }
        return created
    }

    // MARK: - Steps

    /// - Parameter left: What the step before has left; what this one leaves afterwards.
    /// - Returns: What the step means for versions that don't know it.
    func apply(
        _ step: MigrationStep<Database>,
        in transaction: StepTransaction,
        merged: Set<String>,
        _ left: inout LeftByStep
    ) throws -> OlderVersions {
        runner.log?("🧱 Applying \(step.identifier) from \(step.sourceFile)")
        // A closure may write without GRDB's knowledge.
        let checksAll = !left.foreignKeysHold || step.checksum == nil
        let judgement = try StepWatch.judging(
            step.identifier,
            &left.schema,
            after: additions,
            transaction.db
        ) { watch in
            try transaction.run(
                step,
                allowing: monitor.violations,
                touching: { try checksAll ? nil : watch.touchedTables() }
            ) {
                try step.applyChecked($0, merging: merged)
            }
        }
        left.foreignKeysHold = step.foreignKeyChecks == .deferred
        let older = step.older ?? judgement
        monitor.note(older)
        return older
    }

    /// Verifies what the steps of a plan have done.
    ///
    /// - Parameter plan: `nil` if more of its steps follow.
    /// - Returns: The tables that can't be checked here, each with what only the app has.
    func verify(_ db: Database, _ plan: MigrationPlan?) throws -> [String] {
        try runner.verify(
            db,
            isComplete: plan?.completes ?? false,
            checksForeignKeys: false,
            earlier: plan?.earlier ?? EarlierFaults(),
            touched: additions.touchedTables
        )
    }
}

/// What a step of a run leaves for the next one.
struct LeftByStep {
    /// `nil` before the first step.
    var schema: KnownSchema?
    /// Whether all foreign keys were checked, so that a step can violate only those of what it touches.
    var foreignKeysHold = false
}

extension Database {
    /// Reads with several statements in one transaction. For each by itself, SQLite would lock the file,
    /// look for journals and read the first page again.
    func readingAtOnce<Value>(_ body: () throws -> Value) throws -> Value {
        guard !isInsideTransaction else { return try body() }
        try beginTransaction(.deferred)
        do {
            let value = try body()
            try commit()
            return value
        } catch {
            try? rollback()
            throw error
        }
    }
}
