import Logging
import MigrationKit

extension MigrationEvent {
    /// A stream of the events of one run.
    ///
    /// ```swift
    /// let (events, observer) = MigrationEvent.stream()
    /// async let report = runner.asyncMigrate(in: writer, options: .init(observer: observer))
    /// for await event in events { show(event) }
    /// ```
    ///
    /// The stream ends when the observer is released together with the run's options.
    ///
    /// - Returns: The stream, and the observer to put into ``MigrationOptions/observer``.
    public static func stream() -> (
        events: AsyncStream<MigrationEvent>, observer: @Sendable (MigrationEvent) -> Void
    ) {
        let (events, continuation) = AsyncStream.makeStream(of: MigrationEvent.self)
        let source = EventSource(continuation)
        return (events, { source.continuation.yield($0) })
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

/// Ends its stream when the last closure that holds it is released.
private final class EventSource: Sendable {
    let continuation: AsyncStream<MigrationEvent>.Continuation

    init(_ continuation: AsyncStream<MigrationEvent>.Continuation) {
        self.continuation = continuation
    }

    deinit {
        continuation.finish()
    }
}
