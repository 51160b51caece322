import GRDB
import Logging
import MigrationKit
import MigrationKitGRDB
import TestSupport
import Testing

/// What a run tells while it goes on.
@Suite struct EventTests {
    private let store: EncryptedStore
    private let writer: DatabaseQueue

    init() throws {
        store = try EncryptedStore()
        writer = try store.open()
    }

    /// An event without what differs from run to run.
    private func outline(_ event: MigrationEvent) -> String {
        switch event {
        case .waiting: "waiting"
        case .runStarted(let direction, let count): "run \(direction) \(count)"
        case .stepStarted(let identifier, let direction, let index, let count):
            "start \(identifier) \(direction) \(index)/\(count)"
        case .stepContinues(let identifier, _): "continue \(identifier)"
        case .stepAdvanced(let identifier, let rows): "advance \(identifier) \(rows)"
        case .stepExpects(let identifier, _): "expect \(identifier)"
        case .stepPaused(let identifier, let rows): "pause \(identifier) \(rows)"
        case .stepFinished(let step, let direction):
            "finish \(step.identifier) \(direction) \(step.rowsChanged)"
        case .stepFailed(let identifier, let direction): "fail \(identifier) \(direction)"
        case .stepFailedLate(let identifier, let direction, let isDone):
            "late \(identifier) \(direction) \(isDone.map(String.init) ?? "unknown")"
        case .verifying: "verify"
        case .rolledBack(let identifiers): "undo \(identifiers.joined(separator: " "))"
        case .runFinished(let report): "end \(report.steps.count)+\(report.pending.count)"
        }
    }

    private let steps = [
        step("1", "CREATE TABLE a (id); INSERT INTO a VALUES (1), (2)", down: "DROP TABLE a"),
        step("2", "UPDATE a SET id = id + 1", down: "UPDATE a SET id = id - 1 WHERE id > 2"),
    ]

    @Test(arguments: [MigrationTransaction.perStep, .allOrNothing])
    func everyStepIsToldForthAndBack(_ transaction: MigrationTransaction) throws {
        let events = Recorder<MigrationEvent>()
        let options = MigrationOptions(transaction: transaction, observer: { events.append($0) })
        let runner = try GRDBMigrationRunner(steps: steps)
        try runner.migrate(in: writer, options: options)
        let forward = events.values.map(outline)
        let start = ["run forward 2", "start 1 forward 1/2", "finish 1 forward 2"]
        switch transaction {
        case .perStep:
            #expect(
                forward == start + [
                    "start 2 forward 2/2", "verify", "finish 2 forward 2", "end 2+0",
                ]
            )
        case .allOrNothing:
            #expect(
                forward == start + [
                    "start 2 forward 2/2", "finish 2 forward 2", "verify", "end 2+0",
                ]
            )
        }

        try runner.rollbackMigrations(in: writer, steps: 2, options: options)
        let back = events.values.dropFirst(forward.count).map(outline)
        #expect(
            back.filter { $0 != "verify" } == [
                "run back 2", "start 2 back 1/2", "finish 2 back 1", "start 1 back 2/2",
                "finish 1 back 0", "end 2+2",
            ]
        )
        #expect(back.filter { $0 == "verify" }.count == 1)
    }

    @Test func batchThatFailsTellsWhatIsUndone() throws {
        let events = Recorder<MigrationEvent>()
        let runner = try GRDBMigrationRunner(steps: steps + [step("3", "nonsense")])
        #expect(throws: DatabaseError.self) {
            try runner.migrate(
                in: writer,
                options: .init(transaction: .allOrNothing, observer: { events.append($0) })
            )
        }
        #expect(events.values.suffix(2).map(outline) == ["fail 3 forward", "undo 1 2"])
    }

    @Test func batchWhoseVerificationFailsTellsThatAllIsUndone() throws {
        let events = Recorder<MigrationEvent>()
        let runner = try GRDBMigrationRunner(
            steps: steps,
            integration: .init(verifyBeforeCommit: { _ in throw PlannedFailure() })
        )
        #expect(throws: PlannedFailure()) {
            try runner.migrate(
                in: writer,
                options: .init(transaction: .allOrNothing, observer: { events.append($0) })
            )
        }
        #expect(events.values.suffix(2).map(outline) == ["verify", "undo 1 2"])
    }

    @Test func runWithNothingToDoTellsNothing() throws {
        let events = Recorder<MigrationEvent>()
        let runner = try GRDBMigrationRunner(steps: steps)
        try runner.migrate(in: writer)
        try runner.migrate(in: writer, options: .init(observer: { events.append($0) }))
        try runner.rollbackMigrations(
            in: writer,
            steps: 0,
            options: .init(observer: { events.append($0) })
        )
        #expect(events.values.isEmpty)
    }

    @Test func longStepShowsThatItLives() throws {
        let events = Recorder<MigrationEvent>()
        let cancellation = Cancellation()
        let endless = step(
            "1",
            "WITH RECURSIVE c (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM c) SELECT max(i) FROM c"
        )
        #expect(throws: CancellationError.self) {
            try GRDBMigrationRunner(steps: [endless]).migrate(
                in: writer,
                options: .init(
                    cancellation: cancellation,
                    observer: { event in
                        events.append(event)
                        if events.values.map(outline).filter({ $0 == "continue 1" }).count == 3 {
                            cancellation.cancel()
                        }
                    }
                )
            )
        }
        let seconds = events.values.compactMap { event -> Double? in
            guard case .stepContinues("1", let seconds) = event else { return nil }
            return seconds
        }
        #expect(seconds.count == 3)
        #expect(events.values.map(outline).contains("advance 1 0"))
        #expect(zip(seconds, seconds.dropFirst()).allSatisfy { $1 - $0 >= 0.1 })
    }

    @Test func streamEndsWithTheRun() async throws {
        let runner = try GRDBMigrationRunner(steps: steps)
        let events = MigrationEvent.stream { [writer] observer in
            try await runner.asyncMigrate(in: writer, options: .init(observer: observer))
        }
        var seen: [String] = []
        for try await event in events { seen.append(outline(event)) }
        #expect(seen.first == "run forward 2")
        #expect(seen.last == "end 2+0")
    }

    @Test func streamEndsWithTheRunsError() async throws {
        let runner = try GRDBMigrationRunner(steps: [
            step("1", "CREATE TABLE a (id)"), step("2", "no"),
        ])
        let events = MigrationEvent.stream { [writer] observer in
            try await runner.asyncMigrate(in: writer, options: .init(observer: observer))
        }
        var seen: [String] = []
        await #expect(throws: DatabaseError.self) {
            for try await event in events { seen.append(outline(event)) }
        }
        #expect(seen.last == outline(.stepFailed(identifier: "2", direction: .forward)))
    }

    @Test func aRunWhoseStreamIsNotReadAnyMoreIsCancelled() async throws {
        let endless =
            "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT max(i) FROM n"
        let runner = try GRDBMigrationRunner(steps: [step("1", "CREATE TABLE a (id);" + endless)])
        let error = await withCheckedContinuation { ended in
            Task { [writer] in
                let events = MigrationEvent.stream { observer in
                    do {
                        try await runner.asyncMigrate(
                            in: writer,
                            options: .init(observer: observer)
                        )
                    } catch {
                        ended.resume(returning: error)
                    }
                }
                for try await event in events {
                    if case .stepContinues = event { break }
                }
            }
        }
        #expect(error is CancellationError)
        #expect(try await writer.read { try !$0.tableExists("a") })
    }

    @Test func logNamesStepsAndNoValues() throws {
        let lines = Recorder<String>()
        let logger = Logger(label: "test") { _ in RecordingHandler(lines: lines) }
        let secret = "the text of a note"
        let runner = try GRDBMigrationRunner(steps: [
            step("1", "CREATE TABLE a (id UNIQUE); INSERT INTO a VALUES ('\(secret)')"),
            step("2", "INSERT INTO a VALUES ('\(secret)')"),
        ])
        #expect(throws: DatabaseError.self) {
            try runner.migrate(
                in: writer,
                options: .init(observer: MigrationEvent.logging(to: logger))
            )
        }
        #expect(lines.values.contains { $0.contains("step finished") && $0.contains("rows=1") })
        #expect(lines.values.last?.hasPrefix("error step failed") == true)
        #expect(lines.values.last?.contains("step=2") == true)
        #expect(!lines.values.contains { $0.contains(secret) })
    }
}

/// Keeps what is logged.
private struct RecordingHandler: LogHandler {
    let lines: Recorder<String>
    var metadata: Logger.Metadata = [:]
    var logLevel = Logger.Level.trace

    subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { metadata[key] }
        set { metadata[key] = newValue }
    }

    init(lines: Recorder<String>) {
        self.lines = lines
    }

    func log(event: LogEvent) {
        let metadata = (event.metadata ?? [:]).map { "\($0)=\($1)" }.sorted()
        lines.append("\(event.level) \(event.message) \(metadata.joined(separator: " "))")
    }
}
