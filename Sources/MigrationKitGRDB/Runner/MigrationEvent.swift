import Logging
import MigrationKit
import MigrationKitCommon

/// What a run reports while it is running.
public enum MigrationEvent: Equatable, Sendable {
    /// Whether steps are applied or undone.
    public enum Direction: Equatable, Sendable {
        /// Steps are applied.
        case forward

        /// Steps are rolled back.
        case back
    }

    /// Another process is migrating the database, with its process id if it is known. Reported
    /// once.
    case waiting(holder: Int32?)

    /// A run begins, and has something to do.
    case runStarted(direction: Direction, count: Int)

    /// A step begins: the `index`th, counted from 1, of `count` in this run.
    case stepStarted(identifier: String, direction: Direction, index: Int, count: Int)

    /// A step is still running; reported about ten times a second while a statement runs.
    case stepContinues(identifier: String, seconds: Double)

    /// How many rows the running step has changed; reported after `stepContinues`. Rows count when
    /// their statement has ended.
    case stepAdvanced(identifier: String, rowsChanged: Int)

    /// How long the batches of the running step will still take, in seconds, as far as that can be told;
    /// reported after `stepAdvanced`.
    case stepExpects(identifier: String, seconds: Double)

    /// A step was ended before all of its batches were done: by its cancellation, or since its time was
    /// over. What is done stays, and the next run goes on from there.
    case stepPaused(identifier: String, rowsChanged: Int)

    /// A step is done: committed or, if the run is all or nothing, ready for the commit.
    case stepFinished(MigrationReport.Step, direction: Direction)

    /// A step or its verification failed and was undone. What a step without a transaction did
    /// before it failed stays.
    case stepFailed(identifier: String, direction: Direction)

    /// A step failed after its commit, and wasn't undone: the system reported the error too late.
    /// If the run is all or nothing, this is its last step, and all of them are done. A power cut
    /// could still undo the changes.
    ///
    /// - `isDone`: `nil` if it is unknown whether the step is done: the ledger can't be read
    ///   either, or the next program may find the commit in the write-ahead log.
    case stepFailedLate(identifier: String, direction: Direction, isDone: Bool?)

    /// The database is being verified.
    case verifying

    /// A run that is all or nothing was undone, with these steps.
    case rolledBack(identifiers: [String])

    /// The run has succeeded.
    case runFinished(MigrationReport)
}

extension MigrationEvent {
    /// Runs something, and is a stream of its events.
    ///
    /// ```swift
    /// let events = MigrationEvent.stream { observer in
    ///     try await runner.asyncMigrate(in: writer, options: .init(observer: observer))
    /// }
    /// for try await event in events { show(event) }
    /// ```
    ///
    /// The stream ends when the run has ended. The last event of a run that succeeds is
    /// ``runFinished(_:)``, with its report; the error of one that fails is thrown after its last event. If
    /// the stream isn't read any more, because the loop was left or its task was cancelled, the run is
    /// cancelled.
    ///
    /// - Parameter run: Begins at once, in a task of its own. It gets the observer to put into
    ///   ``MigrationOptions/observer``.
    public static func stream<Report>(
        _ run:
            @escaping @Sendable (
                _ observer: @escaping @Sendable (MigrationEvent) -> Void
            ) async throws -> Report
    ) -> AsyncThrowingStream<MigrationEvent, any Error> {
        AsyncThrowingStream { continuation in
            let task = Task {
                do {
                    _ = try await run { continuation.yield($0) }
                    continuation.finish()
                } catch {
                    continuation.finish(throwing: error)
                }
            }
            continuation.onTermination = { _ in task.cancel() }
        }
    }

    /// An observer that writes every event to a log.
    ///
    /// It logs identifiers, times and counts, but never a row's values.
    ///
    /// - Parameter logger: The log.
    /// - Returns: The observer to put into ``MigrationOptions/observer``.
    public static func logging(to logger: Logger) -> @Sendable (MigrationEvent) -> Void {
        { event in
            let (level, message, metadata) = event.logEntry
            logger.log(level: level, message, metadata: metadata)
        }
    }

    private var logEntry: (Logger.Level, Logger.Message, Logger.Metadata) {
        switch self {
        case .waiting(let holder):
            (.notice, "waiting for another process", ["holder": "\(holder.map(String.init) ?? "")"])
        case .runStarted(let direction, let count):
            (.info, "migration started", ["direction": "\(direction)", "count": "\(count)"])
        case .stepStarted(let identifier, let direction, let index, let count):
            (
                .info, "step started",
                [
                    "step": "\(identifier)", "direction": "\(direction)", "index": "\(index)",
                    "count": "\(count)",
                ]
            )
        case .stepContinues(let identifier, let seconds):
            (.trace, "step continues", ["step": "\(identifier)", "seconds": "\(seconds)"])
        case .stepAdvanced(let identifier, let rows):
            (.trace, "step advanced", ["step": "\(identifier)", "rows": "\(rows)"])
        case .stepExpects(let identifier, let seconds):
            (.trace, "step expects", ["step": "\(identifier)", "seconds": "\(seconds)"])
        case .stepPaused(let identifier, let rows):
            (.notice, "step paused", ["step": "\(identifier)", "rows": "\(rows)"])
        case .stepFinished(let step, let direction):
            (
                .info, "step finished",
                [
                    "step": "\(step.identifier)", "direction": "\(direction)",
                    "seconds": "\(step.seconds)", "rows": "\(step.rowsChanged)",
                ]
            )
        case .stepFailed(let identifier, let direction):
            (.error, "step failed", ["step": "\(identifier)", "direction": "\(direction)"])
        case .stepFailedLate(let identifier, let direction, let isDone):
            (
                .error, "step failed after its commit",
                [
                    "step": "\(identifier)", "direction": "\(direction)",
                    "done": "\(isDone.map(String.init) ?? "unknown")",
                ]
            )
        case .verifying:
            (.debug, "verifying", [:])
        case .rolledBack(let identifiers):
            (.warning, "run rolled back", ["steps": "\(identifiers.joined(separator: ","))"])
        case .runFinished(let report):
            (
                .info, "migration finished",
                ["applied": "\(report.steps.count)", "pending": "\(report.pending.count)"]
            )
        }
    }
}
