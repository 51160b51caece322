import Foundation
import GRDB
import Logging
import MigrationKit
import MigrationKitCommon

/// Follows one run: which steps it has done, and how long each took.
///
/// GRDB's migrator reports nothing between two steps. That the next one begins, or that the
/// migrator returns, is how one knows that the step before is committed.
final class RunMonitor: Sendable {
    private struct State {
        var count = 0
        var running: Running?
        var finished: [MigrationReport.Step] = []
        var unchecked: [String] = []
        var violations: ForeignKeyViolations?
        var failed: String?
        var isPaused = false
        var isCommitting = false
        var verification = 0.0
    }

    private struct Running {
        let identifier: String
        let start: ContinuousClock.Instant
        let changesBefore: Int
        var changes = 0
        var seconds = 0.0
        var older: OlderVersions?
        /// Whether what it has done up to now stays. Its rows are then counted batch by batch.
        var isInBatches = false
        var secondsLeft: Double?
    }

    let operation: LongOperation<MigrationEvent>
    private let direction: MigrationEvent.Direction
    private let allowsViolations: Bool
    private let state = Locked(State())

    init(direction: MigrationEvent.Direction, options: MigrationOptions) {
        self.direction = direction
        allowsViolations = options.allowsViolations
        operation = options.operation
    }

    /// The steps that the run has done so far, in order.
    var steps: [MigrationReport.Step] {
        state.withLock { $0.finished }
    }

    /// Whether a step was ended before its batches were done.
    var isPaused: Bool { state.withLock(\.isPaused) }

    /// The tables that the run's verification can't check, each with what only the app has.
    var unchecked: [String] { state.withLock { $0.unchecked } }

    /// The violations of foreign keys from before the run, which may remain; `nil` if none may.
    var violations: ForeignKeyViolations? { state.withLock { $0.violations } }

    /// Notes the violations of foreign keys, if they may remain.
    func noteViolations(_ db: Database) throws {
        guard allowsViolations else { return }
        let violations = try watching(db) {
            try db.withLargeCache { try ForeignKeyViolations(db) }
        }
        state.withLock { $0.violations = violations }
    }

    /// What violates foreign keys after the run, as far as it may.
    func violationsLeft(in writer: any DatabaseWriter) throws -> String? {
        guard violations != nil else { return nil }
        return try writer.writeWithoutTransaction { try ForeignKeyViolations($0).phrase }
    }

    /// Sets how many steps the run still has to do, as far as is known now.
    func expect(_ remaining: Int) {
        let isFirst = state.withLock { state in
            defer { state.count = state.finished.count + remaining }
            return state.count == 0
        }
        if isFirst, remaining > 0 {
            operation.report(.runStarted(direction: direction, count: remaining))
        }
    }

    // MARK: - Steps

    /// Runs a step's work, from its beginning to just before its commit.
    ///
    /// - Parameter ledgerRows: How many rows of the ledger the work changes. They don't count as
    ///   the step's.
    /// - Returns: How long the work took, in seconds.
    func step(
        _ identifier: String,
        in db: Database,
        ledgerRows: Int = 0,
        _ work: () throws -> Void
    ) throws -> Double {
        let start = ContinuousClock.now
        let changesBefore = db.totalChangesCount
        try begin(identifier, at: start, changesBefore: changesBefore)
        let verification = verificationSeconds
        try watching(db, work)
        let changes = db.totalChangesCount - changesBefore - ledgerRows
        // The journal stores this time, too, and is written before the commit.
        let seconds =
            max(0, (.now - start) / .seconds(1) - (verificationSeconds - verification))
        state.withLock { state in
            state.running?.changes = changes
            state.running?.seconds = seconds
        }
        try operation.checkCancellation()
        return seconds
    }

    private func begin(
        _ identifier: String,
        at start: ContinuousClock.Instant,
        changesBefore: Int = 0
    ) throws {
        try operation.checkCancellation()
        let (index, count) = state.withLock { state in
            state.running = Running(
                identifier: identifier,
                start: start,
                changesBefore: changesBefore
            )
            return (state.finished.count + 1, state.count)
        }
        operation.report(
            .stepStarted(
                identifier: identifier,
                direction: direction,
                index: index,
                count: count
            )
        )
    }

    /// Runs a step's batches.
    ///
    /// - Returns: How long they took, in seconds.
    func stepInBatches(_ identifier: String, _ work: () throws -> Void) throws -> Double {
        let start = ContinuousClock.now
        try begin(identifier, at: start)
        state.withLock { $0.running?.isInBatches = true }
        try work()
        let seconds = (.now - start) / .seconds(1)
        state.withLock { $0.running?.seconds = seconds }
        return seconds
    }

    /// Notes how far the batches came.
    ///
    /// - Parameters:
    ///   - changes: How many rows of their statements' own tables they have changed. What a trigger or a
    ///     full-text index adds is no row of the step's.
    ///   - secondsLeft: How long they will still take, if that can be told.
    func advance(to changes: Int, secondsLeft: Double?) throws {
        state.withLock { state in
            state.running?.changes = changes
            state.running?.secondsLeft = secondsLeft
        }
        try operation.checkCancellation()
    }

    /// Marks the running step as ended before its batches were done.
    func pauseStep() {
        let running = state.withLock { state in
            state.isPaused = true
            defer { state.running = nil }
            return state.running
        }
        guard let running else { return }
        operation.report(
            .stepPaused(identifier: running.identifier, rowsChanged: running.changes)
        )
    }

    /// Verifies what the steps have done. A step's own time is without this.
    ///
    /// - Parameter body: Returns the tables that can't be checked.
    func verifying(_ body: () throws -> [String]) throws {
        operation.report(.verifying)
        let start = ContinuousClock.now
        defer {
            let seconds = (.now - start) / .seconds(1)
            state.withLock { $0.verification += seconds }
        }
        let unchecked = try body()
        state.withLock { $0.unchecked = unchecked }
    }

    /// Notes what the running step means for versions that don't know it.
    func note(_ older: OlderVersions) {
        state.withLock { $0.running?.older = older }
    }

    /// How long the verification has taken up to now, in seconds.
    var verificationSeconds: Double { state.withLock { $0.verification } }

    /// Notes that the transaction is committed next, after all of its work. What fails before that is
    /// undone, even if the ledger can't be read afterwards.
    func beginCommit() {
        state.withLock { $0.isCommitting = true }
    }

    /// Marks the running step, if there is one, as committed.
    func finishStep() {
        let step: MigrationReport.Step? = state.withLock { state in
            state.isCommitting = false
            guard let running = state.running else { return nil }
            let step = MigrationReport.Step(
                identifier: running.identifier,
                seconds: running.seconds,
                rowsChanged: running.changes,
                older: running.older
            )
            state.finished.append(step)
            state.running = nil
            return step
        }
        if let step {
            operation.report(.stepFinished(step, direction: direction))
        }
    }

    /// Marks the running step, if there is one, as failed.
    ///
    /// - Parameters:
    ///   - error: Why.
    ///   - readLedger: Reads the applied steps, outside of a transaction.
    func failStep(_ error: any Error, _ readLedger: () throws -> Set<String>) {
        if error is CancellationError, state.withLock({ $0.running?.isInBatches == true }) {
            return pauseStep()
        }
        let identifier = state.withLock { state in
            defer { state.running = nil }
            state.failed = state.running?.identifier
            return state.failed
        }
        guard let identifier else { return }
        let isDone = isDone(identifier, error, readLedger)
        if isDone == false {
            operation.report(.stepFailed(identifier: identifier, direction: direction))
        } else {
            operation.report(
                .stepFailedLate(identifier: identifier, direction: direction, isDone: isDone)
            )
        }
    }

    /// Marks a run in one transaction as failed.
    ///
    /// - Parameters:
    ///   - error: Why.
    ///   - readLedger: Reads the applied steps, outside of a transaction.
    func failRun(_ error: any Error, _ readLedger: () throws -> Set<String>) {
        let (within, hasBegun, identifiers) = state.withLock { state in
            defer {
                state.running = nil
                state.finished = []
            }
            state.failed = state.running?.identifier
            return (state.running?.identifier, state.count != 0, state.finished.map(\.identifier))
        }
        // Nothing is committed before the last step is done.
        if let within { operation.report(.stepFailed(identifier: within, direction: direction)) }
        // If nothing has begun, there is nothing to undo.
        guard hasBegun else { return }
        // The transaction can have been committed only after its last step.
        if within == nil, let last = identifiers.last {
            let isDone = isDone(last, error, readLedger)
            if isDone != false {
                operation.report(
                    .stepFailedLate(identifier: last, direction: direction, isDone: isDone)
                )
                return
            }
        }
        operation.report(.rolledBack(identifiers: identifiers))
    }

    /// Runs a block, and names the step that failed in it: in the log, and in an error of SQLite. An
    /// error of the host's own is thrown as it is, since the host may catch it.
    func naming<Value>(
        for writer: any DatabaseWriter,
        log: (@Sendable (String) -> Void)?,
        _ body: () throws -> Value
    ) throws -> Value {
        do {
            return try body()
        } catch {
            guard let step = state.withLock(\.failed), !(error is CancellationError) else {
                throw error
            }
            let reason =
                (error as? DatabaseError)?.messageWithoutValues
                ?? (error as? any LocalizedError)?.errorDescription
            log?("❌ \(step) failed: \(reason ?? "\(error)")")
            throw (error as? DatabaseError)?.naming(step, writer.configuration) ?? error
        }
    }

    /// Reads the schema once more after the steps are committed.
    ///
    /// - Throws: What ``readSchemaAnew()`` throws. The event reports that the steps are done.
    func readSchemaAnew(of writer: any DatabaseWriter) throws {
        do {
            try writer.readSchemaAnew()
        } catch let error as DatabaseError {
            if let last = steps.last {
                operation.report(
                    .stepFailedLate(
                        identifier: last.identifier,
                        direction: direction,
                        isDone: true
                    )
                )
            }
            throw error
        }
    }

    /// Whether a step that failed is nevertheless done: a lock, an unlock or a synchronization can
    /// fail after the commit. SQLite's error doesn't show this, so the ledger is read.
    ///
    /// A commit to a write-ahead log is written before it is synchronized. If only the
    /// synchronization fails, this connection continues without the commit, and the next one may
    /// find it.
    ///
    /// - Returns: `nil` if it is unknown.
    private func isDone(
        _ identifier: String,
        _ error: any Error,
        _ readLedger: () throws -> Set<String>
    ) -> Bool? {
        guard state.withLock(\.isCommitting) else { return false }
        guard let applied = try? readLedger() else { return nil }
        let isDone = applied.has(identifier) == (direction == .forward)
        let code = (error as? DatabaseError)?.extendedResultCode
        return !isDone && code == .SQLITE_IOERR_FSYNC ? nil : isDone
    }

    // MARK: - At and Within Statements

    /// Runs a block that reports progress and can be interrupted, at every statement and in the
    /// middle of a long one.
    func watching<Value>(_ db: Database, _ block: () throws -> Value) throws -> Value {
        try operation.watching(
            db,
            every: 1_000,
            atStatements: true,
            reporting: { signs(db.totalChangesCount) },
            block
        )
    }

    private func signs(_ changes: Int) -> [MigrationEvent] {
        guard let running = state.withLock({ $0.running }) else { return [] }
        let expects = running.secondsLeft.map {
            MigrationEvent.stepExpects(identifier: running.identifier, seconds: $0)
        }
        return [
            .stepContinues(
                identifier: running.identifier,
                seconds: (.now - running.start) / .seconds(1)
            ),
            .stepAdvanced(
                identifier: running.identifier,
                rowsChanged: running.isInBatches
                    ? running.changes : changes - running.changesBefore
            ),
        ] + (expects.map { [$0] } ?? [])
    }
}
