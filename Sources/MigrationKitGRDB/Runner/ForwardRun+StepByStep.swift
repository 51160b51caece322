import GRDB
import MigrationKit

extension ForwardRun {
    /// Applies the pending steps. Plans again if a program that doesn't use our lock migrates
    /// meanwhile.
    func applyStepByStep() throws {
        var fruitlessPlans = 0
        while true {
            let done = monitor.steps.count
            let plan = try plan()
            let schema = try writer.writeWithoutTransaction { db in
                try db.readingAtOnce { try runner.beginSchemaRecord(db) }
            }
            if !plan.isEmpty { try writer.writeWithoutTransaction(monitor.noteViolations) }
            monitor.expect(plan.pending.count)
            do {
                try forgetObsolete(plan)
                let expected = ExpectedLedger(plan.ledger, dataVersion: plan.dataVersion)
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
        do {
            try applyInBatches(step, plan, &batches, record)
        } catch {
            let goesOn = error is BatchRun.Paused || error is CancellationError
            if !goesOn, !(error is LedgerChanged) { batches?.endIfNothingIsDone() }
            throw error
        }
        monitor.finishStep()
    }

    private func applyInBatches(
        _ step: MigrationStep<Database>,
        _ plan: MigrationPlan?,
        _ batches: inout BatchRun?,
        _ record: (Database) throws -> Void
    ) throws {
        let seconds = try monitor.stepInBatches(step.identifier) {
            runner.log?("🧱 Applying \(step.identifier) from \(step.sourceFile)")
            batches = try BatchRun(self, step)
            try batches?.carryOut()
        }
        // Others write meanwhile: a check that reads everything must not keep them from it. What it finds
        // may be about rows that they have just written, which are done before the step is recorded.
        var checked = Result<Void, any Error>.success(())
        try writer.readingWithConstraints { db in
            try monitor.watching(db) {
                checked = try aboutRows { try step.checks.run(in: db) { .checkFailed($0) } }
                try ForeignKeyCheck.run(after: step, allowing: monitor.violations, in: db)
                let verified = try aboutRows { try monitor.verifying { try verify(db, plan) } }
                checked = checked.flatMap { verified }
            }
        }
        try batches?.record(
            seconds: seconds,
            after: checked,
            checking: { db in
                try step.checks.run(in: db) { .checkFailed($0) }
                guard plan?.completes == true else { return }
                try runner.checks.run(in: db) { .checkFailed($0) }
                try runner.integration.verifyBeforeCommit?(db)
            },
            record
        )
    }

    /// - Returns: What the block throws if a check fails.
    /// - Throws: What else the block throws.
    private func aboutRows(_ body: () throws -> Void) throws -> Result<Void, any Error> {
        do {
            return .success(try body())
        } catch let error as GRDBMigrationVerificationError {
            guard case .checkFailed = error else { throw error }
            return .failure(error)
        }
    }
}

/// Another program has applied or rolled back a step since the run was planned.
struct LedgerChanged: Error {}

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
