import MigrationKit
import MigrationKitGRDB

/// Which step of a migration, a rollback or a dry run is running, and which one failed.
struct RunProgress: OperationProgress {
    static let endedState = "Uncommitted changes are undone. The next run continues from there."
    static let endedAtOnceState =
        "Uncommitted changes are undone when the database is opened next."

    private(set) var committed = 0
    private(set) var failed:
        (identifier: String, isRollback: Bool, ledger: MigrationStepFailure.Ledger)?
    private(set) var line: String?

    private var direction = MigrationEvent.Direction.forward
    private var running = ""
    private var elapsed = 0.0

    mutating func note(_ event: MigrationEvent) {
        switch event {
        case .waiting(let holder):
            line = "waiting for another process\(holder.map { " (\($0))" } ?? "")"
        case .runStarted(let direction, _):
            self.direction = direction
        case .runFinished:
            break
        case .stepStarted(let identifier, let direction, let index, let count):
            let verb = direction == .forward ? "applying" : "rolling back"
            running = "\(verb) \(identifier) (\(index) of \(count))"
            line = running
        case .stepContinues(_, let seconds):
            elapsed = seconds
        case .stepAdvanced(_, let rows):
            var parts = [running, duration(elapsed)]
            if rows > 0 { parts.append("\(rows) \(rows == 1 ? "row" : "rows")") }
            line = parts.joined(separator: ", ")
        case .stepFinished:
            committed += 1
        case .stepFailed(let identifier, let direction):
            failed = (identifier, direction == .back, .unchanged)
        case .stepFailedLate(let identifier, let direction, let isDone):
            failed = (identifier, direction == .back, isDone == true ? .changed : .unreadable)
        case .rolledBack(let identifiers):
            committed -= identifiers.count
            // The verification of the whole belongs to its last step.
            if failed == nil, let last = identifiers.last {
                failed = (last, direction == .back, .unchanged)
            }
        case .verifying:
            line = "verifying"
        }
    }
}

extension OpenStore {
    /// Runs a migration, a rollback or a dry run.
    ///
    /// - Parameter run: Gets the options with the display of its progress in them.
    /// - Throws: ``MigrationStepFailure`` for an error of a step, or of the verification in its
    ///   transaction; any other error unchanged.
    func watch<Result>(
        _ options: MigrationOptions,
        in context: CommandContext,
        _ run: (MigrationOptions) throws -> Result
    ) throws -> Result {
        let display = ProgressDisplay(RunProgress(), in: context)
        return try display.watch(options) { options in
            do {
                return try run(options)
            } catch {
                let progress = display.progress
                guard let failed = progress.failed, !(error is CancellationError) else {
                    throw error
                }
                throw MigrationStepFailure(
                    identifier: failed.identifier,
                    isRollback: failed.isRollback,
                    committed: progress.committed,
                    hadTransaction: hadTransaction(failed.identifier),
                    ledger: failed.ledger,
                    wasUnmanaged: isUnmanaged,
                    underlying: error
                )
            }
        }
    }

    private func hadTransaction(_ identifier: String) -> Bool {
        runner.steps.first { $0.identifier == identifier }?.usesTransaction ?? true
    }

    /// Whether the database has tables, but no recorded migration that made them.
    private var isUnmanaged: Bool {
        let isUnmanaged = try? writer.read { db in
            try runner.migrator.appliedIdentifiers(db).isEmpty
                && !GRDBSchemaSnapshotProvider.snapshot(of: db).isEmpty
        }
        return isUnmanaged ?? false
    }
}
