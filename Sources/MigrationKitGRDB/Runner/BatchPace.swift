import GRDB
import MigrationKit

/// How many rows the next batch has, and whether others write meanwhile.
struct BatchPace {
    private(set) var rows: Int
    private var most: Int
    private let wantedHold: ClosedRange<Double>
    /// Longer if a batch of few rows takes most of that, too.
    private var hold: ClosedRange<Double>
    /// The first of several batches in a row that held the lock for too long.
    private var slow: (rows: Int, seconds: Double, own: Double?)?
    /// How many batches may still take that longer time.
    private var batchesLeft = 0
    private static let trust = 200
    /// That of the last look. It changes when another connection commits.
    private var dataVersion: Int?
    private var contendedUntil: ContinuousClock.Instant?
    private var nextTurn = ContinuousClock.now + .milliseconds(20)
    /// How many rows this connection had changed after the last batch. The app may use it in between.
    private var changes: Int?
    /// Whether others may have written since this way through the table began.
    private(set) var isDisturbed: Bool

    /// What a batch has at most if nobody says it.
    private static let most = 1_000_000

    /// - Parameters:
    ///   - hold: How long a batch should take, in seconds.
    ///   - isResumed: Whether the way through the table began in an earlier run.
    ///   - former: That of the statement before.
    init(
        _ batch: MigrationBatch,
        holding hold: ClosedRange<Double>,
        isResumed: Bool,
        after former: BatchPace? = nil
    ) {
        isDisturbed = isResumed
        (dataVersion, changes) = (former?.dataVersion, former?.changes)
        most = batch.rows ?? Self.most
        rows = min(most, 500)
        (wantedHold, self.hold) = (hold, hold)
    }

    /// At least as long as others wait before they ask again.
    /// <https://www.sqlite.org/c3ref/busy_timeout.html>
    private static let courtesy = 0.03

    /// How long others should have the lock after this batch, in seconds: after each if another
    /// connection has committed within the last seconds. Somebody who waits for the first time is
    /// noticed only once it is his turn, so there is one now and then.
    mutating func turnForOthers(at now: ContinuousClock.Instant = .now) -> Double {
        guard contendedUntil.map({ now < $0 }) ?? false || now >= nextTurn else { return 0 }
        nextTurn = now + .milliseconds(300)
        return Self.courtesy
    }

    /// Begins another way through the table. Only a few rows are left to change.
    mutating func beginAgain() {
        most = Self.most
        isDisturbed = false
    }

    mutating func look(_ db: Database) throws {
        let version = try MigrationLedger.dataVersion(db)
        if let dataVersion, dataVersion != version {
            contendedUntil = .now + .seconds(5)
            isDisturbed = true
        }
        if let changes, changes != db.totalChangesCount { isDisturbed = true }
        dataVersion = version
    }

    /// Notes that what follows is by others.
    mutating func leave(_ db: Database) { changes = db.totalChangesCount }

    /// Runs a batch, and sets how many rows the next one has.
    ///
    /// - Parameter body: Calls what it is given when it has the lock.
    mutating func timing(_ body: (_ begin: () -> Void) throws -> Void) throws {
        var start = ContinuousClock.now
        try body { start = .now }
        note(seconds: (.now - start) / .seconds(1))
    }

    /// - Parameter seconds: How long a batch of that many rows has held the lock.
    mutating func note(seconds: Double) {
        if hold != wantedHold {
            batchesLeft -= 1
            // It is found again, if it is still so.
            if batchesLeft == 0 { (hold, slow) = (wantedHold, nil) }
        }
        if seconds <= hold.upperBound {
            slow = nil
            // It was something else that took the time.
            if seconds < hold.lowerBound / 2 { hold = wantedHold }
            let growth = hold == wantedHold ? 2 : 4
            if seconds < hold.lowerBound { rows = min(growth * rows, most) }
            return
        }
        guard let first = slow else {
            slow = (rows, seconds, own: nil)
            rows = rows(lasting: seconds)
            return
        }
        let ofRow = max(first.seconds - seconds, 0) / Double(max(first.rows - rows, 1))
        let own = seconds - ofRow * Double(rows)
        let isSure = first.own.map { abs(own - $0) <= $0 / 4 } ?? false
        // A slow disk, or a subquery that reads a table in each batch: fewer rows hardly help. Two batches
        // say so: for one, something else may have taken the time.
        if isSure, rows <= max(first.rows / 2, 1), own > hold.lowerBound {
            hold = 2 * own...4 * own
            batchesLeft = Self.trust
            let isMuch = ofRow * Double(first.rows) > 2 * own
            rows = isMuch ? max(Int(2 * own / ofRow), 1) : first.rows
            slow = nil
        } else {
            slow?.own = own
            rows = rows(lasting: seconds)
        }
    }

    /// How many rows should be done in time if so many take so long.
    private func rows(lasting seconds: Double) -> Int {
        max(Int(Double(rows) * hold.upperBound / seconds * 0.8), 1)
    }
}

/// How long a way through a table will still take.
struct TimeEstimate {
    private(set) var secondsLeft: Double?
    private var first: (share: Double, time: ContinuousClock.Instant)?
    private var next = ContinuousClock.now

    /// - Parameter share: Returns how much of it is done, between 0 and 1. It is asked twice a second.
    mutating func note(_ share: () throws -> Double?) throws {
        guard .now >= next else { return }
        next = .now + .milliseconds(500)
        guard let share = try share() else { return }
        guard let first else {
            first = (share, .now)
            return
        }
        let done = share - first.share
        guard done > 0 else { return }
        secondsLeft = (.now - first.time) / .seconds(1) * max(1 - share, 0) / done
    }
}
