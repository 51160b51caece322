import Foundation
import GRDB
import InMemoryTracing
import MigrationKitKeys
import Logging
import Metrics
import MetricsTestKit
import MigrationKitService
import TestSupport
import Testing
import Tracing

/// What operators see of a run.
@Suite(.timeLimit(.minutes(10))) struct MigrationInstrumentsTests {
    private let served: ServedStore
    private let metrics = TestMetrics()
    private let tracer = InMemoryTracer()
    private let log = RecordedLog()

    init() throws {
        served = try ServedStore()
    }

    private var instruments: MigrationInstruments {
        MigrationInstruments(metrics: metrics, tracer: tracer, logger: log.logger)
    }

    private func stores(_ steps: [MigrationStep<Database>]) throws -> EncryptedStores {
        EncryptedStores(
            folder: served.folder.path,
            keys: served,
            runner: try GRDBMigrationRunner(steps: steps),
            options: .init(instruments: instruments)
        )
    }

    private func spans(_ name: String) -> [FinishedInMemorySpan] {
        tracer.finishedSpans.filter { $0.operationName == name }
    }

    @Test func stepsAreCountedTimedAndTraced() async throws {
        let stores = try stores(itemSteps())
        let store = [("store", "acme")]
        try await stores.withStore("acme") { _ in }
        #expect(metrics.counterTotal(label: "migrationkit_steps_total") == 3)
        #expect(
            metrics.counters(label: "migrationkit_steps_total").first?.dimensions.map(\.1)
                == ["forward", "acme"]
        )
        let step = try metrics.expectTimer("migrationkit_step_duration_seconds", store)
        #expect(step.values.count == 3)
        let whole = try metrics.expectTimer("migrationkit_run_duration_seconds", store)
        #expect(whole.values.count == 1)
        #expect(try metrics.expectMeter("migrationkit_stores_open").lastValue == 1)
        await stores.shutDown()
        #expect(try metrics.expectMeter("migrationkit_stores_open").lastValue == 0)

        let run = try #require(spans("migrationkit.run").first)
        #expect(run.attributes.get("migrationkit.store") == .string("acme"))
        #expect(run.attributes.get("migrationkit.steps") == .int64(3))
        let steps = spans("migrationkit.step")
        #expect(steps.allSatisfy { $0.parentSpanID == run.spanID && $0.status == nil })
        #expect(
            steps.map { $0.attributes.get("migrationkit.step") }
                == itemSteps().map { .string($0.identifier) }
        )
        #expect(tracer.activeSpans.isEmpty)
    }

    @Test func verificationHasATimeOfItsOwn() async throws {
        let runner = try GRDBMigrationRunner(
            steps: itemSteps(),
            integration: .init(verifyIntegrity: { _ in usleep(300_000) })
        )
        let stores = EncryptedStores(
            folder: served.folder.path,
            keys: served,
            runner: runner,
            options: .init(instruments: instruments)
        )
        try await stores.withStore("acme") { _ in }
        await stores.shutDown()
        func seconds(_ label: String) throws -> Double {
            Double(try metrics.expectTimer(label, [("store", "acme")]).values.reduce(0, +)) / 1e9
        }
        #expect(try seconds("migrationkit_verification_duration_seconds") >= 0.3)
        #expect(try seconds("migrationkit_step_duration_seconds") < 0.3)
    }

    @Test func overwrittenPagesAreDamage() async throws {
        let stores = try stores(itemSteps())
        try await stores.withStore("acme") { _ in }
        await stores.shutDown()
        let path = served.folder.path("acme.db")
        var data = try Data(contentsOf: URL(filePath: path))
        data.replaceSubrange(5000..<5100, with: Data(count: 100))
        try data.write(to: URL(filePath: path))
        let again = try self.stores(itemSteps())
        await #expect(throws: (any Error).self) { try await again.withStore("acme") { _ in } }
        await again.shutDown()
        let failures = metrics.counters(label: "migrationkit_failures_total")
        #expect(failures.map { $0.dimensions.map(\.1) } == [["damaged", "acme"]])
    }

    @Test func anOverwrittenPageThatNoStepReadsIsDamageAndOneLine() async throws {
        let rows = """
            CREATE TABLE a (b);
            WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 2000)
            INSERT INTO a SELECT hex(randomblob(20)) FROM n
            """
        let stores = try stores([step("0001", rows)])
        try await stores.withStore("acme") { _ in }
        await stores.shutDown()
        let path = served.folder.path("acme.db")
        var data = try Data(contentsOf: URL(filePath: path))
        data.replaceSubrange(9 * 4096..<9 * 4096 + 100, with: Data(count: 100))
        try data.write(to: URL(filePath: path))
        let again = try self.stores([step("0001", rows), step("0002", "CREATE TABLE c (d)")])
        await #expect(throws: (any Error).self) { try await again.withStore("acme") { _ in } }
        await again.shutDown()
        let failures = metrics.counters(label: "migrationkit_failures_total")
        #expect(failures.map { $0.dimensions.map(\.1) } == [["damaged", "acme"]])
        let errors = log.lines.filter { $0.hasPrefix("error ") }
        #expect(errors.count == 1, "\(errors)")
        #expect(errors.first?.hasPrefix("error step failed code=damaged reason=") == true)
    }

    @Test func failuresAreCountedByCodeAndShowNoValues() async throws {
        let secret = UUID().uuidString
        let stores = try stores([
            step("0001", "CREATE TABLE a (b UNIQUE)"),
            step("0002", "INSERT INTO a VALUES ('\(secret)'); INSERT INTO a VALUES ('\(secret)')"),
        ])
        await #expect(throws: DatabaseError.self) { try await stores.withStore("acme") { _ in } }
        await #expect(throws: KeySourceError.self) {
            try await stores.withStore("keyless") { _ in }
        }
        await stores.shutDown()
        let failures = metrics.counters(label: "migrationkit_failures_total")
        #expect(
            Set(failures.map { $0.dimensions.map(\.1) })
                == [["stepFailed", "acme"], ["emptyKey", "keyless"]]
        )
        #expect(metrics.counterTotal(label: "migrationkit_steps_total") == 1)

        let failed = spans("migrationkit.step").last
        #expect(failed?.status?.code == .error)
        #expect(failed?.attributes.get("error.type") == .string("stepFailed"))
        #expect(spans("migrationkit.run").allSatisfy { $0.status?.code == .error })
        #expect(!"\(tracer.finishedSpans)".contains(secret))
        let lines = log.lines
        #expect(!"\(lines)".contains(secret))
        #expect(lines.allSatisfy { $0.contains("store=") }, "\(lines)")
        let errors = lines.filter { $0.hasPrefix("error ") }
        try #require(errors.count == 2, "\(lines)")
        #expect(errors[0].hasPrefix("error step failed code=stepFailed reason=UNIQUE"))
        #expect(errors[0].hasSuffix("step=0002 store=acme"))
        #expect(errors[1].hasPrefix("error store can't be used code=emptyKey"))
        #expect(errors[1].hasSuffix("store=keyless"))
        #expect(tracer.activeSpans.isEmpty)
    }

    @Test func aRefusedRowIsLoggedWithoutValues() async throws {
        let secret = UUID().uuidString
        let stores = try stores([
            step("0001", "CREATE TABLE a (b CHECK (b <> '\(secret)'))"),
            step("0002", "INSERT INTO a VALUES ('\(secret)')"),
        ])
        await #expect(throws: DatabaseError.self) { try await stores.withStore("acme") { _ in } }
        await stores.shutDown()
        let errors = log.lines.filter { $0.hasPrefix("error ") }
        try #require(errors.count == 1)
        #expect(errors[0].contains("reason=CHECK constraint failed: b <> '"), "\(errors)")
        #expect(!"\(log.lines)".contains(secret))
    }

    @Test func aNameWithoutAStoreMakesNeitherErrorNorMetric() async throws {
        let stores = EncryptedStores(
            folder: served.folder.path,
            keys: served,
            runner: try GRDBMigrationRunner(steps: itemSteps()),
            options: .init(createsFiles: false, instruments: instruments)
        )
        for name in ["nobody", "../acme"] {
            await #expect(throws: (any Error).self) { try await stores.withStore(name) { _ in } }
        }
        #expect(log.lines.isEmpty, "\(log.lines)")
        #expect(metrics.counters(label: "migrationkit_failures_total").isEmpty)
        #expect(spans("migrationkit.run").isEmpty)
        // A store that is there and can't be opened is the operator's.
        try served.folder.write("acme.db", Data(count: 8192))
        await #expect(throws: (any Error).self) { try await stores.withStore("acme") { _ in } }
        #expect(log.lines.count == 1 && log.lines[0].hasPrefix("error "), "\(log.lines)")
        await stores.shutDown()
    }

    @Test func aServicesLinesHaveTheStore() async throws {
        let failing = try served.service(
            [step("0001", "CREATE TABLE a (b)"), step("0002", "nonsense")],
            instruments: instruments
        )
        await #expect(throws: (any Error).self) { try await failing.run() }
        #expect(log.lines.count > 2)
        #expect(log.lines.allSatisfy { $0.contains("store=notes") }, "\(log.lines)")
        let failures = metrics.counters(label: "migrationkit_failures_total")
        #expect(failures.map { $0.dimensions.map(\.1) } == [["stepFailed", "notes"]])

        let named = MigrationService(
            store: served.store,
            runner: try GRDBMigrationRunner(steps: [step("0001", "CREATE TABLE a (b)")]),
            instruments: instruments,
            name: "main"
        )
        let task = Task { try await named.run() }
        _ = try await named.database()
        task.cancel()
        try await task.value
        let runs = metrics.timers.filter { $0.label == "migrationkit_run_duration_seconds" }
        #expect(Set(runs.flatMap { $0.dimensions.map(\.1) }) == ["notes", "main"])
    }

    @Test func manyStoresNeedNotBeNamedInMetrics() async throws {
        let queue = try DatabaseQueue()
        let runner = try GRDBMigrationRunner(steps: itemSteps())
        let quiet = MigrationInstruments(metrics: metrics, tracer: tracer, namesStores: false)
        try await quiet.observe(store: "acme") {
            try await runner.asyncMigrate(in: queue, options: $0)
        }
        #expect(
            metrics.counters(label: "migrationkit_steps_total").map { $0.dimensions.map(\.1) }
                == [["forward"]]
        )
        #expect(
            spans("migrationkit.run").first?.attributes.get("migrationkit.store")
                == .string("acme")
        )
    }

    @Test func aCancelledRunIsNoFailure() async throws {
        let running = Event()
        let stores = try stores([endlessStep("0001") { running.happen() }])
        let task = Task { try await stores.withStore("acme") { _ in } }
        await running.wait()
        task.cancel()
        await #expect(throws: CancellationError.self) { try await task.value }
        await stores.shutDown()
        #expect(metrics.counters(label: "migrationkit_failures_total").isEmpty)
        #expect(spans("migrationkit.run").map(\.status?.code) == [nil])
        #expect(!log.lines.contains { $0.hasPrefix("error ") }, "\(log.lines)")
        #expect(tracer.activeSpans.isEmpty)
    }

    @Test func aRunIsPartOfItsCallersTrace() async throws {
        let queue = try DatabaseQueue()
        let runner = try GRDBMigrationRunner(steps: itemSteps())
        let events = Locked(0)
        try await tracer.withSpan("request") { _ in
            let options = MigrationOptions(observer: { _ in events.withLock { $0 += 1 } })
            try await instruments.observe(options: options) {
                try await runner.asyncMigrate(in: queue, options: $0)
            }
        }
        try await instruments.observe { options in
            try await asyncRun { try runner.rollbackMigrations(in: queue, options: options) }
        }
        let request = try #require(spans("request").first)
        #expect(spans("migrationkit.run").first?.parentSpanID == request.spanID)
        // The caller's own observer goes on.
        #expect(events.withLock { $0 } > 6)
        let directions = metrics.counters(label: "migrationkit_steps_total").map {
            ($0.dimensions.first?.1, $0.totalValue)
        }
        #expect(directions.contains { $0 == ("back", 1) })
        #expect(directions.contains { $0 == ("forward", 3) })
    }
}

/// The lines of a log, each with its level, message and metadata.
private final class RecordedLog: Sendable {
    private let recorded = Locked<[String]>([])

    var lines: [String] { recorded.withLock { $0 } }

    var logger: Logger {
        Logger(label: "test") { _ in Handler(log: self) }
    }

    private struct Handler: LogHandler {
        let log: RecordedLog
        var logLevel = Logger.Level.info
        var metadata: Logger.Metadata = [:]

        subscript(metadataKey key: String) -> Logger.Metadata.Value? {
            get { metadata[key] }
            set { metadata[key] = newValue }
        }

        func log(event: LogEvent) {
            let all = metadata.merging(event.metadata ?? [:]) { $1 }
            let words = all.sorted { $0.key < $1.key }.map { "\($0.key)=\($0.value)" }
            let line = (["\(event.level)", "\(event.message)"] + words).joined(separator: " ")
            log.recorded.withLock { $0.append(line) }
        }
    }
}
