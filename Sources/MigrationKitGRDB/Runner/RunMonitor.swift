import Foundation
import GRDB
import MigrationKit

/// Follows one run: which steps it has done, how long each took, whether it is to end.
///
/// GRDB's migrator reports nothing between two steps. That the next one begins, or that the
/// migrator returns, is how one knows that the step before is committed.
///
/// - Note: `@unchecked` because the state is guarded by `lock`; the migrator's closures are
///   `@Sendable`, although it calls them one after the other.
final class RunMonitor: @unchecked Sendable {
    private struct Running {
        let identifier: String
        let start: ContinuousClock.Instant
        let changesBefore: Int
        var changes = 0
        var seconds = 0.0
        var lastSign: ContinuousClock.Instant
    }

    let direction: MigrationEvent.Direction
    private let options: MigrationOptions
    private let lock = NSLock()
    private var count = 0
    private var running: Running?
    private var finished: [MigrationReport.Step] = []

    /// Only the thread of the database uses it.
    private var ticks = 0

    init(direction: MigrationEvent.Direction, options: MigrationOptions) {
        self.direction = direction
        self.options = options
    }

    func tell(_ event: MigrationEvent) {
        options.observer?(event)
    }

    func checkCancellation() throws {
        try options.cancellation?.check()
    }

    /// The steps that the run has done so far, in order.
    var steps: [MigrationReport.Step] {
        lock.withLock { finished }
    }

    /// The run has this many steps to do, as far as is known now.
    func expect(_ remaining: Int) {
        let isFirst = lock.withLock {
            defer { count = finished.count + remaining }
            return count == 0
        }
        if isFirst, remaining > 0 {
            tell(.runStarted(direction: direction, count: remaining))
        }
    }

    // MARK: - Steps

    /// Runs a step's work, from its beginning to just before its commit.
    ///
    /// - Parameter ledgerRows: How many rows of the ledger the work changes. They are none of the
    ///   step's own.
    /// - Returns: How long the work took, in seconds.
    func step(
        _ identifier: String,
        in db: Database,
        ledgerRows: Int = 0,
        _ work: () throws -> Void
    ) throws -> Double {
        try checkCancellation()
        let start = ContinuousClock.now
        let index = lock.withLock {
            running = Running(
                identifier: identifier,
                start: start,
                changesBefore: db.totalChangesCount,
                lastSign: start
            )
            return finished.count + 1
        }
        tell(.stepStarted(identifier: identifier, direction: direction, index: index, count: count))
        try watching(db, work)
        let changesAfter = db.totalChangesCount
        // The journal has this time as well, and is written before the commit.
        let seconds = (.now - start) / .seconds(1)
        lock.withLock {
            guard var running else { return }
            running.changes = changesAfter - running.changesBefore - ledgerRows
            running.seconds = seconds
            self.running = running
        }
        try checkCancellation()
        return seconds
    }

    /// The running step, if there is one, is committed.
    func finishStep() {
        let step: MigrationReport.Step? = lock.withLock {
            guard let running else { return nil }
            let step = MigrationReport.Step(
                identifier: running.identifier,
                seconds: running.seconds,
                rowsChanged: running.changes
            )
            finished.append(step)
            self.running = nil
            return step
        }
        if let step {
            tell(.stepFinished(step, direction: direction))
        }
    }

    /// The running step, if there is one, failed.
    ///
    /// - Parameters:
    ///   - error: Why.
    ///   - readLedger: Reads the applied steps, outside of a transaction.
    func failStep(_ error: any Error, _ readLedger: () throws -> Set<String>) {
        let identifier = lock.withLock {
            defer { running = nil }
            return running?.identifier
        }
        guard let identifier else { return }
        let isDone = isDone(identifier, error, readLedger)
        if isDone == false {
            tell(.stepFailed(identifier: identifier, direction: direction))
        } else {
            tell(.stepFailedLate(identifier: identifier, direction: direction, isDone: isDone))
        }
    }

    /// A run in one transaction failed.
    ///
    /// - Parameters:
    ///   - error: Why.
    ///   - readLedger: Reads the applied steps, outside of a transaction.
    func failRun(_ error: any Error, _ readLedger: () throws -> Set<String>) {
        let within = lock.withLock {
            defer { running = nil }
            return running?.identifier
        }
        // Nothing is committed before the last step is done.
        if let within { tell(.stepFailed(identifier: within, direction: direction)) }
        let (hasBegun, identifiers) = lock.withLock {
            defer { finished = [] }
            return (count != 0, finished.map(\.identifier))
        }
        // If nothing had begun, there was nothing to undo.
        guard hasBegun else { return }
        // Only behind its last step can the transaction have been committed.
        if within == nil, let last = identifiers.last {
            let isDone = isDone(last, error, readLedger)
            if isDone != false {
                tell(.stepFailedLate(identifier: last, direction: direction, isDone: isDone))
                return
            }
        }
        tell(.rolledBack(identifiers: identifiers))
    }

    /// Reads the schema once more when the steps are committed.
    ///
    /// - Throws: What ``readSchemaAnew()`` throws. The event says that the steps are done.
    func readSchemaAnew(of writer: any DatabaseWriter) throws {
        do {
            try writer.readSchemaAnew()
        } catch let error as DatabaseError {
            if let last = steps.last {
                tell(
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

    /// Whether a step that failed is done all the same: a lock, an unlock or a synchronization can
    /// fail after the commit. Only the ledger says so; SQLite's error doesn't.
    ///
    /// A commit to a write-ahead log is written before it is synchronized. If only that fails, this
    /// connection goes on without the commit, and the next one may find it.
    ///
    /// - Returns: `nil` if it can't be told.
    private func isDone(
        _ identifier: String,
        _ error: any Error,
        _ readLedger: () throws -> Set<String>
    ) -> Bool? {
        guard let applied = try? readLedger() else { return nil }
        let isDone = applied.contains(identifier) == (direction == .forward)
        let code = (error as? DatabaseError)?.extendedResultCode
        return !isDone && code == .SQLITE_IOERR_FSYNC ? nil : isDone
    }

    // MARK: - At and Within Statements

    /// Runs a block that gives signs of life, and can be interrupted, at every statement and in the
    /// middle of a long one.
    func watching<Value>(_ db: Database, _ block: () throws -> Value) throws -> Value {
        guard options.observer != nil || options.cancellation != nil else { return try block() }
        do {
            return try db.withProgressHandler(
                every: 1_000,
                atStatements: true,
                { tick(db) },
                block
            )
        } catch {
            // What the interrupted statement throws says nothing about why it was.
            try checkCancellation()
            throw error
        }
    }

    /// A statement begins, or a long one has made a thousand steps. The clock and the cancellation
    /// are looked at now and then, so that short statements cost nothing more.
    private func tick(_ db: Database) -> Bool {
        ticks &+= 1
        return ticks % 16 != 0 || continues(db)
    }

    private func continues(_ db: Database) -> Bool {
        let signs: [MigrationEvent] = lock.withLock {
            guard var running else { return [] }
            let now = ContinuousClock.now
            guard now - running.lastSign > .milliseconds(100) else { return [] }
            running.lastSign = now
            self.running = running
            return [
                .stepContinues(
                    identifier: running.identifier,
                    seconds: (now - running.start) / .seconds(1)
                ),
                .stepAdvanced(
                    identifier: running.identifier,
                    rowsChanged: db.totalChangesCount - running.changesBefore
                ),
            ]
        }
        signs.forEach(tell)
        return options.cancellation?.isCancelled != true
    }
}
