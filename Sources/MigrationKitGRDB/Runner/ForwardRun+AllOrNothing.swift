import GRDB
import MigrationKit

extension ForwardRun {
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
                    try StepTransaction.checkAllOrNothing(planOfTransaction(db).pending)
                try StepTransaction.withForeignKeysOff(db, if: wantsForeignKeysOff) {
                    try db.inTransaction(.immediate) {
                        let bootstrapped = try bootstrap(db)
                        // Plan again, now under the lock.
                        let plan = try planOfTransaction(db)
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

    /// A dry run is one transaction even if the run isn't.
    private func planOfTransaction(_ db: Database) throws -> MigrationPlan {
        let plan = try plan(db)
        return options.transaction == .perStep ? plan.inOneTransaction : plan
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
                let whole = { older = try apply(step, in: transaction, merged: merged, &left) }
                // Only a dry run is one transaction then.
                if options.transaction == .perStep {
                    try BatchRun.tryOut(step, in: db, whole)
                } else {
                    try whole()
                }
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
