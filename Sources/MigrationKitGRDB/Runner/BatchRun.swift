import Foundation
import GRDB
import MigrationKit

/// Carries out a step whose statements change rows a batch at a time.
///
/// Between two batches others get the lock: a waiting connection asks for it about every hundredth of a
/// second, so a batch is short, and there is a pause behind each while others write, and else now and then.
struct BatchRun {
    private let run: ForwardRun
    private let step: MigrationStep<Database>
    private let settings: ConnectionSettings
    private var begun: MigrationJournal.Begun

    /// What the step means for versions that don't know it.
    var older: OlderVersions? { begun.older }

    /// The time for batches is over.
    struct Paused: Error {}

    /// How long a batch should hold the lock, in seconds, unless it needs most of that for itself.
    private static let hold = 0.015...0.03
    /// After this many times through the table, the last one must have changed fewer rows.
    private static let passes = 4

    // MARK: - Begin

    /// Notes that the step is begun, unless it was before.
    ///
    /// - Throws: ``LedgerChanged`` if another program has applied it.
    init(_ run: ForwardRun, _ step: MigrationStep<Database>) throws {
        (self.run, self.step) = (run, step)
        settings = try run.writer.writeWithoutTransaction(ConnectionSettings.withinTransaction)
        let settings = settings
        begun = try run.writer.write { db in
            try MigrationLedger.create(db)
            guard try !MigrationLedger.contains(step.identifier, db) else { throw LedgerChanged() }
            if let begun = try MigrationJournal.begun(db)[step.identifier] {
                if begun.checksum == step.checksum { return begun }
                // The text is another. What the old one has done needs no second time.
                try MigrationJournal.end(begun, db)
            }
            return try Self.begin(step, run, settings, db)
        }
        run.monitor.note(step.older ?? begun.older ?? .work)
    }

    /// Runs each statement for no row: what is wrong with one is known before anything is changed.
    private static func begin(
        _ step: MigrationStep<Database>,
        _ run: ForwardRun,
        _ settings: ConnectionSettings,
        _ db: Database
    ) throws -> MigrationJournal.Begun {
        try step.requirements.run(in: db) { .requirementFailed(step: step.identifier, $0) }
        var known: KnownSchema?
        let older = try StepWatch.judging(&known, db) { _ in
            try StepTransaction(on: db, settings).run(step.identifier) { db in
                for batch in step.batches {
                    let table = try BatchTable(batch, of: step.identifier, in: db)
                    try batch.naming { try table.runForNoRow(in: db) }
                }
            }
        }
        return try MigrationJournal.begin(
            step,
            older: older,
            appVersion: run.runner.appVersion,
            db
        )
    }

    // MARK: - Batches

    /// Runs what is left of the step's batches.
    ///
    /// - Throws: ``Paused``; a `CancellationError`; `MigrationKitError.batchRepeats(_:)`;
    ///   `MigrationKitError.batchNeverEnds(_:rows:)`; `MigrationKitError.logStaysFull(path:limit:)`; a
    ///   `DatabaseError`. What is done stays.
    mutating func carryOut() throws {
        while begun.progress.statement < step.batches.count {
            try carryOut(step.batches[begun.progress.statement])
            begun.progress.endStatement()
        }
    }

    private mutating func carryOut(_ batch: MigrationBatch) throws {
        let identifier = step.identifier
        let table = try run.writer.writeWithoutTransaction {
            try BatchTable(batch, of: identifier, in: $0)
        }
        // Another program may have written it.
        if let key = begun.progress.key, key.count != table.keyCount { begun.progress.key = nil }
        if let last = begun.progress.last, last.count != table.keyCount {
            begun.progress.last = nil
        }
        var pace = BatchPace(
            batch,
            holding: Self.hold,
            isResumed: begun.progress.key != nil
        )
        var estimate = TimeEstimate()
        while true {
            try run.monitor.advance(
                to: begun.progress.rowsChanged,
                secondsLeft: estimate.secondsLeft
            )
            let isOver = try run.writer.writeWithoutTransaction { db in
                try pace.look(db)
                if begun.progress.last == nil {
                    begun.progress.last = BatchProgress.key(try table.last(in: db))
                }
                let key = begun.progress.key?.map(\.databaseValue)
                guard let last = begun.progress.last?.map(\.databaseValue),
                    let end = try table.end(after: key, upTo: last, rows: pace.rows, in: db)
                else { return true }
                try pace.timing { begin in
                    try change(table, batch, after: key, through: end, db, begin)
                }
                if begun.progress.passes == 0 {
                    try estimate.note { try table.share(before: end, upTo: last, in: db) }
                }
                try keepLogSmall(batch, db)
                pace.leave(db)
                return false
            }
            if isOver {
                if try endPass(batch, pace) { return }
                pace.beginAgain()
                continue
            }
            if let deadline = run.deadline, .now >= deadline {
                // Batches without a change haven't.
                try note()
                throw Paused()
            }
            try rest(max(batch.pause, pace.turnForOthers()))
        }
    }

    /// Runs one batch in a transaction, and notes how far it came.
    ///
    /// - Parameter begin: Called when it has the lock.
    private mutating func change(
        _ table: BatchTable,
        _ batch: MigrationBatch,
        after key: [DatabaseValue]?,
        through end: [DatabaseValue],
        _ db: Database,
        _ begin: () -> Void
    ) throws {
        var next = begun
        var changes = 0
        try db.inTransaction(.immediate) {
            begin()
            try StepTransaction(on: db, settings).run(step.identifier) { db in
                try run.monitor.batch(in: db, after: next.progress.rowsChanged) {
                    changes = try batch.naming {
                        try table.runTwice(after: key, through: end, in: db)
                    }
                }
            }
            next.progress.advance(to: BatchProgress.key(end), changes)
            // Without a change, there is nothing that a later run could do twice.
            if changes > 0 { try MigrationJournal.note(next, db) }
            return .commit
        }
        begun = next
    }

    /// Ends a way through the whole table.
    ///
    /// - Returns: Whether the statement is done: nobody else has written meanwhile, or nothing was left
    ///   to change.
    private mutating func endPass(_ batch: MigrationBatch, _ pace: BatchPace) throws -> Bool {
        let changes = begun.progress.changes
        guard changes > 0, pace.isDisturbed else { return true }
        guard begun.progress.passes + 1 < Self.passes || changes < begun.progress.changesBefore
        else {
            // The next run tries it again.
            begun.progress.beginAgain()
            begun.progress.passes = 0
            try note()
            throw MigrationKitError.batchNeverEnds(batch.name(in: step), rows: changes)
        }
        begun.progress.beginAgain()
        return false
    }

    /// Waits while the log is at its limit. A commit empties it as soon as nobody reads what is in it.
    private mutating func keepLogSmall(_ batch: MigrationBatch, _ db: Database) throws {
        var pause = 0.01
        let start = ContinuousClock.now
        while try db.bytesInLog() > batch.logLimit {
            guard (.now - start) / .seconds(1) < max(run.options.lockTimeout, 1) else {
                throw MigrationKitError.logStaysFull(
                    path: db.filePath ?? "",
                    limit: batch.logLimit
                )
            }
            try rest(pause)
            pause = min(2 * pause, 0.5)
            begun.progress.waits += 1
            let begun = begun
            try db.inTransaction(.immediate) {
                try MigrationJournal.note(begun, db)
                return .commit
            }
        }
    }

    private func note() throws {
        try run.writer.write { try MigrationJournal.note(begun, $0) }
    }

    private func rest(_ seconds: Double) throws {
        let end = ContinuousClock.now + .seconds(seconds)
        while .now < end {
            try run.monitor.operation.checkCancellation()
            usleep(UInt32(min((end - .now) / .microseconds(1), 50_000).rounded(.up)))
        }
    }

    // MARK: - End

    /// Records the step.
    ///
    /// - Parameter record: Records more in the same transaction.
    /// - Throws: ``LedgerChanged`` if another program has applied it.
    func record(seconds: Double, _ record: (Database) throws -> Void) throws {
        try run.writer.write { db in
            guard try !MigrationLedger.contains(step.identifier, db) else { throw LedgerChanged() }
            try MigrationLedger.insert(step.identifier, db)
            try MigrationJournal.end(begun, db)
            try run.runner.note(.applied, step, seconds: seconds, older: older, db)
            try record(db)
            run.monitor.beginCommit()
        }
    }
}

extension BatchProgress {
    fileprivate mutating func advance(to key: [Value]?, _ changes: Int) {
        self.key = key
        self.changes += changes
        rowsChanged += changes
    }

    fileprivate mutating func beginAgain() {
        passes += 1
        (key, last, changesBefore, changes) = (nil, nil, changes, 0)
    }

    fileprivate mutating func endStatement() {
        self = BatchProgress(statement: statement + 1, rowsChanged: rowsChanged)
    }
}

extension MigrationBatch {
    /// What a message calls it.
    fileprivate func name(in step: MigrationStep<Database>) -> String {
        place?.description ?? step.identifier
    }

    /// Puts the statement's place in front of SQLite's message.
    fileprivate func naming<Value>(_ body: () throws -> Value) throws -> Value {
        do {
            return try body()
        } catch let error as DatabaseError {
            guard let place else { throw error }
            throw DatabaseError(
                resultCode: error.extendedResultCode,
                message: "\(place): \(error.message ?? "\(error.resultCode)")"
            )
        }
    }
}
