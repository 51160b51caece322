import Foundation
import MigrationKit
import MigrationKitCommon
import MigrationKitFleet
import MigrationKitSQLCipher

/// A command that works on many stores.
protocol FleetJob: ContextCommand {
    /// The command's name in reports.
    var deed: String { get }

    var fleet: FleetOptions { get }

    /// Where the keys are that the stores get; `nil` if they keep theirs.
    var newKeys: NewFleetKeyOptions? { get }
}

extension FleetJob {
    var json: Bool { fleet.json }
    var quiet: Bool { fleet.quiet }
    var newKeys: NewFleetKeyOptions? { nil }

    /// Whether another name of a store would mean another key.
    private var keysGoByNames: Bool { fleet.keys.goByNames || newKeys?.goByNames == true }

    /// Works on the stores, reports each, and prints the summary.
    ///
    /// - Parameters:
    ///   - limits: What ends the run before it comes to all stores.
    ///   - confirm: Asks whether this many stores are to be worked on. Throws if they aren't.
    ///   - check: Throws if the summary is that of a failure, though no store failed.
    ///   - work: Works on one store, and fills in its line of the report.
    /// - Throws: ``CommandError`` if not all stores are done; ``Interruption``.
    func runFleet(
        in context: CommandContext,
        limits: FleetLimitOptions? = nil,
        confirm: (_ count: Int) throws -> Void = { _ in },
        check: (FleetSummary) throws -> Void = { _ in },
        _ work: @escaping @Sendable (FleetVisit, inout FleetRecord) throws -> Void
    ) throws {
        try fleet.keys.check()
        try newKeys?.check(beside: fleet.keys)
        try fleet.run.metrics.check()
        let task = try fleet.stores.task(
            with: limits?.canaryGroup,
            keysGoByNames: keysGoByNames,
            in: context
        )
        let (list, shard) = (task.stores, task.shard)
        let options = FleetRun.Options(
            jobs: try fleet.run.jobCount(raises: context.ownsDescriptors),
            canary: limits?.first,
            failureLimit: limits.map { $0.maxFailures ?? .standard }
        )
        try confirm(list.count)
        let file = try fleet.run.report.map(FleetReportFile.init)
        let records = FleetRecords<Self>(deed: deed, shard: shard)

        let display = ProgressDisplay(FleetProgress(deed: deed, count: list.count), in: context)
        let summary = Locked(FleetSummary())
        let start = ContinuousClock.now
        var end = FleetRun.End.interrupted
        func finish() throws {
            try file?.synchronize()
            let document = FleetDocument(
                command: deed,
                summary: summary.withLock { $0 },
                end: end,
                shard: shard,
                seconds: ((.now - start) / .seconds(1)).inMicroseconds,
                skipped: task.skipped,
                excluded: task.excluded
            )
            if json {
                try context.printJSON(document)
            } else {
                context.output(document.text(context.style))
            }
            try fleet.run.metrics.write(document)
        }
        // SQLCipher starts with the first connection of a process, and complains to standard error if
        // another thread sets a key meanwhile.
        _ = EncryptedDatabase.engine
        do {
            end = try display.watch(options) { options in
                let cancellation = options.cancellation
                let keys = try fleet.keys.keys(jobs: options.jobs, cancellation)
                let newKeys = try newKeys?.source.keys(
                    jobs: options.jobs,
                    timeout: fleet.keys.timeout,
                    cancellation
                )
                let host = context.host
                let acceptsDoubleQuotedStrings = try context.acceptsDoubleQuotedStrings
                // Not before it is known that the run can begin.
                try file?.append(list.map { records.blank(of: $0, .planned) })
                let begun = Locked<[String: FleetRecord]>([:])
                end = try FleetRun(list, options: options).run { store, busySince in
                    let visit = FleetVisit(
                        store: store,
                        host: host,
                        keys: keys,
                        newKeys: newKeys,
                        cancellation: cancellation,
                        acceptsDoubleQuotedStrings: acceptsDoubleQuotedStrings,
                        busySince: busySince
                    )
                    var record = records.blank(of: store, .done)
                    let result = Result { try work(visit, &record) }
                    begun.withLock { record.add($0[store.name]) }
                    do {
                        try result.get()
                        return record
                    } catch let error as CancellationError {
                        throw error
                    } catch {
                        let failure = Failure(error, parser: Self.self, database: store.path)
                        // Once a file is replaced, there is nothing to try again.
                        guard failure.exitCode == ErrorCode.ExitStatus.busy.rawValue,
                            failure.code != "oldFileInUse", busySince == nil
                        else { throw FailedVisit(record: record, error: failure) }
                        begun.withLock { [record] in $0[store.name] = record }
                        throw BusyStore()
                    }
                } report: { store, outcome, seconds in
                    var record = records.record(of: store, outcome)
                    if record.outcome != .notStarted {
                        record.seconds = seconds.inMicroseconds
                    }
                    record.time = Date().iso8601
                    summary.withLock { $0.add(record) }
                    try file?.append([record])
                }
                guard end != .interrupted else { throw CancellationError() }
                return end
            }
        } catch let error as Interruption {
            try finish()
            throw error
        }
        try finish()
        let result = summary.withLock { $0 }
        guard result.failed == 0, result.unfinished == 0 else {
            let path = fleet.run.report?.shellPath
            throw CommandError.notDone(
                result,
                end: end,
                isUnsound: result.causes["verificationFailed"] != nil && deed == "verify",
                keysGoByNames: keysGoByNames,
                list: path.map { "'fleet report --list \($0)' names each store that isn't done." }
                    ?? "--report records the result of each store.",
                commands: [deed]
            )
        }
        try check(result)
    }
}

/// The lines of a report.
private struct FleetRecords<Job: FleetJob>: Sendable {
    let deed: String
    let shard: FleetRecord.Shard?

    func blank(of store: FleetStore, _ outcome: FleetRecord.Outcome) -> FleetRecord {
        var record = FleetRecord(
            command: deed,
            store: store,
            outcome: outcome,
            time: Date().iso8601
        )
        record.shard = shard
        return record
    }

    func record(
        of store: FleetStore,
        _ outcome: FleetOutcome<FleetRecord>
    ) -> FleetRecord {
        switch outcome {
        case .done(let record): return record
        case .interrupted: return blank(of: store, .interrupted)
        case .notStarted: return blank(of: store, .notStarted)
        case .failed(let error):
            let visit = error as? FailedVisit
            var record = visit?.record ?? blank(of: store, .failed)
            record.outcome = .failed
            let failure =
                visit?.error ?? Failure(error, parser: Job.self, database: store.path)
            record.error = FleetRecord.Failure(
                code: failure.code,
                message: failure.message,
                exit: failure.exitCode
            )
            return record
        }
    }
}

/// A store on which the work failed, with what is known about it.
private struct FailedVisit: Error {
    let record: FleetRecord
    let error: Failure
}

extension FleetRecord {
    /// Adds what the first attempt has done, before the store was found busy.
    fileprivate mutating func add(_ first: FleetRecord?) {
        guard let first, (first.applied ?? 0) + (first.undone ?? 0) > 0 else { return }
        from = first.from
        if let applied = first.applied { self.applied = applied + (self.applied ?? 0) }
        if let undone = first.undone { self.undone = undone + (self.undone ?? 0) }
    }
}

// MARK: - Findings

extension FleetJob {
    /// What `restore` and `rekey` note about a file that they have replaced, a line each.
    func notes(_ path: String, _ formerMode: UInt32?, _ otherNameCount: Int) -> [String] {
        [.narrowedMode(from: formerMode, path: path), .otherNames(otherNameCount)]
            .compactMap { (note: ConversionNote?) in note?.headline }
    }
}

extension [String] {
    /// `nil` in the place of an empty list.
    var nonEmpty: [String]? { isEmpty ? nil : self }
}

// MARK: - Progress

/// How many stores are done.
struct FleetProgress: OperationProgress {
    static let endedState =
        "Uncommitted changes are undone. The same command does the rest."
    static let endedAtOnceState =
        "Uncommitted changes are undone when a database is opened next."

    let deed: String
    let count: Int
    private var latest: FleetEvent?
    private let start = ContinuousClock.now

    init(deed: String, count: Int) {
        self.deed = deed
        self.count = count
    }

    mutating func note(_ event: FleetEvent) {
        if event.done > latest?.done ?? 0 { latest = event }
    }

    var line: String? {
        guard let latest else { return "\(deed): 0 of \(count) stores" }
        var parts = ["\(deed): \(latest.done) of \(count) stores"]
        if latest.failed > 0 { parts.append("\(latest.failed) failed") }
        let elapsed = (.now - start) / .seconds(1)
        let left = elapsed / Double(latest.done) * Double(latest.count - latest.done)
        if elapsed >= 1, left >= 1 { parts.append("\(Int(left.rounded(.up))) s left") }
        return parts.joined(separator: ", ")
    }
}
