import GRDB
import MigrationKit

extension GRDBMigrationRunner {
    /// Rolls back the step that was applied last, then verifies the database. Does nothing where
    /// no step is applied.
    ///
    /// - Parameters:
    ///   - writer: The database, opened for writing.
    ///   - observer: Watches the run.
    /// - Returns: What was rolled back.
    /// - Throws: What ``rollbackMigrations(in:steps:observer:)`` throws.
    @discardableResult
    public func rollbackLastMigration(
        in writer: any DatabaseWriter,
        observer: Observer? = nil
    ) throws -> MigrationReport {
        try rollbackMigrations(in: writer, steps: 1, observer: observer)
    }

    /// Rolls back the steps that were applied last, newest first, then verifies the database.
    ///
    /// Each step is undone in a transaction of its own, together with its row in the ledger; the
    /// last one is verified before its commit. Where fewer steps are applied, all of them are
    /// rolled back. Whether every one of them can be is found out before the first one is.
    ///
    /// - Parameters:
    ///   - writer: The database, opened for writing.
    ///   - count: How many steps, from 0 upwards.
    ///   - observer: Watches the run.
    /// - Returns: What was rolled back, in order, with the seconds that each step took.
    /// - Throws: `MigrationKitError.rollbackStepCountMustBeNonNegative(_:)`;
    ///   `MigrationKitError.databaseIsNewer(unknown:)`;
    ///   `MigrationKitError.rollbackNotDefined(_:)`; a step's own error after its transaction is
    ///   undone; a ``GRDBMigrationVerificationError`` if a check fails.
    @discardableResult
    public func rollbackMigrations(
        in writer: any DatabaseWriter,
        steps count: Int = 1,
        observer: Observer? = nil
    ) throws -> MigrationReport {
        guard count >= 0 else {
            throw MigrationKitError.rollbackStepCountMustBeNonNegative(count)
        }
        let applied = try writer.writeWithoutTransaction(MigrationLedger.read)
        try registry.checkKnows(applied)
        let latestFirst = registry.applied(among: applied).reversed().prefix(count)
        return try rollBack(Array(latestFirst), in: writer, observer: observer)
    }

    /// Rolls back one step, which must be the one that was applied last, then verifies the
    /// database. Does nothing where the step is not applied.
    ///
    /// - Parameters:
    ///   - identifier: The step.
    ///   - writer: The database, opened for writing.
    ///   - observer: Watches the run.
    /// - Returns: What was rolled back.
    /// - Throws: `MigrationKitError.unknownMigrationIdentifier(_:)`;
    ///   `MigrationKitError.rollbackMustTargetLatestApplied(latestApplied:requested:)`; and what
    ///   ``rollbackMigrations(in:steps:observer:)`` throws.
    @discardableResult
    public func rollbackMigration(
        identifier: String,
        in writer: any DatabaseWriter,
        observer: Observer? = nil
    ) throws -> MigrationReport {
        guard let step = registry.steps.first(where: { $0.identifier == identifier }) else {
            throw MigrationKitError.unknownMigrationIdentifier(identifier)
        }
        guard step.rollback != nil else {
            throw MigrationKitError.rollbackNotDefined(identifier)
        }
        let applied = try writer.writeWithoutTransaction(MigrationLedger.read)
        try registry.checkKnows(applied)
        guard applied.contains(identifier) else {
            log?("↩️ \(identifier) is not applied")
            return try rollBack([], in: writer, observer: observer)
        }
        try registry.checkIsLatest(identifier, among: applied)
        return try rollBack([step], in: writer, observer: observer)
    }

    // MARK: - One Run

    private func rollBack(
        _ steps: [Step],
        in writer: any DatabaseWriter,
        observer: Observer?
    ) throws -> MigrationReport {
        let rollbacks = try steps.map { step in
            guard let rollback = step.rollback else {
                throw MigrationKitError.rollbackNotDefined(step.identifier)
            }
            return (identifier: step.identifier, rollback: rollback)
        }

        let recorder = StepRecorder(direction: .back, count: steps.count, observer: observer)
        try writer.barrierWriteWithoutTransaction { db in
            for (index, step) in rollbacks.enumerated() {
                do {
                    recorder.start(step.identifier)
                    log?("↩️ Rolling back \(step.identifier)")
                    try rollBack(
                        step.identifier,
                        in: db,
                        isLast: index == rollbacks.endIndex - 1,
                        observer: observer,
                        step.rollback
                    )
                    recorder.commit()
                } catch {
                    recorder.fail()
                    throw error
                }
            }
        }
        if !steps.isEmpty {
            try integration.verifyPostMigration?(writer)
        }
        return MigrationReport(
            steps: recorder.steps,
            pending: try pendingMigrationIdentifiers(in: writer),
            verified: !steps.isEmpty
        )
    }

    private func rollBack(
        _ identifier: String,
        in db: Database,
        isLast: Bool,
        observer: Observer?,
        _ rollback: @Sendable (Database) throws -> Void
    ) throws {
        try StepTransaction.withForeignKeysOff(db) { foreignKeysWereOn in
            try db.inTransaction(.immediate) {
                // Read again, now under the lock: another process may have been faster.
                let applied = try MigrationLedger.read(db)
                try registry.checkKnows(applied)
                try registry.checkIsLatest(identifier, among: applied)

                try StepTransaction.run(identifier, in: db, rollback)
                try MigrationLedger.remove(identifier, db)
                if isLast {
                    observer?(.verifying)
                    try verify(db, isComplete: false)
                } else if foreignKeysWereOn {
                    try db.checkForeignKeys()
                }
                return .commit
            }
        }
    }
}

extension MigrationRegistry<Database> {
    fileprivate func checkIsLatest(_ identifier: String, among applied: Set<String>) throws {
        guard let latest = self.applied(among: applied).last?.identifier, latest != identifier
        else { return }
        throw MigrationKitError.rollbackMustTargetLatestApplied(
            latestApplied: latest,
            requested: identifier
        )
    }
}
