import GRDB
import MigrationKit

extension GRDBMigrationRunner {
    /// Rolls back the step that was applied last, then verifies the database. Does nothing if no
    /// step is applied.
    ///
    /// - Parameters:
    ///   - writer: The database, opened for writing.
    ///   - options: How the run works.
    /// - Returns: What was rolled back.
    /// - Throws: What ``rollbackMigrations(in:steps:options:)`` throws.
    @discardableResult
    public func rollbackLastMigration(
        in writer: any DatabaseWriter,
        options: MigrationOptions = MigrationOptions()
    ) throws -> MigrationReport {
        try rollbackMigrations(in: writer, steps: 1, options: options)
    }

    /// Rolls back the steps that were applied last, newest first, then verifies the database.
    ///
    /// A step whose batches aren't all done counts as applied: it is the first to be rolled back,
    /// wherever it is in the list. If its text was changed, it is rolled back by the SQL that the database
    /// has kept. Each step and its row in the ledger are undone in their own transaction, unless
    /// ``MigrationOptions/transaction`` says otherwise. The last one is verified before its commit.
    /// If fewer steps are applied, all of them are rolled back. Before the first one is undone, the
    /// run checks that all of them can be.
    ///
    /// - Parameters:
    ///   - writer: The database, opened for writing.
    ///   - count: How many steps, from 0 upwards.
    ///   - options: How the run works.
    /// - Returns: What was rolled back, in order, with the seconds that each step took.
    /// - Throws: `MigrationKitError.rollbackStepCountMustBeNonNegative(_:)`;
    ///   `MigrationKitError.databaseIsNewer(unknown:steps:)`;
    ///   `MigrationKitError.rollbackNotDefined(_:)`;
    ///   `MigrationKitError.changedSinceBegun(_:canBeTakenBack:)`; a step's own error after its transaction is
    ///   undone; a ``GRDBMigrationVerificationError`` if a check fails; a `CancellationError`.
    @discardableResult
    public func rollbackMigrations(
        in writer: any DatabaseWriter,
        steps count: Int = 1,
        options: MigrationOptions = MigrationOptions()
    ) throws -> MigrationReport {
        try backwardRun(in: writer, steps: count, options: options).run()
    }

    /// Rolls back every step that was applied after one of them, newest first, then verifies the
    /// database.
    ///
    /// If a step that stays is begun, and one that was applied would be rolled back, it is refused.
    ///
    /// - Parameters:
    ///   - writer: The database, opened for writing.
    ///   - targetIdentifier: The step to roll back to. It stays applied.
    ///   - options: How the run works.
    /// - Returns: What was rolled back, in order, with the seconds that each step took.
    /// - Throws: `MigrationKitError.unknownMigrationTarget(_:)`;
    ///   `MigrationKitError.rollbackTargetNotApplied(_:)`;
    ///   `MigrationKitError.rollbackMustTargetLatestApplied(latestApplied:requested:)`; and what
    ///   ``rollbackMigrations(in:steps:options:)`` throws.
    @discardableResult
    public func rollbackMigrations(
        in writer: any DatabaseWriter,
        downTo targetIdentifier: String,
        options: MigrationOptions = MigrationOptions()
    ) throws -> MigrationReport {
        try backwardRun(in: writer, downTo: targetIdentifier, options: options).run()
    }

    /// The steps that a run would roll back, newest first, without rolling any back.
    ///
    /// - Parameters:
    ///   - writer: The database. It is only read.
    ///   - count: How many steps, from 0 upwards.
    ///   - targetIdentifier: The step to roll back to, instead of a number of steps.
    ///   - options: How the run works.
    /// - Returns: The identifiers.
    /// - Throws: What the run would throw before its first step.
    package func plannedRollback(
        in writer: any DatabaseWriter,
        steps count: Int,
        downTo targetIdentifier: String? = nil,
        options: MigrationOptions = MigrationOptions()
    ) throws -> [String] {
        let run =
            if let targetIdentifier {
                try backwardRun(in: writer, downTo: targetIdentifier, options: options)
            } else {
                try backwardRun(in: writer, steps: count, options: options)
            }
        return try run.planned()
    }

    private func backwardRun(
        in writer: any DatabaseWriter,
        steps count: Int,
        options: MigrationOptions
    ) throws -> BackwardRun {
        guard count >= 0 else {
            throw MigrationKitError.rollbackStepCountMustBeNonNegative(count)
        }
        return BackwardRun(self, on: writer, options: options) { started, _ in
            Array(registry.newestFirst(started).prefix(count))
        }
    }

    private func backwardRun(
        in writer: any DatabaseWriter,
        downTo targetIdentifier: String,
        options: MigrationOptions
    ) throws -> BackwardRun {
        let end = try end(upTo: targetIdentifier)
        return BackwardRun(self, on: writer, options: options) { started, _ in
            let started = started.all
            guard started.has(targetIdentifier) else {
                throw MigrationKitError.rollbackTargetNotApplied(targetIdentifier)
            }
            return registry.steps[end...].filter { started.has($0.identifier) }.reversed()
        }
    }

    /// Rolls back the steps that were applied last, and applies them again.
    ///
    /// For development. ``MigrationOptions/transaction`` applies to each of the two runs. Both
    /// share one lock, so no other process that uses it can migrate in between.
    ///
    /// - Parameters:
    ///   - writer: The database, opened for writing.
    ///   - count: How many steps, from 0 upwards.
    ///   - options: How the runs work.
    /// - Returns: What was rolled back, and what was applied again.
    /// - Throws: `MigrationKitError.redoOutOfOrder(_:latestApplied:)`, before anything is done; what
    ///   ``rollbackMigrations(in:steps:options:)`` and ``migrate(in:upTo:options:)`` throw. If applying
    ///   fails, the database stays rolled back.
    @discardableResult
    public func redoMigrations(
        in writer: any DatabaseWriter,
        steps count: Int = 1,
        options: MigrationOptions = MigrationOptions()
    ) throws -> (undone: MigrationReport, redone: MigrationReport) {
        try MigrationLock.hold(for: writer, options: options) {
            var options = options
            options.isUnderLock = true
            try checkOrderOfRedo(in: writer, steps: count, options: options)
            let undone = try rollbackMigrations(in: writer, steps: count, options: options)
            // If nothing was undone, there is nothing to apply again.
            let identifiers = Set(undone.steps.map(\.identifier))
            guard let latest = migrationIdentifiers.last(where: identifiers.has) else {
                return (undone, undone)
            }
            return (undone, try migrate(in: writer, upTo: latest, options: options))
        }
    }

    /// Throws if a step would be taken back that can't be applied again before one that stays: it is
    /// begun, and a later one was applied meanwhile.
    private func checkOrderOfRedo(
        in writer: any DatabaseWriter,
        steps count: Int,
        options: MigrationOptions
    ) throws {
        let started = try writer.writeWithoutTransaction(MigrationLedger.started)
        // The usual case. Planning checks all foreign keys.
        guard !started.begun.isEmpty else { return }
        let undone = try plannedRollback(in: writer, steps: count, options: options)
        guard let first = migrationIdentifiers.first(where: Set(undone).has),
            let latest = registry.applied(among: started.subtracting(undone).all).last?.identifier,
            migrationIdentifiers.prefix(while: { $0 != latest }).contains(first)
        else { return }
        throw MigrationKitError.redoOutOfOrder(first, latestApplied: latest)
    }

    /// Rolls back one step, which must be the one that was applied last, then verifies the
    /// database. Does nothing if the step is not applied.
    ///
    /// - Parameters:
    ///   - identifier: The step.
    ///   - writer: The database, opened for writing.
    ///   - options: How the run works.
    /// - Returns: What was rolled back.
    /// - Throws: `MigrationKitError.unknownMigrationIdentifier(_:)`;
    ///   `MigrationKitError.rollbackMustTargetLatestApplied(latestApplied:requested:)`; and what
    ///   ``rollbackMigrations(in:steps:options:)`` throws.
    @discardableResult
    public func rollbackMigration(
        identifier: String,
        in writer: any DatabaseWriter,
        options: MigrationOptions = MigrationOptions()
    ) throws -> MigrationReport {
        guard let step = registry.steps.first(where: { $0.identifier == identifier }) else {
            throw MigrationKitError.unknownMigrationIdentifier(identifier)
        }
        return try BackwardRun(self, on: writer, options: options) { started, _ in
            // The database may have kept what takes back a step that is begun.
            guard step.canRollBack || started.begun[identifier] != nil else {
                throw MigrationKitError.rollbackNotDefined(identifier)
            }
            guard started.all.has(identifier) else { return [] }
            if let latest = registry.newestFirst(started).first?.identifier, latest != identifier {
                throw MigrationKitError.rollbackMustTargetLatestApplied(
                    latestApplied: latest,
                    requested: identifier
                )
            }
            return [step]
        }.run()
    }
}
