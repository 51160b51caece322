import GRDB
import Logging
import Metrics
import MigrationKit
import MigrationKitCommon
import MigrationKitGRDB
import Tracing

/// Counts and times runs of migrations with swift-metrics, traces them with swift-distributed-tracing, and
/// logs them with swift-log.
///
/// ```swift
/// let report = try await MigrationInstruments().observe { options in
///     try await runner.asyncMigrate(in: database, options: options)
/// }
/// ```
///
/// ``MigrationService`` and ``EncryptedStores`` do so by themselves. Without a bootstrapped backend
/// nothing is recorded, and without a logger nothing is logged.
///
/// A store that can't be opened or migrated is one line at the level `error`, with its name as `store`, the
/// error's `code` and its `reason`, and the `step` if one failed. So is what a run does, at the levels of
/// `MigrationEvent/logging(to:)`. A name for which ``EncryptedStores`` has no store is a line at the level
/// `debug` and in no metric: strangers may ask for any name.
///
/// | metric | kind | what |
/// | --- | --- | --- |
/// | `migrationkit_steps_total` | counter | steps that were done, by `direction`: `forward`, `back` |
/// | `migrationkit_step_duration_seconds` | timer | a step's own work, without the verification |
/// | `migrationkit_verification_duration_seconds` | timer | the verification of a run that had steps |
/// | `migrationkit_run_duration_seconds` | timer | what was observed, from beginning to end |
/// | `migrationkit_failures_total` | counter | failed runs, by the error's `code` |
/// | `migrationkit_stores_open` | meter | open stores of ``EncryptedStores`` |
///
/// All but the last have the store's name as `store`, if one is given.
///
/// The span `migrationkit.run` has a child `migrationkit.step` for each step. A failed span has the
/// error's code as `error.type`. Neither metrics nor spans have a row's values, SQL or keys. A
/// cancelled run counts as no failure.
public struct MigrationInstruments: Sendable {
    private let metrics: (any MetricsFactory)?
    private let tracer: (any Tracer)?
    private let logger: Logger?
    private let namesStores: Bool

    /// Creates instruments.
    ///
    /// - Parameters:
    ///   - metrics: Makes the metrics; `nil` for the process's `MetricsSystem`.
    ///   - tracer: Makes the spans; `nil` for the process's `InstrumentationSystem`.
    ///   - logger: Where runs and failures are logged; `nil` to log nothing.
    ///   - namesStores: Whether metrics have the store's name. A backend keeps a series for each, so
    ///     turn it off for many thousands. Lines and spans have the name in any case.
    public init(
        metrics: (any MetricsFactory)? = nil,
        tracer: (any Tracer)? = nil,
        logger: Logger? = nil,
        namesStores: Bool = true
    ) {
        self.metrics = metrics
        self.tracer = tracer
        self.logger = logger
        self.namesStores = namesStores
    }

    /// Runs a closure that migrates, and observes it.
    ///
    /// - Parameters:
    ///   - store: The store's name, an attribute of the spans, of the log's lines and of the metrics.
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
            logger: logger,
            store: store,
            dimensions: namesStores ? store.map { [("store", $0)] } ?? [] : []
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

    /// Logs that there is no store of a name that somebody has asked for.
    func logUnknownStore(_ name: String, _ error: any Error) {
        let failure = RunFailure(error)
        logger?.debug(
            "no such store",
            metadata: [
                "store": "\(name)", "code": "\(failure.code.name)", "reason": "\(failure.reason)",
            ]
        )
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
    private let logger: Logger?
    private let store: String?
    /// Of every metric.
    private let dimensions: [(String, String)]
    private let start = ContinuousClock.now
    private let span: any Span
    private let step = Locked<(any Span)?>(nil)
    private let failedStep = Locked<FailedStep?>(nil)

    init(
        metrics: any MetricsFactory,
        tracer: any Tracer,
        logger: Logger?,
        store: String?,
        dimensions: [(String, String)]
    ) {
        self.dimensions = dimensions
        self.metrics = metrics
        self.tracer = tracer
        var logger = logger
        if let store { logger?[metadataKey: "store"] = "\(store)" }
        self.logger = logger
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
        // Logged with its cause, which isn't known yet.
        case .stepFailed(let identifier, _):
            failedStep.withLock { $0 = FailedStep(identifier: identifier, isDone: false) }
        case .stepFailedLate(let identifier, _, let isDone):
            failedStep.withLock { $0 = FailedStep(identifier: identifier, isDone: isDone) }
        default:
            if let logger { MigrationEvent.logging(to: logger)(event) }
        }
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
                dimensions: [("direction", direction.name)] + dimensions,
                factory: metrics
            ).increment()
            timer("migrationkit_step_duration_seconds").recordSeconds(finished.seconds)
            let span = takeStep()
            span?.attributes["migrationkit.rows_changed"] = finished.rowsChanged
            span?.end()
        case .stepPaused(_, let rows):
            let span = takeStep()
            span?.attributes["migrationkit.rows_changed"] = rows
            span?.end()
        case .runFinished(let report):
            timer("migrationkit_verification_duration_seconds")
                .recordSeconds(report.verificationSeconds)
        default:
            break
        }
    }

    /// - Parameter error: Why the run failed; `nil` if it didn't.
    func end(_ error: (any Error)?) {
        let code = error.flatMap(code)
        if let error { log(error, code) }
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
            dimensions: [("code", code)] + dimensions,
            factory: metrics
        ).increment()
    }

    private func log(_ error: any Error, _ code: String?) {
        let step = failedStep.withLock { $0 }
        guard let code else {
            logger?.notice("cancelled", metadata: step.map { ["step": "\($0.identifier)"] })
            return
        }
        var metadata: Logger.Metadata = [
            "code": "\(code)", "reason": "\(RunFailure(error).reason)",
        ]
        guard let step else {
            logger?.error("store can't be used", metadata: metadata)
            return
        }
        metadata["step"] = "\(step.identifier)"
        if step.isDone == false {
            logger?.error("step failed", metadata: metadata)
        } else {
            metadata["done"] = "\(step.isDone.map(String.init) ?? "unknown")"
            logger?.error("step failed after its commit", metadata: metadata)
        }
    }

    private struct FailedStep {
        let identifier: String
        /// Whether the error came after the commit; `nil` if that is unknown.
        let isDone: Bool?
    }

    private func takeStep() -> (any Span)? {
        step.withLock { step in
            defer { step = nil }
            return step
        }
    }

    private func timer(_ label: String) -> Timer {
        Timer(
            label: label,
            dimensions: dimensions,
            preferredDisplayUnit: .seconds,
            factory: metrics
        )
    }

    /// The word for an error's kind, as the tool reports it; `nil` for a cancellation.
    private func code(of error: any Error) -> String? {
        guard !(error is CancellationError) else { return nil }
        let code = RunFailure(error).code
        return (failedStep.withLock { $0 } == nil ? code : code.ofStep).name
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
