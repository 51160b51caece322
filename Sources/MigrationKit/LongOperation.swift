import Foundation
import MigrationKitCommon

/// What all long calls have in common: they report events, end when they are cancelled, and wait for
/// other processes.
///
/// Not `Operation`: Foundation has a class of that name.
package final class LongOperation<Event: Sendable>: Sendable {
    package let cancellation: Cancellation?
    private let timeout: TimeInterval
    private let observer: (@Sendable (Event) -> Void)?
    private let lastReport = Locked(ContinuousClock.now)
    private let held = Locked<(lock: FileLock.Held, lastSign: ContinuousClock.Instant)?>(nil)

    /// - Parameters:
    ///   - timeout: How long to wait for other processes, in seconds.
    ///   - cancellation: Ends the operation from another thread. The cancellation of the task that
    ///     waits for it in ``asyncRun(_:)`` does, too.
    ///   - observer: Gets the events.
    package init(
        timeout: TimeInterval,
        cancellation: Cancellation?,
        observer: (@Sendable (Event) -> Void)?
    ) {
        self.timeout = timeout
        self.cancellation = .ofCall(cancellation)
        self.observer = observer
    }

    // MARK: - Cancellation

    package var isCancelled: Bool { cancellation?.isCancelled == true }

    package func checkCancellation() throws {
        try cancellation?.check()
    }

    /// Whether anybody gets its events, can end it, or may wait for it.
    package var isWatched: Bool {
        observer != nil || cancellation != nil || held.withLock { $0 != nil }
    }

    // MARK: - Progress

    package func report(_ event: Event) {
        guard let observer else { return }
        lastReport.withLock { $0 = .now }
        observer(event)
    }

    /// Reports that the operation goes on, about ten times a second if nothing else is reported.
    ///
    /// - Parameter events: What is reported then.
    /// - Returns: Whether it is to go on.
    package func continues(reporting events: () -> [Event]) -> Bool {
        signProgress()
        if observer != nil, isTimeForSign() { events().forEach(report) }
        return !isCancelled
    }

    /// Shows those who wait for the lock, once a second, that the operation goes on.
    private func signProgress() {
        held.withLock { held in
            guard let (lock, lastSign) = held, .now - lastSign > .seconds(1) else { return }
            lock.signProgress()
            held = (lock, .now)
        }
    }

    private func isTimeForSign() -> Bool {
        lastReport.withLock { last in
            let now = ContinuousClock.now
            guard now - last > .milliseconds(100) else { return false }
            last = now
            return true
        }
    }

    // MARK: - Waiting for Others

    /// Tries again and again, until it works or the timeout is over.
    ///
    /// - Parameters:
    ///   - others: Who is in the way. They are reported again if they change.
    ///   - event: Reports them.
    ///   - attempt: Returns `nil` as long as others are in the way.
    /// - Returns: `nil` if others were in the way to the end.
    /// - Throws: A `CancellationError`; what the closures throw.
    package func waiting<Others: Equatable, Value>(
        for others: () throws -> Others,
        reporting event: (Others) -> Event,
        _ attempt: () throws -> Value?
    ) throws -> Value? {
        var reported: Others?
        func reportOthers() throws {
            let others = try others()
            guard reported != others else { return }
            report(event(others))
            reported = others
        }
        return try Polling.value(within: timeout, whileWaiting: reportOthers) {
            try checkCancellation()
            return try attempt()
        }
    }

    /// Runs `body` while holding a lock, and reports once that another process holds it.
    ///
    /// - Parameters:
    ///   - lock: The lock.
    ///   - waitsForProgress: Whether the timeout begins anew as long as the holder makes progress.
    ///   - event: Reports the process that holds it, by its number if that is known.
    /// - Throws: `FileLock.Failure`; a `CancellationError` if it is cancelled while it waits; what
    ///   `body` throws.
    package func holding<Value>(
        _ lock: FileLock,
        waitsForProgress: Bool = false,
        reporting event: (_ holder: Int32?) -> Event,
        _ body: () throws -> Value
    ) throws -> Value {
        var isReported = false
        func reportOnce(_ holder: Int32?) throws {
            try checkCancellation()
            if !isReported { report(event(holder)) }
            isReported = true
        }
        return try lock.withLock(
            timeout: timeout,
            waitsForProgress: waitsForProgress,
            whileWaiting: reportOnce
        ) { lock in
            held.withLock { $0 = (lock, .now) }
            defer { held.withLock { $0 = nil } }
            return try body()
        }
    }
}

/// The options of a long call: who watches it and may end it.
package protocol OperationOptions: Sendable {
    associatedtype Event: Sendable

    var cancellation: Cancellation? { get set }
    var observer: (@Sendable (Event) -> Void)? { get set }

    /// How long to wait for other processes, in seconds.
    var timeout: TimeInterval { get }
}

extension OperationOptions {
    package var operation: LongOperation<Event> {
        LongOperation(timeout: timeout, cancellation: cancellation, observer: observer)
    }
}
