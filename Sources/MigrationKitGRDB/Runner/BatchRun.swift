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
    private var pace: BatchPace?
    /// Whether others may have written since the last way of the first statement through its table.
    private var isDisturbed: Bool

    /// What the step means for versions that don't know it.
    var older: OlderVersions? { begun.older }

    /// The time for batches is over.
    struct Paused: Error {}

    /// Another program has changed the schema since the statements were judged.
    private struct SchemaChanged: Error {}

    /// How long a batch should hold the lock, in seconds, unless it needs most of that for itself.
    private static let hold = 0.015...0.03
    /// After this many times through the table, there is another only if the last one has changed fewer
    /// rows.
    private static let passes = 4

    // MARK: - Begin

    /// Notes that the step is begun, unless it was before.
    ///
    /// - Throws: ``LedgerChanged`` if another program has applied it.
    init(_ run: ForwardRun, _ step: MigrationStep<Database>) throws {
        (self.run, self.step) = (run, step)
        settings = try run.writer.writeWithoutTransaction(ConnectionSettings.withinTransaction)
        let settings = settings
        try Self.checkKeys(step, run)
        begun = try run.writer.write { db in
            try MigrationLedger.create(db)
            guard try !MigrationLedger.contains(step.identifier, db) else { throw LedgerChanged() }
            if let begun = try MigrationJournal.begun(db)[step.identifier] {
                if begun.goesOn(with: step) { return begun }
                // Another program may have begun it since the run was planned.
                try run.runner.registry.checkUnchanged(MigrationLedger.started(db), db)
                // The text is another, and the old one has done nothing.
                try MigrationJournal.end(begun, db)
            }
            return try Self.begin(step, run, settings, db)
        }
        isDisturbed = begun.progress != BatchProgress()
        run.monitor.note(step.older ?? begun.older ?? .work)
    }

    /// Looks at all keys before the first batch, some thousands at a time: others may write in between.
    private static func checkKeys(_ step: MigrationStep<Database>, _ run: ForwardRun) throws {
        let isBegun = try run.writer.writeWithoutTransaction { db in
            try MigrationJournal.begun(db)[step.identifier]?.goesOn(with: step) == true
        }
        guard !isBegun else { return }
        for batch in step.batches {
            var key: [DatabaseValue]?
            repeat {
                try run.monitor.operation.checkCancellation()
                key = try run.writer.writeWithoutTransaction { db in
                    // What is wrong with the statement itself is said when it begins.
                    let table = try? BatchTable(batch, of: step.identifier, in: db)
                    return try table?.checkKeys(after: key, rows: 10_000, in: db)
                }
            } while key != nil
        }
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
        let older = try StepWatch.judging(
            step.identifier,
            &known,
            after: run.additions,
            db
        ) { _ in
            try StepTransaction(on: db, settings).run(step.identifier) { db in
                let tables = try judge(step, in: db)
                for (batch, table) in zip(step.batches, tables) {
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

    /// - Throws: `MigrationKitError.unusableBatch(_:reason:)`.
    private static func tables(
        of step: MigrationStep<Database>,
        in db: Database
    ) throws -> [BatchTable] {
        let tables = try step.batches.map { try BatchTable($0, of: step.identifier, in: db) }
        for (number, table) in tables.enumerated() {
            for earlier in tables[..<number] { try earlier.check(before: table, in: db) }
        }
        return tables
    }

    /// Throws what is known before the first batch to refuse it. Nothing is changed.
    ///
    /// - Throws: `MigrationKitError.unusableBatch(_:reason:)`.
    @discardableResult
    static func judge(_ step: MigrationStep<Database>, in db: Database) throws -> [BatchTable] {
        let tables = try tables(of: step, in: db)
        for (number, table) in tables.enumerated() {
            try table.checkActions(after: tables[..<number], in: db)
        }
        return tables
    }

    /// Throws what a run in batches would throw, in a dry run: it runs each statement as a whole, and then
    /// once more, which finds nothing to change.
    ///
    /// - Parameter whole: Applies the step as a whole.
    static func tryOut(
        _ step: MigrationStep<Database>,
        in db: Database,
        _ whole: () throws -> Void
    ) throws {
        guard !step.batches.isEmpty else { return try whole() }
        try step.requirements.run(in: db) { .requirementFailed(step: step.identifier, $0) }
        try judge(step, in: db)
        try whole()
        for (batch, table) in try zip(step.batches, tables(of: step, in: db)) {
            var key: [DatabaseValue]?
            repeat { key = try table.checkKeys(after: key, rows: 10_000, in: db) } while key != nil
            _ = try batch.naming { try table.runForAll(in: db) }
        }
    }

    // MARK: - Batches

    /// Runs what is left of the step's batches.
    ///
    /// - Throws: ``Paused``; a `CancellationError`; `MigrationKitError.batchRepeats(_:)`;
    ///   `MigrationKitError.logStaysFull(path:limit:)`; a `DatabaseError`. What is done stays.
    mutating func carryOut() throws {
        while begun.progress.statement < step.batches.count {
            try carryOut(step.batches[begun.progress.statement])
            begun.progress.endStatement()
        }
        try run.monitor.advance(to: begun.progress.rowsChanged, secondsLeft: nil)
    }

    /// A statement, as it is judged with a schema.
    private struct Judged {
        let table: BatchTable
        /// Those above it that must have seen a row before this one deletes it: others may have added it.
        let earlier: [(MigrationBatch, BatchTable)]
        let schemaVersion: Int
    }

    private func judge(_ number: Int) throws -> Judged {
        try run.writer.writeWithoutTransaction { db in
            try db.readingAtOnce {
                let tables = try Self.tables(of: step, in: db)
                let earlier = zip(step.batches, tables).prefix(number)
                return Judged(
                    table: tables[number],
                    earlier: earlier.filter { tables[number].deletesRows(of: $0.1) },
                    schemaVersion: try Self.schemaVersion(db)
                )
            }
        }
    }

    private static func schemaVersion(_ db: Database) throws -> Int {
        try Int.fetchOne(db, sql: "PRAGMA main.schema_version") ?? 0
    }

    /// Forgets keys that aren't the table's.
    private mutating func checkProgress(_ table: BatchTable) {
        if let key = begun.progress.key, key.count != table.keyCount { begun.progress.key = nil }
        if let last = begun.progress.last, last.count != table.keyCount {
            begun.progress.last = nil
        }
    }

    private mutating func carryOut(_ batch: MigrationBatch) throws {
        let number = begun.progress.statement
        var judged = try judge(number)
        // Another program may have written it.
        checkProgress(judged.table)
        var pace = BatchPace(
            batch,
            holding: Self.hold,
            isResumed: begun.progress.key != nil,
            after: self.pace
        )
        defer { self.pace = pace }
        var estimate = TimeEstimate()
        while true {
            try run.monitor.advance(
                to: begun.progress.rowsChanged,
                secondsLeft: estimate.secondsLeft
            )
            let isOver = try run.writer.writeWithoutTransaction { db -> Bool? in
                let table = judged.table
                try pace.look(db)
                isDisturbed = isDisturbed || pace.isDisturbed
                if begun.progress.last == nil {
                    begun.progress.last = BatchProgress.key(try table.last(in: db))
                }
                let key = begun.progress.key?.map(\.databaseValue)
                guard let last = begun.progress.last?.map(\.databaseValue),
                    let end = try table.end(after: key, upTo: last, rows: pace.rows, in: db)
                else { return true }
                do {
                    try pace.timing { begin in
                        try change(judged, batch, after: key, through: end, db, begin)
                    }
                } catch is SchemaChanged {
                    return nil
                }
                if begun.progress.passes == 0 {
                    try estimate.note { try table.share(before: end, upTo: last, in: db) }
                }
                try keepLogSmall(batch, db)
                pace.leave(db)
                return false
            }
            guard let isOver else {
                judged = try judge(number)
                checkProgress(judged.table)
                isDisturbed = true
                continue
            }
            if isOver {
                if endPass(pace) { return }
                pace.beginAgain()
                if number == 0 { isDisturbed = false }
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
        _ judged: Judged,
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
            // A trigger that has come since may reach rows of other batches.
            guard try Self.schemaVersion(db) == judged.schemaVersion else { throw SchemaChanged() }
            try StepTransaction(on: db, settings).run(step.identifier) { db in
                try run.monitor.watching(db) {
                    for (batch, table) in judged.earlier + [(batch, judged.table)] {
                        changes += try batch.naming {
                            try table.runTwice(after: key, through: end, in: db)
                        }
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
    /// - Returns: Whether no further one is worth it: nobody else has written meanwhile, nothing was left
    ///   to change, or others keep writing such rows. What is left is done when the step is recorded.
    private mutating func endPass(_ pace: BatchPace) -> Bool {
        let changes = begun.progress.changes
        guard changes > 0, pace.isDisturbed else { return true }
        guard begun.progress.passes + 1 < Self.passes || changes < begun.progress.changesBefore
        else { return true }
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

    /// Records the step. What others have committed since its batches is done first, in the same
    /// transaction: nobody gets in between.
    ///
    /// - Parameters:
    ///   - checked: What the checks have found since the batches. It may be about such rows.
    ///   - check: Checks again.
    ///   - record: Records more in the same transaction.
    /// - Throws: ``LedgerChanged`` if another program has applied it; what the checks throw, and what
    ///   ``carryOut()`` throws.
    mutating func record(
        seconds: Double,
        after checked: Result<Void, any Error>,
        checking check: (Database) throws -> Void,
        _ record: (Database) throws -> Void
    ) throws {
        var next = begun
        try run.writer.writeWithoutTransaction { db in
            try db.inTransaction(.immediate) {
                guard try !MigrationLedger.contains(step.identifier, db) else {
                    throw LedgerChanged()
                }
                try pace?.look(db)
                if isDisturbed || pace?.isDisturbed ?? true {
                    next.progress.rowsChanged += try changeTheRest(db)
                    try run.monitor.advance(to: next.progress.rowsChanged, secondsLeft: nil)
                    try run.monitor.watching(db) { try check(db) }
                } else {
                    try checked.get()
                }
                try MigrationLedger.insert(step.identifier, db)
                try MigrationJournal.end(begun, db)
                try run.runner.note(.applied, step, seconds: seconds, older: older, db)
                try record(db)
                run.monitor.beginCommit()
                return .commit
            }
        }
        begun = next
    }

    /// Notes that the step isn't begun, if it has failed before it has changed a row.
    func endIfNothingIsDone() {
        guard begun.progress.rowsChanged == 0 else { return }
        try? run.writer.write { try MigrationJournal.end(begun, $0) }
    }

    /// Runs the statements for all rows. Only those that others have written since are left.
    private func changeTheRest(_ db: Database) throws -> Int {
        var changes = 0
        try StepTransaction(on: db, settings).run(step.identifier) { db in
            try run.monitor.watching(db) {
                for (batch, table) in try zip(step.batches, Self.tables(of: step, in: db)) {
                    changes += try batch.naming { try table.runForAll(in: db) }
                }
            }
        }
        return changes
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
