import MigrationKitCommon
import MigrationKit
import MigrationKitGRDB

/// Shows on a terminal which step is running, and names the step that failed.
final class RunProgress: Sendable {
    private struct State {
        var committed = 0
        var direction = MigrationEvent.Direction.forward
        var running = ""
        var elapsed = 0.0
        var failed: (identifier: String, isRollback: Bool, ledger: MigrationStepFailure.Ledger)?
    }

    private let state = Locked(State())
    private let context: CommandContext
    private let store: OpenStore
    private let cancellation = MigrationCancellation()

    init(context: CommandContext, store: OpenStore) {
        self.context = context
        self.store = store
    }

    /// Runs a migration, a rollback or a dry run.
    ///
    /// - Parameter run: Gets a function that puts this watching into its options.
    /// - Throws: ``MigrationStepFailure`` around what a step, or the verification in its
    ///   transaction, throws; everything else as it is.
    func watch<Result>(
        _ run: (_ watched: (MigrationOptions) -> MigrationOptions) throws -> Result
    ) throws -> Result {
        try context.endingOnSignals(
            by: cancellation.cancel,
            leaving: "Uncommitted changes are undone. The next run continues from there.",
            atOnce: "Uncommitted changes are undone when the database is opened next."
        ) {
            do {
                return try run { options in
                    var options = options
                    options.cancellation = cancellation
                    options.observer = { [self] in note($0) }
                    return options
                }
            } catch {
                let state = state.withLock { $0 }
                guard let failed = state.failed, !(error is CancellationError) else { throw error }
                throw MigrationStepFailure(
                    identifier: failed.identifier,
                    isRollback: failed.isRollback,
                    committed: state.committed,
                    hadTransaction: hadTransaction(failed.identifier),
                    ledger: failed.ledger,
                    wasUnmanaged: isUnmanaged,
                    underlying: error
                )
            }
        }
    }

    private func hadTransaction(_ identifier: String) -> Bool {
        store.runner.steps.first { $0.identifier == identifier }?.usesTransaction ?? true
    }

    /// Whether the database has tables, and no migration that is known to have made them.
    private var isUnmanaged: Bool {
        let isUnmanaged = try? store.writer.read { db in
            try store.runner.migrator.appliedIdentifiers(db).isEmpty
                && !GRDBSchemaSnapshotProvider.snapshot(of: db).isEmpty
        }
        return isUnmanaged ?? false
    }

    private func note(_ event: MigrationEvent) {
        switch event {
        case .waiting(let holder):
            context.showProgress("waiting for another process\(holder.map { " (\($0))" } ?? "")")
        case .runStarted(let direction, _):
            state.withLock { $0.direction = direction }
        case .runFinished:
            break
        case .stepStarted(let identifier, let direction, let index, let count):
            let verb = direction == .forward ? "applying" : "rolling back"
            let line = "\(verb) \(identifier) (\(index) of \(count))"
            state.withLock { $0.running = line }
            context.showProgress(line)
        case .stepContinues(_, let seconds):
            state.withLock { $0.elapsed = seconds }
        case .stepAdvanced(_, let rows):
            let state = state.withLock { $0 }
            var parts = [state.running, duration(state.elapsed)]
            if rows > 0 { parts.append("\(rows) \(rows == 1 ? "row" : "rows")") }
            context.showProgress(parts.joined(separator: ", "))
        case .stepFinished:
            state.withLock { $0.committed += 1 }
        case .stepFailed(let identifier, let direction):
            state.withLock { $0.failed = (identifier, direction == .back, .unchanged) }
        case .stepFailedLate(let identifier, let direction, let isDone):
            let ledger: MigrationStepFailure.Ledger = isDone == true ? .changed : .unreadable
            state.withLock { $0.failed = (identifier, direction == .back, ledger) }
        case .rolledBack(let identifiers):
            state.withLock { state in
                state.committed -= identifiers.count
                // The verification of the whole belongs to its last step.
                if state.failed == nil, let last = identifiers.last {
                    state.failed = (last, state.direction == .back, .unchanged)
                }
            }
        case .verifying:
            context.showProgress("verifying")
        }
    }
}
