import GRDB
import MigrationKit

extension GRDBMigrationRunner {
    /// Applies every pending step, then verifies the database.
    ///
    /// The steps run in order, each in a transaction of its own. The last one is verified before
    /// its commit. A run that finds nothing pending changes nothing and, unless it is asked to,
    /// verifies nothing, since an app pays for it at every launch.
    ///
    /// - Parameters:
    ///   - writer: The database, opened for writing. Its journal mode is left alone.
    ///   - verifiesUnchanged: Whether to verify also when nothing was pending.
    ///   - observer: Watches the run.
    /// - Returns: What was applied, in order, with the seconds that each step took.
    /// - Throws: `MigrationKitError.databaseIsNewer(unknown:)` if the ledger names steps that
    ///   the runner doesn't know; a step's own error after its rollback; a
    ///   ``GRDBMigrationVerificationError`` if a check fails; what a hook of the host throws.
    @discardableResult
    public func migrate(
        in writer: any DatabaseWriter,
        verifiesUnchanged: Bool = false,
        observer: Observer? = nil
    ) throws -> MigrationReport {
        try migrate(
            in: writer,
            through: registry.steps.endIndex,
            verifiesUnchanged: verifiesUnchanged,
            observer: observer
        )
    }

    /// Applies the pending steps up to one of them, then verifies the database.
    ///
    /// As long as steps are pending, required indexes may be missing and the host's
    /// `verifyPostMigration` can't hold, so neither is asked for; integrity is always verified.
    ///
    /// - Parameters:
    ///   - writer: The database, opened for writing. Its journal mode is left alone.
    ///   - targetIdentifier: The last step to apply.
    ///   - verifiesUnchanged: Whether to verify also when nothing was pending.
    ///   - observer: Watches the run.
    /// - Returns: What was applied, in order, with the seconds that each step took.
    /// - Throws: `MigrationKitError.unknownMigrationTarget(_:)`;
    ///   `MigrationKitError.targetBehindDatabase(target:latestApplied:)` if a later step is
    ///   applied; and what ``migrate(in:verifiesUnchanged:observer:)`` throws.
    @discardableResult
    public func migrate(
        in writer: any DatabaseWriter,
        upTo targetIdentifier: String,
        verifiesUnchanged: Bool = false,
        observer: Observer? = nil
    ) throws -> MigrationReport {
        guard let index = migrationIdentifiers.firstIndex(of: targetIdentifier) else {
            throw MigrationKitError.unknownMigrationTarget(targetIdentifier)
        }
        return try migrate(
            in: writer,
            through: index + 1,
            verifiesUnchanged: verifiesUnchanged,
            observer: observer
        )
    }

    // MARK: - One Run

    /// - Parameter end: How many steps of the registry, from its start, are to be applied.
    private func migrate(
        in writer: any DatabaseWriter,
        through end: Int,
        verifiesUnchanged: Bool,
        observer: Observer?
    ) throws -> MigrationReport {
        _ = try ledger(in: writer, allowing: end)
        let bootstrapped = try bootstrap(writer)
        let steps = try applyPending(in: writer, through: end, observer: observer)
        // All up to `end` are applied now, by this process or by another.
        let pending = Array(migrationIdentifiers[end...])

        let verifies = !steps.isEmpty || bootstrapped || verifiesUnchanged
        if verifies {
            if steps.isEmpty {
                observer?(.verifying)
                try writer.read { try verify($0, isComplete: pending.isEmpty) }
            }
            if pending.isEmpty {
                try integration.verifyPostMigration?(writer)
            }
        }
        if !steps.isEmpty {
            log?("✅ Applied \(steps.count) of \(registry.steps.count) migrations")
        }
        return MigrationReport(steps: steps, pending: pending, verified: verifies)
    }

    private func bootstrap(_ writer: any DatabaseWriter) throws -> Bool {
        guard let bootstrapSchema = integration.bootstrapSchema else { return false }
        let created = try writer.write(bootstrapSchema)
        if created {
            log?("🧱 Created the base schema")
        }
        return created
    }

    /// The ledger as it is now, refused if it is not one that leads to `end`.
    private func ledger(in writer: any DatabaseWriter, allowing end: Int) throws -> Set<String> {
        // The writer's own connection: opening another one to an encrypted file costs a key
        // derivation.
        let applied = try writer.writeWithoutTransaction(MigrationLedger.read)
        try registry.checkKnows(applied)
        if let later = registry.steps[end...].last(where: { applied.contains($0.identifier) }) {
            throw MigrationKitError.targetBehindDatabase(
                target: registry.steps[..<end].last?.identifier ?? "",
                latestApplied: later.identifier
            )
        }
        return applied
    }

    /// Applies what is pending, and plans anew whenever another process gets in between.
    ///
    /// - Returns: The steps that this process has applied.
    private func applyPending(
        in writer: any DatabaseWriter,
        through end: Int,
        observer: Observer?
    ) throws -> [MigrationReport.Step] {
        var steps: [MigrationReport.Step] = []
        while true {
            let applied = try ledger(in: writer, allowing: end)
            let pending = registry.steps[..<end].filter { !applied.contains($0.identifier) }
            guard !pending.isEmpty else { return steps }

            let recorder = StepRecorder(
                direction: .forward,
                before: steps,
                count: steps.count + pending.count,
                observer: observer
            )
            do {
                try migrator(
                    through: end,
                    applied: applied.count,
                    lastPending: pending.last?.identifier,
                    completes: end == registry.steps.endIndex,
                    recorder: recorder
                ).migrate(writer)
                recorder.commit()
                return recorder.steps
            } catch is LedgerChanged {
                steps = recorder.steps
            } catch {
                recorder.fail()
                throw error
            }
        }
    }

    /// GRDB's migrator for the steps before `end`.
    ///
    /// GRDB ends the process where a target is unknown or lies behind the database. A migrator
    /// that holds no step behind the target can't come to that, whatever other processes do.
    ///
    /// - Parameters:
    ///   - end: How many steps of the registry it gets.
    ///   - applied: How many rows the ledger had when the run was planned.
    ///   - lastPending: The step whose transaction is verified before it is committed.
    ///   - completes: Whether nothing is pending after that step.
    ///   - recorder: Is told which step begins.
    private func migrator(
        through end: Int,
        applied: Int,
        lastPending: String?,
        completes: Bool,
        recorder: StepRecorder
    ) -> DatabaseMigrator {
        var migrator = DatabaseMigrator()
        for step in registry.steps[..<end] {
            migrator.registerMigration(step.identifier) { db in
                // GRDB reads the ledger before it takes the lock. Under the lock it may have
                // grown: a step that another process has applied since must not run again.
                recorder.commit()
                guard try MigrationLedger.count(db) == applied + recorder.committed else {
                    throw LedgerChanged()
                }
                recorder.start(step.identifier)
                log?("🧱 Applying \(step.identifier) from \(step.sourceFile)")
                try StepTransaction.run(step.identifier, in: db, step.apply)
                if step.identifier == lastPending {
                    recorder.observer?(.verifying)
                    try verify(db, isComplete: completes)
                }
            }
        }
        return migrator
    }
}

/// Another process has applied or rolled back a step since the run was planned.
private struct LedgerChanged: Error {}
