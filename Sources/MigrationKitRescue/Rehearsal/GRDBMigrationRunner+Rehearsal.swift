import Foundation
import GRDB
import MigrationKit
import MigrationKitCommon
import MigrationKitGRDB
import MigrationKitSQLCipher
import MigrationKitSchema

extension GRDBMigrationRunner {
    /// Applies the pending steps to a copy of a database, verifies the copy in full, and removes it.
    ///
    /// The database is only read, at one instant, while others may use it. The copy has the same key
    /// and the same journal mode, and only its owner can read it. The steps run on it as in
    /// `migrate(in:options:)`, the host's hooks included. What a rehearsal that was killed has left is
    /// removed by the next one with the same folder. If nothing is pending, nothing is copied.
    ///
    /// A run that fails is a result, too: see ``RehearsalReport/failure``.
    ///
    /// - Parameters:
    ///   - writer: The database. Its configuration opens the copy.
    ///   - targetIdentifier: The last step to apply; `nil` for all.
    ///   - count: How many steps at most; `nil` for all.
    ///   - identifiers: Steps that are first recorded as applied on the copy, and don't run; for a
    ///     database in which another tool has applied them.
    ///   - folder: Where the copy is made; `nil` for beside the database.
    ///   - options: How the steps run, who observes them, and who may end them.
    /// - Returns: How the steps did.
    /// - Throws: What a run throws before its first step; ``RehearsalError``;
    ///   `DatabaseConversionError.notEnoughRoom(folder:needed:free:)`, before anything is copied;
    ///   a `DatabaseError` or an `EncryptedDatabaseError` if the copy can't be read for the
    ///   verification; a `CancellationError`. The copy is removed then.
    public func rehearse(
        in writer: any DatabaseWriter,
        upTo targetIdentifier: String? = nil,
        steps count: Int? = nil,
        recording identifiers: [String] = [],
        copyInto folder: String? = nil,
        options: RehearsalOptions = RehearsalOptions()
    ) throws -> RehearsalReport {
        try Rehearsal(
            runner: self,
            writer: writer,
            range: MigrationRange(upTo: targetIdentifier, steps: count),
            recorded: identifiers,
            folder: folder,
            options: options
        ).run()
    }
}

/// One rehearsal.
private struct Rehearsal {
    let runner: GRDBMigrationRunner
    let writer: any DatabaseWriter
    let range: MigrationRange
    let recorded: [String]
    let folder: String?
    let options: RehearsalOptions

    /// What the database is like before.
    private struct Original {
        let path: String
        let byteCount: Int
        let pageSize: Int
        let journalMode: String
        /// What is pending in it.
        var pending: [String] = []

        init(_ db: Database) throws {
            guard let path = db.filePath else { throw RehearsalError.inMemory }
            self.path = path
            pageSize = try Int.fetchOne(db, sql: "PRAGMA main.page_size") ?? 0
            byteCount = try pageSize * (Int.fetchOne(db, sql: "PRAGMA main.page_count") ?? 0)
            journalMode = try String.fetchOne(db, sql: "PRAGMA main.journal_mode") ?? ""
        }
    }

    /// What the run on the copy has done.
    private struct Progress {
        var steps: [RehearsalReport.Step] = []
        var failed: String?
    }

    func run() throws -> RehearsalReport {
        var original = try writer.read(Original.init)
        try checkFolder()
        MigrationBackup.removeTemporaryCopies(of: original.path, in: folder)
        // Throws what the copy isn't worth making for.
        let isIdle = try recorded.isEmpty && plannedSteps.isEmpty
        original.pending = try runner.pendingMigrationIdentifiers(in: writer)
        if isIdle { return report(original) }
        try DatabaseFile(folder.map { "\($0)/copy" } ?? original.path)
            .checkRoom(for: original.byteCount)
        return try rehearse(on: original)
    }

    private var plannedSteps: [GRDBMigrationRunner.Step] {
        get throws {
            try runner.plannedSteps(
                in: writer,
                recording: [],
                range,
                transaction: options.migration.transaction
            )
        }
    }

    private func rehearse(on original: Original) throws -> RehearsalReport {
        let operation = options.operation
        let start = ContinuousClock.now
        do {
            return try MigrationBackup.withTemporaryCopy(
                of: writer,
                at: original.path,
                in: folder,
                cancellation: operation.cancellation,
                progress: { operation.report(.copying(bytesDone: $0, bytesTotal: $1)) }
            ) { copy in
                let seconds = (.now - start) / .seconds(1)
                return try rehearse(on: copy, original, copySeconds: seconds, operation)
            }
        } catch let error as MigrationBackupError {
            throw RehearsalError.cannotCopy(
                folder: folder ?? original.path.splitAtLastSlash.folder,
                cause: error
            )
        }
    }

    private func checkFolder() throws {
        guard let folder else { return }
        var status = stat()
        guard stat(folder, &status) == 0, status.st_mode & S_IFMT == S_IFDIR else {
            throw RehearsalError.noSuchFolder(path: folder)
        }
    }

    private func rehearse(
        on copy: DatabaseQueue,
        _ original: Original,
        copySeconds: Double,
        _ operation: LongOperation<RehearsalEvent>
    ) throws -> RehearsalReport {
        let gauge = RoomGauge(copy.path, byteCountBefore: original.byteCount)
        copy.add(transactionObserver: gauge)
        let progress = Locked(Progress())
        let start = ContinuousClock.now
        let result = Result { try gauge.during { try migrate(copy, gauge, progress, operation) } }
        let seconds = (.now - start) / .seconds(1)
        copy.remove(transactionObserver: gauge)
        let done = progress.withLock { $0 }
        func report(
            failure: (any Error)? = nil,
            checks: [VerificationCheck] = [],
            verificationSeconds: Double = 0,
            byteCountAfter: Int? = nil
        ) -> RehearsalReport {
            self.report(
                original,
                steps: done.steps,
                failure: failure,
                failedStep: failure == nil ? nil : done.failed,
                checks: checks,
                seconds: (copySeconds, seconds, verificationSeconds),
                byteCountAfter: byteCountAfter,
                room: gauge.room
            )
        }
        switch result {
        case .failure(let error as CancellationError):
            throw error
        case .failure(let error):
            return report(failure: error)
        case .success:
            // The verification reads the file without the log.
            try copy.writeWithoutTransaction { db in
                try db.execute(sql: "PRAGMA main.wal_checkpoint(TRUNCATE)")
            }
            let size = FileManager.default.size(of: copy.path)
            let start = ContinuousClock.now
            let checks = try verify(copy, operation)
            return report(
                checks: checks,
                verificationSeconds: (.now - start) / .seconds(1),
                byteCountAfter: size
            )
        }
    }

    private func migrate(
        _ copy: DatabaseQueue,
        _ gauge: RoomGauge,
        _ progress: Locked<Progress>,
        _ operation: LongOperation<RehearsalEvent>
    ) throws {
        var options = options.migration
        options.cancellation = operation.cancellation
        options.observer = { event in
            switch event {
            case .stepStarted:
                gauge.beginStep()
            case .stepFinished(let step, _):
                gauge.measure()
                let room = gauge.roomOfStep
                progress.withLock { $0.steps.append(.init(step: step, room: room)) }
            case .stepFailed(let identifier, _), .stepFailedLate(let identifier, _, _):
                gauge.measure()
                progress.withLock { $0.failed = identifier }
            case .rolledBack(let identifiers):
                // The verification of the whole belongs to its last step.
                progress.withLock { $0.failed = $0.failed ?? identifiers.last }
            default:
                gauge.measure()
            }
            operation.report(.migrating(event))
        }
        if !recorded.isEmpty {
            try runner.baseline(in: copy, options: options) { _ in recorded }
        }
        _ = try runner.migrate(in: copy, range, options: options)
    }

    private func verify(
        _ copy: DatabaseQueue,
        _ operation: LongOperation<RehearsalEvent>
    ) throws -> [VerificationCheck] {
        var options = VerificationOptions(cancellation: operation.cancellation) {
            operation.report(.verifying($0))
        }
        options.drift = self.options.drift
        let verification = DatabaseVerification(
            copy.path,
            form: nil,
            runner: runner,
            options: options,
            open: { copy }
        )
        return try VerificationRun(verification).runOnContent(of: copy)
    }

    private func report(
        _ original: Original,
        steps: [RehearsalReport.Step] = [],
        failure: (any Error)? = nil,
        failedStep: String? = nil,
        checks: [VerificationCheck] = [],
        seconds: (copying: Double, migrating: Double, verifying: Double) = (0, 0, 0),
        byteCountAfter: Int? = nil,
        room: RehearsalReport.Room = .init()
    ) -> RehearsalReport {
        let isUndone = failure != nil && options.migration.transaction == .allOrNothing
        let done = Set((isUndone ? [] : steps.map(\.step.identifier)) + recorded)
        return RehearsalReport(
            steps: steps,
            pending: original.pending.filter { !done.contains($0) },
            failure: failure,
            failedStep: failedStep,
            checks: checks,
            copySeconds: seconds.copying,
            migrationSeconds: seconds.migrating,
            verificationSeconds: seconds.verifying,
            byteCountBefore: original.byteCount,
            byteCountAfter: byteCountAfter ?? (failure == nil ? original.byteCount : nil),
            room: room,
            pageSize: original.pageSize,
            journalMode: original.journalMode
        )
    }
}
