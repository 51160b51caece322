import Foundation
import GRDB
import MigrationKit
import MigrationKitCommon
import MigrationKitGRDB

/// Follows one conversion: reports its progress, waits for other processes, and cancels it on
/// request.
package final class ConversionMonitor: Sendable {
    private struct State {
        var phase = ConversionEvent.Phase.copying
        var total = 0
        var done = 0
        var seconds: [ConversionEvent.Phase: Double] = [:]
        let start = ContinuousClock.now

        var event: ConversionEvent {
            .progress(phase, bytesDone: min(done, total), bytesTotal: total)
        }
    }

    private let operation: LongOperation<ConversionEvent>
    private let timeout: TimeInterval
    private let state = Locked(State())

    /// - Parameter timeout: How long to wait for others, in seconds.
    package init(
        timeout: TimeInterval,
        cancellation: Cancellation?,
        observer: (@Sendable (ConversionEvent) -> Void)?
    ) {
        self.timeout = timeout
        operation = LongOperation(timeout: timeout, cancellation: cancellation, observer: observer)
    }

    package func checkCancellation() throws {
        try operation.checkCancellation()
    }

    // MARK: - Progress

    /// Reports the beginning of a phase.
    package func begin(_ phase: ConversionEvent.Phase, total: Int) {
        state.withLock { $0 = State(phase: phase, total: total, seconds: $0.seconds) }
        operation.report(.progress(phase, bytesDone: 0, bytesTotal: total))
    }

    /// Reports the end of the phase.
    package func finish() {
        operation.report(
            state.withLock { state in
                state.seconds[state.phase] = (.now - state.start) / .seconds(1)
                state.done = state.total
                return state.event
            }
        )
    }

    /// How long each finished phase took.
    package var phaseSeconds: [ConversionEvent.Phase: Double] { state.withLock { $0.seconds } }

    /// Adds to the phase's progress.
    package func advance(by count: Int) {
        state.withLock { $0.done += count }
    }

    /// Sets the phase's progress, between two calls of SQLite.
    package func reach(_ done: Int) throws {
        state.withLock { $0.done = done }
        try step(by: 0)
    }

    /// Adds to the phase's progress, for work that SQLite doesn't do.
    package func step(by count: Int) throws {
        advance(by: count)
        guard operation.continues(reporting: { [progress()] }) else { throw CancellationError() }
    }

    /// Runs SQL that reports its progress and can be interrupted in the middle of a statement.
    ///
    /// - Parameter measure: How many bytes of the phase are done, if ``advance(by:)`` isn't used.
    package func watching<Value>(
        _ db: Database,
        measure: (() -> Int)? = nil,
        _ body: () throws -> Value
    ) throws -> Value {
        try checkCancellation()
        return try operation.watching(
            db,
            every: 5_000,
            reporting: { [progress(measure)] },
            body
        )
    }

    private func progress(_ measure: (() -> Int)? = nil) -> ConversionEvent {
        state.withLock { state in
            if let measure { state.done = measure() }
            return state.event
        }
    }

    // MARK: - Waiting for Others

    /// Retries until it succeeds or the timeout is over.
    ///
    /// - Parameters:
    ///   - others: The processes that have the file open, for the observer.
    ///   - attempt: Returns `nil` while others block it.
    /// - Returns: `nil` if others still blocked it at the end.
    package func waiting<Value>(
        for others: () throws -> [OpenProcess],
        _ attempt: () throws -> Value?
    ) throws -> Value? {
        try operation.waiting(for: others, reporting: { .waiting(for: $0) }, attempt)
    }

    /// Locks a file once no other process has it open, with or without a lock.
    ///
    /// The file isn't locked while this waits: otherwise an idle program that has it open could do
    /// nothing for that long.
    ///
    /// - Parameter lock: Opens and locks the file, or returns `nil` while others block it. It is
    ///   called at least once, so that other problems of the file are reported at once. Releasing
    ///   its result releases the lock.
    /// - Returns: `nil` if others still blocked it at the end.
    func waitingUntilUnused<Value>(
        _ identity: FileIdentity,
        _ lock: () throws -> Value?
    ) throws -> Value? {
        var isFirst = true
        return try waiting(for: identity.otherProcesses) {
            guard try isFirst || identity.otherProcesses().isEmpty else { return nil }
            isFirst = false
            guard let value = try lock() else { return nil }
            return try identity.otherProcesses().isEmpty ? value : nil
        }
    }

    /// Waits until no other process has the file open. The file isn't locked here.
    ///
    /// - Throws: ``DatabaseConversionError/inUse(path:by:)`` after the timeout.
    package func waitUntilUnused(_ file: DatabaseFile, _ identity: FileIdentity) throws {
        let isUnused = try waiting(for: identity.otherProcesses) {
            try identity.otherProcesses().isEmpty ? true : nil
        }
        guard isUnused != nil else {
            throw DatabaseConversionError.inUse(path: file.path, by: try identity.otherProcesses())
        }
    }

    /// Waits until no other process has a file open under a name that it has lost. The caller has
    /// the file locked, so they give up when their own timeouts are over.
    ///
    /// - Parameter least: How long to wait at least, in seconds.
    /// - Returns: The processes that haven't given up.
    func waitUntilForgotten(
        _ identity: FileIdentity,
        atLeast least: TimeInterval
    ) throws -> [OpenProcess] {
        var others: [OpenProcess] = []
        _ = try Polling.value(within: max(least, timeout)) {
            let found = try identity.processesWithLostName()
            if found != others, !found.isEmpty { operation.report(.waiting(for: found)) }
            others = found
            return found.isEmpty ? true : nil
        }
        return others
    }

    /// Runs `body` under the lock that migrations take, too.
    package func underMigrationLock<Value>(
        of file: DatabaseFile,
        _ body: () throws -> Value
    ) throws -> Value {
        let lock = file.migrationLock
        do {
            return try operation.holding(
                lock,
                reporting: { .waiting(for: $0.map { [OpenProcess($0)] } ?? []) },
                body
            )
        } catch FileLock.Failure.held(let holder) {
            throw DatabaseConversionError.busy(path: file.path, processIdentifier: holder)
        } catch FileLock.Failure.refused(let code) {
            throw DatabaseConversionError.cannotLock(path: lock.path, code: code)
        }
    }
}
