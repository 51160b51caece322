import GRDB
import MigrationKit

/// One run that applies steps.
struct ForwardRun {
    let runner: GRDBMigrationRunner
    let writer: any DatabaseWriter
    let end: Int
    let limit: Int
    let options: MigrationOptions
    let monitor: RunMonitor
    /// When the time for batches is over.
    let deadline: ContinuousClock.Instant?

    /// - Parameters:
    ///   - end: How many of the registry's steps to apply, counted from its start.
    ///   - limit: How many of the pending steps to apply at most.
    init(
        _ runner: GRDBMigrationRunner,
        on writer: any DatabaseWriter,
        through end: Int,
        limit: Int = .max,
        options: MigrationOptions
    ) {
        self.runner = runner
        self.writer = writer
        self.end = end
        self.limit = limit
        self.options = options
        monitor = RunMonitor(direction: .forward, options: options)
        deadline = options.budget.map { .now + .seconds($0) }
    }

    func run() throws -> MigrationReport {
        try monitor.naming(for: writer, log: runner.log) {
            try BusyWaiting.during(options, on: writer) {
                try DurableCommits.during(on: writer, carryOut)
            }
        }
    }

    private func carryOut() throws -> MigrationReport {
        var bootstrapped = false
        // Nothing to do is the common case. It takes no lock and writes nothing.
        let plan = try plan()
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
                && runner.findsNoMissingParent(in: writer),
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

    private func plan(_ db: Database) throws -> MigrationPlan {
        // Another process may have changed the schema since this connection read it, and steps may
        // ask GRDB for it.
        db.clearSchemaCache()
        return try monitor.watching(db) {
            let applied = try MigrationLedger.read(db)
            var plan = try MigrationPlan(
                applied: applied,
                registry: runner.registry,
                through: end,
                limit: limit - monitor.steps.count,
                db
            )
            try runner.registry.checkUnchanged(applied, db)
            // GRDB creates its ledger before the first step, and so before the journal is written.
            if !plan.isEmpty {
                let checks = plan.pending.flatMap { $0.requirements + $0.checks }
                try (checks + runner.checks).forEach { try $0.checkIsQuery() }
                try GRDBMigrationVerifier.verifyEmptiness(in: db)
                _ = try db.hasTable(MigrationJournal.table)
                plan.missingParents = try GRDBMigrationVerifier.missingParents(in: db)
            }
            return plan
        }
    }

    /// - Returns: Whether the host created anything.
    private func bootstrap(_ db: Database) throws -> Bool {
        db.clearSchemaCache()
        let created = try runner.integration.bootstrapSchema?(db) ?? false
        if created {
            runner.log?("🧱 Created the base schema")
        }
        return created
    }

    // MARK: - Step by Step

    /// Applies the pending steps. Plans again if a program that doesn't use our lock migrates
    /// meanwhile.
    private func applyStepByStep() throws {
        var fruitlessPlans = 0
        while true {
            let done = monitor.steps.count
            // Read before planning, so that a later commit by another connection is noticed.
            let version = try writer.writeWithoutTransaction(MigrationLedger.dataVersion)
            let schema = try writer.writeWithoutTransaction {
                try runner.beginSchemaRecord($0)
            }
            let plan = try plan()
            if !plan.isEmpty { try writer.writeWithoutTransaction(monitor.noteViolations) }
            monitor.expect(plan.pending.count)
            do {
                try forgetObsolete(plan)
                let expected = ExpectedLedger(plan.ledger, dataVersion: version)
                var rest = plan.pending[...]
                while let first = rest.first {
                    if !first.batches.isEmpty {
                        rest = rest.dropFirst()
                        expected.identifiers.insert(first.identifier)
                        try applyInBatches(first, rest.isEmpty ? plan : nil) {
                            guard rest.isEmpty else { return }
                            try schema?.add(applied: expected.identifiers, $0)
                        }
                    } else if first.usesTransaction {
                        let group = rest.prefix { $0.usesTransaction && $0.batches.isEmpty }
                        rest = rest.dropFirst(group.count)
                        try apply(group, of: plan, to: expected, schema)
                    } else {
                        rest = rest.dropFirst()
                        expected.identifiers.insert(first.identifier)
                        try applyWithoutTransaction(first, rest.isEmpty ? plan : nil) {
                            guard rest.isEmpty else { return }
                            try schema?.add(applied: expected.identifiers, $0)
                        }
                        expected.left.foreignKeysHold = false
                    }
                }
                return
            } catch is BatchRun.Paused {
                return monitor.pauseStep()
            } catch is LedgerChanged {
                // Competing processes make progress, so replanning ends. A foreign ledger with a
                // NOCASE collation never converges: SQLite finds "A" for "a".
                fruitlessPlans = monitor.steps.count > done ? 0 : fruitlessPlans + 1
                guard fruitlessPlans < 100 else {
                    throw MigrationKitError.unusableTable(MigrationLedger.table)
                }
                try monitor.operation.checkCancellation()
                continue
            } catch {
                monitor.failStep(error) { try writer.writeWithoutTransaction(MigrationLedger.read) }
                throw error
            }
        }
    }

    /// Removes the rows of steps that others replace.
    private func forgetObsolete(_ plan: MigrationPlan) throws {
        guard !plan.obsolete.isEmpty else { return }
        try writer.write { db in
            guard try MigrationLedger.read(db).isSuperset(of: plan.obsolete) else {
                throw LedgerChanged()
            }
            try MigrationLedger.remove(plan.obsolete, db)
        }
    }

    /// Applies a group of steps with GRDB's migrator, each in its own transaction.
    ///
    /// GRDB ends the process if a target is unknown or comes before the database's state. This
    /// can't happen with a migrator that has only this group, whatever other programs do.
    private func apply(
        _ group: ArraySlice<MigrationStep<Database>>,
        of plan: MigrationPlan,
        to ledger: ExpectedLedger,
        _ schema: SchemaRecord?
    ) throws {
        let lastOfRun = plan.pending.last?.identifier
        // Reading it before each step would take time.
        let settings = try writer.writeWithoutTransaction(ConnectionSettings.withinTransaction)

        // The migrator's own checks name no step, and only one row.
        var migrator = DatabaseMigrator().disablingDeferredForeignKeyChecks()
        for step in group {
            migrator.register(step) { db, merged in
                // GRDB reads the ledger before it takes the lock, so the ledger may have changed: a
                // step that another program has applied since must not run again.
                monitor.finishStep()
                guard try ledger.isThere(db) else { throw LedgerChanged() }
                let transaction = try StepTransaction(on: db, settings)
                var older: OlderVersions?
                let seconds = try monitor.step(step.identifier, in: db) {
                    older = try apply(step, in: transaction, merged: merged, &ledger.left)
                    if step.identifier == lastOfRun {
                        try monitor.verifying { try verify(db, plan) }
                    }
                }
                try runner.note(.applied, step, seconds: seconds, older: older, db)
                LedgerWitness.watch(db, removed: merged.count)
                ledger.identifiers.subtract(merged)
                ledger.identifiers.insert(step.identifier)
                if step.identifier == lastOfRun {
                    try schema?.add(applied: ledger.identifiers, db)
                }
                monitor.beginCommit()
            }
        }
        do {
            try migrator.migrate(writer)
        } catch {
            writer.writeWithoutTransaction { $0.forgetSchema() }
            throw error
        }
        monitor.finishStep()
    }

    /// - Parameter left: What the step before has left; what this one leaves afterwards.
    /// - Returns: What the step means for versions that don't know it.
    private func apply(
        _ step: MigrationStep<Database>,
        in transaction: StepTransaction,
        merged: Set<String>,
        _ left: inout LeftByStep
    ) throws -> OlderVersions {
        runner.log?("🧱 Applying \(step.identifier) from \(step.sourceFile)")
        // A closure may write without GRDB's knowledge.
        let checksAll = !left.foreignKeysHold || step.checksum == nil
        let judgement = try StepWatch.judging(&left.schema, transaction.db) { watch in
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

    /// Runs a step that can't run in a transaction, and records it after it has succeeded.
    ///
    /// - Parameters:
    ///   - plan: The plan, if this is its last step.
    ///   - record: Records more in the same transaction.
    private func applyWithoutTransaction(
        _ step: MigrationStep<Database>,
        _ plan: MigrationPlan?,
        record: (Database) throws -> Void
    ) throws {
        try writer.barrierWriteWithoutTransaction { db in
            try MigrationLedger.create(db)
            guard try !MigrationLedger.contains(step.identifier, db) else { throw LedgerChanged() }
            let seconds = try monitor.step(step.identifier, in: db) {
                runner.log?("🧱 Applying \(step.identifier) from \(step.sourceFile)")
                try StepTransaction.runWithout(step.identifier, in: db) {
                    try step.applyChecked($0, merging: [])
                }
                try ForeignKeyCheck.run(after: step, allowing: monitor.violations, in: db)
                try monitor.verifying { try verify(db, plan) }
            }
            try db.inTransaction(.immediate) {
                guard try !MigrationLedger.contains(step.identifier, db) else {
                    throw LedgerChanged()
                }
                try MigrationLedger.insert(step.identifier, db)
                try runner.note(.applied, step, seconds: seconds, db)
                try record(db)
                monitor.beginCommit()
                return .commit
            }
        }
        monitor.finishStep()
    }

    /// Runs a step whose statements change rows a batch at a time, and records it when they are done.
    ///
    /// - Parameters:
    ///   - plan: The plan, if this is its last step.
    ///   - record: Records more in the same transaction.
    private func applyInBatches(
        _ step: MigrationStep<Database>,
        _ plan: MigrationPlan?,
        record: (Database) throws -> Void
    ) throws {
        var batches: BatchRun?
        let seconds = try monitor.stepInBatches(step.identifier) {
            runner.log?("🧱 Applying \(step.identifier) from \(step.sourceFile)")
            batches = try BatchRun(self, step)
            try batches?.carryOut()
        }
        // Others write meanwhile: a check that reads everything must not keep them from it.
        try writer.readingWithConstraints { db in
            try monitor.checkBatches(in: db) {
                try step.checks.run(in: db) { .checkFailed($0) }
                try ForeignKeyCheck.run(after: step, allowing: monitor.violations, in: db)
                try monitor.verifying { try verify(db, plan) }
            }
        }
        try batches?.record(seconds: seconds, record)
        monitor.finishStep()
    }

    // MARK: - All or Nothing

    /// Applies the pending steps in one transaction, including the host's bootstrap and
    /// verification.
    ///
    /// - Parameters:
    ///   - ending: Whether the transaction is committed. A dry run rolls it back.
    ///   - inspect: Reads the result inside the transaction.
    func applyAllOrNothing(
        ending: Database.TransactionCompletion,
        inspect: (Database) throws -> Void = { _ in }
    ) throws {
        do {
            try writer.barrierWriteWithoutTransaction { db in
                // The caches may have the schema that is rolled back.
                defer { db.forgetSchema() }
                let wantsForeignKeysOff =
                    try StepTransaction.checkAllOrNothing(plan(db).pending)
                try StepTransaction.withForeignKeysOff(db, if: wantsForeignKeysOff) {
                    try db.inTransaction(.immediate) {
                        let bootstrapped = try bootstrap(db)
                        // Plan again, now under the lock.
                        let plan = try plan(db)
                        if !plan.isEmpty {
                            try monitor.noteViolations(db)
                            try applyAll(plan, in: db)
                        }
                        if bootstrapped || !plan.pending.isEmpty {
                            try verifyAll(plan, in: db)
                        }
                        try inspect(db)
                        if ending == .commit { monitor.beginCommit() }
                        return ending
                    }
                }
            }
        } catch {
            monitor.failRun(error) { try writer.writeWithoutTransaction(MigrationLedger.read) }
            throw error
        }
    }

    private func applyAll(_ plan: MigrationPlan, in db: Database) throws {
        let schema = try runner.beginSchemaRecord(db)
        try MigrationLedger.create(db)
        try MigrationLedger.remove(plan.obsolete, db)
        var applied = try MigrationLedger.read(db)
        monitor.expect(plan.pending.count)
        let transaction = try StepTransaction(on: db)
        var left = LeftByStep()
        for step in plan.pending {
            let merged = step.mergedIdentifiers.intersection(applied)
            var older: OlderVersions?
            let seconds = try monitor.step(step.identifier, in: db) {
                older = try apply(step, in: transaction, merged: merged, &left)
            }
            try MigrationLedger.remove(merged, db)
            try MigrationLedger.insert(step.identifier, db)
            try runner.note(.applied, step, seconds: seconds, older: older, db)
            applied.subtract(merged)
            applied.insert(step.identifier)
            monitor.finishStep()
        }
        try schema?.add(applied: applied, db)
    }

    /// Verifies what the steps of a plan have done.
    ///
    /// - Parameter plan: `nil` if more of its steps follow.
    /// - Returns: The tables that can't be checked here, each with what only the app has.
    private func verify(_ db: Database, _ plan: MigrationPlan?) throws -> [String] {
        try runner.verify(
            db,
            isComplete: plan?.completes ?? false,
            checksForeignKeys: false,
            missingBefore: plan?.missingParents ?? []
        )
    }

    private func verifyAll(_ plan: MigrationPlan, in db: Database) throws {
        try monitor.verifying {
            try monitor.watching(db) {
                guard plan.pending.isEmpty else { return try verify(db, plan) }
                return try runner.verify(
                    db,
                    isComplete: plan.completes,
                    checksForeignKeys: !options.allowsViolations
                )
            }
        }
        try monitor.operation.checkCancellation()
    }
}

/// Another program has applied or rolled back a step since the run was planned.
struct LedgerChanged: Error {}

/// What a step of a run leaves for the next one.
private struct LeftByStep {
    /// `nil` before the first step.
    var schema: KnownSchema?
    /// Whether all foreign keys were checked, so that a step can violate only those of what it touches.
    var foreignKeysHold = false
}

/// The expected ledger when the next step begins.
///
/// - Note: `@unchecked` because GRDB's migrator calls the closures that share it one after the
///   other, on the database's thread.
private final class ExpectedLedger: @unchecked Sendable {
    var identifiers: Set<String>

    var left = LeftByStep()

    /// The database's data version. If it is unchanged, no other connection has written, and the
    /// ledger needn't be read.
    private var dataVersion: Int

    init(_ identifiers: Set<String>, dataVersion: Int) {
        self.identifiers = identifiers
        self.dataVersion = dataVersion
    }

    /// Checks it inside a transaction.
    func isThere(_ db: Database) throws -> Bool {
        let version = try MigrationLedger.dataVersion(db)
        if version == dataVersion { return true }
        dataVersion = version
        left.foreignKeysHold = false
        return try MigrationLedger.read(db) == identifiers
    }
}

extension DatabaseMigrator {
    /// Registers a step with another body.
    mutating func register(
        _ step: MigrationStep<Database>,
        body: @escaping @Sendable (Database, _ merged: Set<String>) throws -> Void
    ) {
        registerMigration(
            step.identifier,
            foreignKeyChecks: step.foreignKeyChecks == .immediate ? .immediate : .deferred,
            merging: step.mergedIdentifiers,
            migrate: body
        )
    }
}
