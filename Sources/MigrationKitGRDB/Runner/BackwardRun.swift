import GRDB
import MigrationKit

/// One run that rolls steps back.
struct BackwardRun {
    private typealias Rollback = @Sendable (Database) throws -> Void

    let runner: GRDBMigrationRunner
    let writer: any DatabaseWriter
    let options: MigrationOptions
    let monitor: RunMonitor

    /// Chooses the steps to roll back, newest first.
    let choose: Choice

    typealias Choice = (MigrationLedger.Started, Database) throws -> [MigrationStep<Database>]

    /// What takes back steps that only the database's journal knows.
    let downgrade: Downgrade?

    init(
        _ runner: GRDBMigrationRunner,
        on writer: any DatabaseWriter,
        options: MigrationOptions,
        downgrade: Downgrade? = nil,
        choose: @escaping Choice
    ) {
        self.runner = runner
        self.writer = writer
        self.options = options
        self.downgrade = downgrade
        self.choose = choose
        monitor = RunMonitor(direction: .back, options: options)
    }

    func run() throws -> MigrationReport {
        try monitor.naming(for: writer, log: runner.log) {
            try BusyWaiting.during(options, on: writer) {
                try DurableCommits.during(on: writer, carryOut)
            }
        }
    }

    /// The steps that the run would roll back, newest first, without rolling any back.
    func planned() throws -> [String] {
        try BusyWaiting.during(options, on: writer) {
            try writer.writeWithoutTransaction(plan(_:)).map(\.step.identifier)
        }
    }

    private func carryOut() throws -> MigrationReport {
        if try !writer.writeWithoutTransaction(plan(_:)).isEmpty {
            try MigrationLock.hold(for: writer, options: options, operation: monitor.operation) {
                try writer.barrierWriteWithoutTransaction { db in
                    // The caches may have the schema that is rolled back.
                    defer { db.forgetSchema() }
                    switch options.transaction {
                    case .perStep: try rollBackStepByStep(db)
                    case .allOrNothing: try rollBackAllOrNothing(db)
                    }
                }
            }
            try monitor.readSchemaAnew(of: writer)
            try runner.integration.verifyPostMigration?(writer)
        }
        let steps = monitor.steps
        let violations = try monitor.violationsLeft(in: writer)
        let report = MigrationReport(
            steps: steps,
            pending: runner.registry.pending(
                given: try writer.writeWithoutTransaction(MigrationLedger.read)
            ),
            verified: try !steps.isEmpty && violations == nil
                && runner.findsNothingFromBefore(in: writer),
            unchecked: monitor.unchecked,
            violations: violations,
            verificationSeconds: monitor.verificationSeconds
        )
        if !steps.isEmpty {
            monitor.operation.report(.runFinished(report))
        }
        return report
    }

    /// The steps to roll back, each with its closure.
    private func plan(_ db: Database) throws -> [(step: MigrationStep<Database>, Rollback)] {
        // Another process may have changed the schema since this connection read it, and steps may
        // ask GRDB for it.
        db.clearSchemaCache()
        let started = try monitor.watching(db) { try MigrationLedger.started(db) }
        let applied = started.applied
        if downgrade == nil { try runner.registry.checkKnows(applied, db) }
        let chosen = try inOrder(choose(started, db), started)
        if !chosen.isEmpty { try monitor.noteViolations(db) }
        // The steps that are undone may have been edited: redo exists for that.
        try runner.registry.checkUnchanged(started.subtracting(chosen.map(\.identifier)), db)
        let changed = Set(runner.registry.changed(begun: started.begun))
        return try chosen.map { step in
            let begun = started.begun[step.identifier]
            if changed.has(step.identifier) {
                // What its own text takes back hasn't run.
                return try kept(step.identifier, begun?.rollbackSQL)
            }
            // A newer step replaces this step of an earlier release, so its rollback is gone.
            if let merged = runner.registry.merged(behind: step, among: applied) {
                throw MigrationKitError.rollbackNotDefined(merged)
            }
            if let rollback = step.undo { return (step, rollback) }
            guard begun?.rollbackSQL != nil else {
                throw MigrationKitError.rollbackNotDefined(step.identifier)
            }
            return try kept(step.identifier, begun?.rollbackSQL)
        }
    }

    /// The steps in the order in which they are taken back: those that are begun come first.
    ///
    /// - Throws: `MigrationKitError.rollbackMustTargetLatestApplied(latestApplied:requested:)` if one of
    ///   those would be left, and something that is applied taken back.
    private func inOrder(
        _ chosen: [MigrationStep<Database>],
        _ started: MigrationLedger.Started
    ) throws -> [MigrationStep<Database>] {
        guard !started.begun.isEmpty else { return chosen }
        let identifiers = Set(chosen.map(\.identifier))
        let applied = chosen.filter { started.applied.has($0.identifier) }
        if let left = started.begunNewestFirst.first(where: { !identifiers.has($0) }),
            let first = applied.first
        {
            throw MigrationKitError.rollbackMustTargetLatestApplied(
                latestApplied: left,
                requested: first.identifier
            )
        }
        let begun = started.begunNewestFirst.compactMap { identifier in
            chosen.first { $0.identifier.utf8.elementsEqual(identifier.utf8) }
        }
        return begun + applied
    }

    /// A begun step with the way back that the database has kept.
    private func kept(
        _ identifier: String,
        _ sql: String?
    ) throws -> (step: MigrationStep<Database>, Rollback) {
        let step = MigrationStep<Database>(
            identifier: identifier,
            sourceFile: "",
            rollbackSQL: sql,
            apply: { _ in }
        )
        guard let rollback = step.undo else {
            throw MigrationKitError.changedSinceBegun([identifier], canBeTakenBack: false)
        }
        return (step, rollback)
    }

    // MARK: - Step by Step

    private func rollBackStepByStep(_ db: Database) throws {
        // Under our lock. Changes by a program that doesn't use it are detected at each step.
        let schema = try runner.beginSchemaRecord(db)
        let plan = try plan(db)
        monitor.expect(plan.count)
        for (index, (step, rollback)) in plan.enumerated() {
            let isLast = index == plan.endIndex - 1
            let schema = isLast ? schema : nil
            do {
                if step.usesTransaction {
                    try rollBackInTransaction(step, in: db, isLast: isLast, schema, rollback)
                } else {
                    try rollBackWithoutTransaction(step, in: db, isLast: isLast, schema, rollback)
                }
                monitor.finishStep()
            } catch {
                monitor.failStep(error) { try MigrationLedger.read(db) }
                throw error
            }
        }
    }

    private func rollBackInTransaction(
        _ step: MigrationStep<Database>,
        in db: Database,
        isLast: Bool,
        _ schema: SchemaRecord?,
        _ rollback: Rollback
    ) throws {
        let wantsForeignKeysOff = step.foreignKeyChecks != .immediate
        try StepTransaction.withForeignKeysOff(db, if: wantsForeignKeysOff) {
            try db.inTransaction(.immediate) {
                try checkIsLatest(step, db)
                let seconds = try monitor.step(step.identifier, in: db, ledgerRows: 1) {
                    try undo(step, in: db, rollback)
                    if isLast { try verify(db) }
                }
                try runner.note(.rolledBack, step, seconds: seconds, db)
                try schema?.add(applied: MigrationLedger.read(db), db)
                monitor.beginCommit()
                return .commit
            }
        }
    }

    /// Undoes a step that can't run in a transaction, then removes it from the ledger.
    private func rollBackWithoutTransaction(
        _ step: MigrationStep<Database>,
        in db: Database,
        isLast: Bool,
        _ schema: SchemaRecord?,
        _ rollback: Rollback
    ) throws {
        try checkIsLatest(step, db)
        let seconds = try monitor.step(step.identifier, in: db) {
            try StepTransaction.runWithout(step.identifier, in: db, rollback)
            try ForeignKeyCheck.run(after: step, allowing: monitor.violations, in: db)
            if isLast { try verify(db) }
        }
        try db.inTransaction(.immediate) {
            try MigrationLedger.remove([step.identifier], db)
            try runner.note(.rolledBack, step, seconds: seconds, db)
            try schema?.add(applied: MigrationLedger.read(db), db)
            monitor.beginCommit()
            return .commit
        }
    }

    // MARK: - All or Nothing

    /// - Parameter ending: Whether the transaction is committed.
    func rollBackAllOrNothing(
        _ db: Database,
        ending: Database.TransactionCompletion = .commit
    ) throws {
        do {
            let wantsForeignKeysOff = try StepTransaction.checkAllOrNothing(plan(db).map(\.step))
            try StepTransaction.withForeignKeysOff(db, if: wantsForeignKeysOff) {
                try db.inTransaction(.immediate) {
                    try downgrade?.begin(db)
                    // Plan again, now under the lock.
                    let schema = try runner.beginSchemaRecord(db)
                    let plan = try plan(db)
                    monitor.expect(plan.count)
                    for (step, rollback) in plan {
                        let seconds = try monitor.step(
                            step.identifier,
                            in: db,
                            ledgerRows: 1
                        ) {
                            try undo(step, in: db, rollback)
                        }
                        try runner.note(
                            .rolledBack,
                            step,
                            seconds: seconds,
                            backup: downgrade?.backup,
                            db
                        )
                        monitor.finishStep()
                    }
                    try schema?.add(applied: MigrationLedger.read(db), db)
                    try monitor.watching(db) { try verify(db) }
                    try downgrade?.check(db)
                    try monitor.operation.checkCancellation()
                    if ending == .commit { monitor.beginCommit() }
                    return ending
                }
            }
        } catch {
            monitor.failRun(error) { try MigrationLedger.read(db) }
            throw error
        }
    }

    // MARK: -

    private func undo(
        _ step: MigrationStep<Database>,
        in db: Database,
        _ rollback: Rollback
    ) throws {
        runner.log?("↩️ Rolling back \(step.identifier)")
        let lastRow = try MigrationJournal.lastRow(db)
        try StepTransaction(on: db).run(step, allowing: monitor.violations, rollback)
        // A dropped or renamed table is no change of rows.
        guard try MigrationJournal.lastRow(db) == lastRow else {
            throw MigrationKitError.stepChangedLedger(step.identifier)
        }
        guard try !MigrationLedger.contains(step.identifier, db) else {
            return try MigrationLedger.remove([step.identifier], db)
        }
        // Not all of its batches were done.
        if let begun = try MigrationJournal.begun(db)[step.identifier] {
            try MigrationJournal.end(begun, db)
        }
    }

    private func verify(_ db: Database) throws {
        try monitor.verifying {
            try runner.verify(db, isComplete: false, checksForeignKeys: false)
        }
    }

    private func checkIsLatest(_ step: MigrationStep<Database>, _ db: Database) throws {
        let started = try MigrationLedger.started(db)
        try runner.registry.checkKnows(started.applied, db)
        let latest = runner.registry.newestFirst(started).first?.identifier
        guard latest == step.identifier else {
            throw MigrationKitError.rollbackMustTargetLatestApplied(
                latestApplied: latest ?? "",
                requested: step.identifier
            )
        }
    }
}
