import Foundation
import MigrationKit

/// Notes which steps of a run are committed and how long each took, and tells the observer.
///
/// GRDB's migrator reports nothing between two steps. That the next one begins, or that the
/// migrator returns, is how one knows that the step before is committed.
///
/// - Note: `@unchecked` because the state is guarded by `lock`; the migrator's closures are
///   `@Sendable`, although it calls them one after the other.
final class StepRecorder: @unchecked Sendable {
    private struct Running {
        let identifier: String
        let start: ContinuousClock.Instant
    }

    private let lock = NSLock()
    private let direction: MigrationEvent.Direction
    private let count: Int
    private var running: Running?
    private var finished: [MigrationReport.Step]
    private let committedBefore: Int

    /// Watches the run.
    let observer: GRDBMigrationRunner.Observer?

    /// - Parameters:
    ///   - direction: Whether the run applies steps or undoes them.
    ///   - before: The steps that the run committed before this recorder.
    ///   - count: How many steps the run has, those before included.
    ///   - observer: Watches the run.
    init(
        direction: MigrationEvent.Direction,
        before: [MigrationReport.Step] = [],
        count: Int,
        observer: GRDBMigrationRunner.Observer?
    ) {
        self.direction = direction
        self.count = count
        self.observer = observer
        self.finished = before
        self.committedBefore = before.count
    }

    /// The steps that the run has committed so far, in order.
    var steps: [MigrationReport.Step] {
        lock.withLock { finished }
    }

    /// How many steps this recorder has seen committed.
    var committed: Int {
        lock.withLock { finished.count - committedBefore }
    }

    /// A step begins.
    func start(_ identifier: String) {
        let index = lock.withLock {
            running = Running(identifier: identifier, start: .now)
            return finished.count + 1
        }
        observer?(
            .stepStarted(
                identifier: identifier,
                direction: direction,
                index: index,
                count: count
            )
        )
    }

    /// The running step, if there is one, is committed.
    func commit() {
        let step: MigrationReport.Step? = lock.withLock {
            guard let running else { return nil }
            let step = MigrationReport.Step(
                identifier: running.identifier,
                seconds: (ContinuousClock.now - running.start) / .seconds(1)
            )
            finished.append(step)
            self.running = nil
            return step
        }
        if let step {
            observer?(
                .stepFinished(
                    identifier: step.identifier,
                    direction: direction,
                    seconds: step.seconds
                )
            )
        }
    }

    /// The running step, if there is one, was undone.
    func fail() {
        let identifier = lock.withLock {
            defer { running = nil }
            return running?.identifier
        }
        if let identifier {
            observer?(.stepFailed(identifier: identifier, direction: direction))
        }
    }
}
