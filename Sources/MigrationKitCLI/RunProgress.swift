import Foundation
import MigrationKit
import MigrationKitGRDB

/// Shows on a terminal which step is running, and names the step that failed.
final class RunProgress: @unchecked Sendable {
    // `@unchecked`: the runner calls the observer on the database's thread; `lock` guards the state.
    private let lock = NSLock()
    private let showsLine: Bool
    private var committed = 0
    private var direction = MigrationEvent.Direction.forward
    private var running = ""
    private var failed: (identifier: String, isRollback: Bool)?

    private let store: OpenStore
    private let cancellation = MigrationCancellation()
    private let endsOnSignals: Bool

    init(context: CommandContext, store: OpenStore) {
        showsLine = context.showsProgress
        endsOnSignals = context.endsOnSignals
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
        defer { show(nil) }
        let signals = endsOnSignals ? EndingSignals(cancellation.cancel) : nil
        defer { signals?.stop() }
        do {
            return try run { options in
                var options = options
                options.cancellation = cancellation
                options.observer = { [self] in note($0) }
                return options
            }
        } catch let error as CancellationError {
            throw signals?.received.map(MigrationInterruption.init) ?? error
        } catch {
            let (failed, committed) = lock.withLock { (self.failed, self.committed) }
            guard let failed else { throw error }
            throw MigrationStepFailure(
                identifier: failed.identifier,
                isRollback: failed.isRollback,
                committed: committed,
                hadTransaction: hadTransaction(failed.identifier),
                wasUnmanaged: isUnmanaged,
                underlying: error
            )
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
            show("waiting for another process\(holder.map { " (\($0))" } ?? "")")
        case .runStarted(let direction, _):
            lock.withLock { self.direction = direction }
        case .runFinished:
            break
        case .stepStarted(let identifier, let direction, let index, let count):
            let verb = direction == .forward ? "applying" : "rolling back"
            let line = "\(verb) \(identifier) (\(index) of \(count))"
            lock.withLock { running = line }
            show(line)
        case .stepContinues(_, let seconds):
            show("\(lock.withLock { running }), \(duration(seconds))")
        case .stepFinished:
            lock.withLock { committed += 1 }
        case .stepFailed(let identifier, let direction):
            lock.withLock { failed = (identifier, direction == .back) }
        case .rolledBack(let identifiers):
            lock.withLock {
                committed -= identifiers.count
                // The verification of the whole belongs to its last step.
                if failed == nil, let last = identifiers.last {
                    failed = (last, direction == .back)
                }
            }
        case .verifying:
            show("verifying")
        }
    }

    /// Replaces the line of progress; `nil` takes it away.
    private func show(_ line: String?) {
        guard showsLine else { return }
        StandardError.showProgress(line)
    }
}
