import GRDB
import Metrics
import MigrationKit
import MigrationKitCommon
import MigrationKitGRDB
import Tracing

/// Counts and times runs of migrations with swift-metrics, and traces them with
/// swift-distributed-tracing.
///
/// ```swift
/// let report = try await MigrationInstruments().observe { options in
///     try await runner.asyncMigrate(in: database, options: options)
/// }
/// ```
///
/// ``MigrationService`` and ``EncryptedStores`` do so by themselves. Without a bootstrapped backend
/// nothing is recorded.
///
/// | metric | kind | what |
/// | --- | --- | --- |
/// | `migrationkit_steps_total` | counter | steps that were done, by `direction`: `forward`, `back` |
/// | `migrationkit_step_duration_seconds` | timer | a step's own work |
/// | `migrationkit_run_duration_seconds` | timer | what was observed, from beginning to end |
/// | `migrationkit_failures_total` | counter | failed runs, by the error's `code` |
/// | `migrationkit_stores_open` | meter | open stores of ``EncryptedStores`` |
///
/// The span `migrationkit.run` has a child `migrationkit.step` for each step. A failed span has the
/// error's code as `error.type`. Neither metrics nor spans have a row's values, SQL or keys. A
/// cancelled run counts as no failure.
public struct MigrationInstruments: Sendable {
    private let metrics: (any MetricsFactory)?
    private let tracer: (any Tracer)?

    /// Creates instruments.
    ///
    /// - Parameters:
    ///   - metrics: Makes the metrics; `nil` for the process's `MetricsSystem`.
    ///   - tracer: Makes the spans; `nil` for the process's `InstrumentationSystem`.
    public init(metrics: (any MetricsFactory)? = nil, tracer: (any Tracer)? = nil) {
        self.metrics = metrics
        self.tracer = tracer
    }

    /// Runs a closure that migrates, and observes it.
    ///
    /// - Parameters:
    ///   - store: The store's name, an attribute of the spans. Metrics don't have it: there may be
    ///     too many.
    ///   - options: The run's options. Their observer still gets every event.
    ///   - run: Migrates with the options that it gets.
    /// - Returns: What the closure returns.
    /// - Throws: What the closure throws.
    @discardableResult
    public func observe<Value>(
        store: String? = nil,
        options: MigrationOptions = MigrationOptions(),
        _ run: (MigrationOptions) async throws -> Value
    ) async throws -> Value {
        let observed = ObservedRun(
            metrics: metrics ?? MetricsSystem.factory,
            tracer: tracer ?? InstrumentationSystem.tracer,
            store: store
        )
        var options = options
        options.observer = { [observer = options.observer] event in
            observed.note(event)
            observer?(event)
        }
        do {
            let value = try await observed.running { try await run(options) }
            observed.end(nil)
            return value
        } catch {
            observed.end(error)
            throw error
        }
    }

    /// Records how many stores are open.
    func record(openStores count: Int) {
        Meter(
            label: "migrationkit_stores_open",
            factory: metrics ?? MetricsSystem.factory
        ).set(count)
    }
}

// MARK: - Observed Run

/// One run with its span and the span of its current step.
private final class ObservedRun: Sendable {
    private let metrics: any MetricsFactory
    private let tracer: any Tracer
    private let store: String?
    private let start = ContinuousClock.now
    private let span: any Span
    private let step = Locked<(any Span)?>(nil)

    init(metrics: any MetricsFactory, tracer: any Tracer, store: String?) {
        self.metrics = metrics
        self.tracer = tracer
        self.store = store
        span = tracer.startAnySpan("migrationkit.run", ofKind: .internal)
        if let store { span.attributes["migrationkit.store"] = store }
    }

    /// Runs a closure within the span.
    func running<Value>(_ body: () async throws -> Value) async rethrows -> Value {
        try await ServiceContext.withValue(span.context, operation: body)
    }

    /// Called on the database's thread, which has no context of a task.
    func note(_ event: MigrationEvent) {
        switch event {
        case .runStarted(let direction, let count):
            span.attributes["migrationkit.direction"] = direction.name
            span.attributes["migrationkit.steps"] = count
        case .stepStarted(let identifier, let direction, _, _):
            let span = tracer.startAnySpan(
                "migrationkit.step",
                context: span.context,
                ofKind: .internal
            )
            span.attributes["migrationkit.step"] = identifier
            span.attributes["migrationkit.direction"] = direction.name
            if let store { span.attributes["migrationkit.store"] = store }
            step.withLock { $0 = span }
        case .stepFinished(let finished, let direction):
            Counter(
                label: "migrationkit_steps_total",
                dimensions: [("direction", direction.name)],
                factory: metrics
            ).increment()
            timer("migrationkit_step_duration_seconds").recordSeconds(finished.seconds)
            let span = takeStep()
            span?.attributes["migrationkit.rows_changed"] = finished.rowsChanged
            span?.end()
        default:
            break
        }
    }

    /// - Parameter error: Why the run failed; `nil` if it didn't.
    func end(_ error: (any Error)?) {
        let code = error.flatMap(Self.code)
        // A step that is still open has failed, or was cancelled.
        for span in [takeStep(), span].compactMap({ $0 }) {
            if let code {
                span.attributes["error.type"] = code
                span.setStatus(SpanStatus(code: .error, message: code))
            }
            span.end()
        }
        timer("migrationkit_run_duration_seconds").recordSeconds(
            (.now - start) / .seconds(1)
        )
        guard let code else { return }
        Counter(
            label: "migrationkit_failures_total",
            dimensions: [("code", code)],
            factory: metrics
        ).increment()
    }

    private func takeStep() -> (any Span)? {
        step.withLock { step in
            defer { step = nil }
            return step
        }
    }

    private func timer(_ label: String) -> Timer {
        Timer(label: label, preferredDisplayUnit: .seconds, factory: metrics)
    }

    /// The word for an error's kind, as the tool reports it; `nil` for a cancellation.
    private static func code(of error: any Error) -> String? {
        switch error {
        case is CancellationError: nil
        case let error as any CodedError: error.code.name
        case let error as DatabaseError:
            ErrorCode(sqlite: error.resultCode.rawValue)?.name ?? "databaseError"
        default: "failed"
        }
    }
}

extension MigrationEvent.Direction {
    fileprivate var name: String {
        switch self {
        case .forward: "forward"
        case .back: "back"
        }
    }
}
