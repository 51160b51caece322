import MigrationKitCommon
import Foundation
import GRDB
import MigrationKitGRDB

/// Follows one conversion: reports its progress, waits for other processes, and ends it when asked
/// to.
package final class ConversionMonitor: Sendable {
    private struct State {
        var phase = ConversionEvent.Phase.copying
        var total = 0
        var done = 0
        var lastSign = ContinuousClock.now
        let start = ContinuousClock.now
    }

    private let timeout: TimeInterval
    private let cancellation: ConversionCancellation?
    private let observer: (@Sendable (ConversionEvent) -> Void)?
    private let state = Locked(State())
    private let phases = Locked<[ConversionEvent.Phase: Double]>([:])

    /// - Parameter timeout: How long to wait for others, in seconds.
    package init(
        timeout: TimeInterval,
        cancellation: ConversionCancellation?,
        observer: (@Sendable (ConversionEvent) -> Void)?
    ) {
        self.timeout = timeout
        self.cancellation = cancellation
        self.observer = observer
    }

    package func checkCancellation() throws {
        try cancellation?.check()
    }

    // MARK: - Progress

    /// Reports the beginning of a phase.
    package func begin(_ phase: ConversionEvent.Phase, total: Int) {
        state.withLock { $0 = State(phase: phase, total: total) }
        observer?(.progress(phase, bytesDone: 0, bytesTotal: total))
    }

    /// Reports the end of the phase.
    package func finish() {
        let state = state.withLock { $0 }
        phases.withLock { $0[state.phase] = (.now - state.start) / .seconds(1) }
        observer?(
            .progress(state.phase, bytesDone: state.total, bytesTotal: state.total)
        )
    }

    /// How long the phases took that are done.
    package var phaseSeconds: [ConversionEvent.Phase: Double] { phases.withLock { $0 } }

    /// The phase has come that much further.
    package func advance(by count: Int) {
        state.withLock { $0.done += count }
    }

    /// The phase has come that far, between two calls of SQLite.
    func reach(_ done: Int) throws {
        guard continues({ done }) else { throw CancellationError() }
    }

    /// The phase has come that much further, in work that SQLite doesn't do.
    package func step(by count: Int) throws {
        advance(by: count)
        guard continues(nil) else { throw CancellationError() }
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
        do {
            return try db.withProgressHandler(every: 5_000, { continues(measure) }, body)
        } catch {
            // What the interrupted statement throws says nothing about why it was.
            try checkCancellation()
            throw error
        }
    }

    private func continues(_ measure: (() -> Int)?) -> Bool {
        let event: ConversionEvent? = state.withLock { state in
            let now = ContinuousClock.now
            guard now - state.lastSign > .milliseconds(100) else { return nil }
            state.lastSign = now
            if let measure { state.done = measure() }
            let done = min(state.done, state.total)
            return .progress(state.phase, bytesDone: done, bytesTotal: state.total)
        }
        if let event { observer?(event) }
        return cancellation?.isCancelled != true
    }

    // MARK: - Waiting for Others

    /// Tries again and again, until it works or the timeout is over.
    ///
    /// - Parameters:
    ///   - others: Who has the file open, for the one who watches.
    ///   - attempt: Answers `nil` as long as others are in the way.
    /// - Returns: `nil` if others were in the way to the end.
    package func waiting<Value>(
        for others: () throws -> [OpenProcess],
        _ attempt: () throws -> Value?
    ) throws -> Value? {
        var told: [OpenProcess]?
        func tell() throws {
            let processes = try others()
            guard told != processes else { return }
            observer?(.waiting(for: processes))
            told = processes
        }
        return try Polling.value(within: timeout, whileWaiting: tell) {
            try checkCancellation()
            return try attempt()
        }
    }

    /// Locks a file once no other process has it open, with or without a lock.
    ///
    /// While others are waited for it isn't locked, or a program that has it open and does nothing
    /// just now could do nothing for so long.
    ///
    /// - Parameter lock: Opens and locks the file, or answers `nil` as long as others are in the
    ///   way. It is always called once, so that other problems of the file are reported at once.
    ///   Its result releases the lock when it is released.
    /// - Returns: `nil` if others were in the way to the end.
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

    /// Waits until no other process has a file open that isn't locked here.
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

    /// Runs `body` under the lock under which a database is migrated, too.
    package func underMigrationLock<Value>(
        of file: DatabaseFile,
        _ body: () throws -> Value
    ) throws -> Value {
        let lock = FileLock(beside: file.absolutePath, suffix: FileLock.migrationSuffix)
        do {
            return try lock.withLock(timeout: timeout, whileWaiting: waits, body)
        } catch FileLock.Failure.held(let holder) {
            throw DatabaseConversionError.busy(path: file.path, processIdentifier: holder)
        } catch FileLock.Failure.refused(let code) {
            throw DatabaseConversionError.cannotLock(path: lock.path, code: code)
        }
    }

    /// Reports the wait for a process that migrates or converts the same database.
    private func waits(for process: Int32?) throws {
        try checkCancellation()
        let isNew = state.withLock { state in
            guard ContinuousClock.now - state.lastSign > .milliseconds(100) else { return false }
            state.lastSign = .now
            return true
        }
        if isNew {
            observer?(.waiting(for: process.map { [OpenProcess($0)] } ?? []))
        }
    }
}
