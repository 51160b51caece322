import Foundation
import MigrationKit
import MigrationKitCommon
import MigrationKitPages

/// Works on many stores at the same time. A failure of one doesn't affect the others.
public struct FleetRun: Sendable {
    /// How a run works.
    public struct Options: OperationOptions {
        /// How many stores are worked on at the same time.
        public var jobs: Int

        /// Which stores come first; `nil` for none.
        public var canary: Canary?

        /// How many may fail; `nil` for all.
        public var failureLimit: FailureLimit?

        /// Ends the run: no more stores are started. It is also passed to the work on each store.
        public var cancellation: Cancellation?

        /// Gets an event after each store.
        public var observer: (@Sendable (FleetEvent) -> Void)?

        package var timeout: TimeInterval { 0 }

        /// - Parameters:
        ///   - jobs: How many stores are worked on at the same time; as many as there are
        ///     processors, if it isn't given.
        ///   - canary: Which stores come first.
        ///   - failureLimit: How many may fail.
        public init(
            jobs: Int = ProcessInfo.processInfo.activeProcessorCount,
            canary: Canary? = nil,
            failureLimit: FailureLimit? = nil
        ) {
            self.jobs = jobs
            self.canary = canary
            self.failureLimit = failureLimit
        }
    }

    /// Why a run is over.
    public enum End: String, Sendable {
        /// Every store was processed.
        case complete
        /// A canary failed.
        case canary
        /// More stores failed than the limit allows.
        case failures
        /// It was cancelled.
        case interrupted
    }

    private let stores: [FleetStore]
    private let options: Options

    /// - Parameters:
    ///   - stores: The stores, in the order in which they are started.
    ///   - options: How the run works.
    public init(_ stores: [FleetStore], options: Options = Options()) {
        self.stores = stores
        self.options = options
    }

    /// Works on the stores, and reports what became of each of them.
    ///
    /// - Parameters:
    ///   - work: Works on one store, on one of several threads. If it throws a `CancellationError`
    ///     after the run was cancelled, the store counts as interrupted.
    ///   - report: Gets the outcome of each store once, on one of several threads. If it throws, the
    ///     run ends after the stores that are being worked on.
    /// - Returns: Why the run is over.
    /// - Throws: What `report` throws.
    public func run<Value: Sendable>(
        _ work: @escaping @Sendable (FleetStore) throws -> Value,
        report:
            @escaping @Sendable (FleetStore, FleetOutcome<Value>, _ seconds: Double) throws -> Void
    ) throws -> End {
        let limit = options.failureLimit?.count(of: stores.count) ?? .max
        let state = Locked(State())
        let isCancelled: @Sendable () -> Bool = { options.cancellation?.isCancelled == true }

        let visit: @Sendable (FleetStore) throws -> Void = { store in
            let start = ContinuousClock.now
            let outcome = outcome(of: store, work)
            try report(store, outcome, (.now - start) / .seconds(1))
            let event = state.withLock { state in
                state.note(outcome)
                return FleetEvent(
                    store: store,
                    done: state.done,
                    failed: state.failed,
                    count: stores.count
                )
            }
            options.observer?(event)
        }

        let (canaries, rest) = options.canary?.split(stores) ?? (stores, [])
        var end = End.complete
        for (group, isFirst) in [(canaries, true), (rest, false)] {
            // Parts are left out instead of ending the threads: each store is reported once.
            let left = Locked<[Int]>([])
            try WorkerThreads.run(group.count, threadCount: options.jobs) { _ in
            } make: { [end] in
                { part in
                    let isOver =
                        end != .complete || isCancelled()
                        || state.withLock { $0.failed > limit }
                    guard !isOver else { return left.withLock { $0.append(part) } }
                    try visit(group[part])
                }
            }
            let parts = left.withLock { $0 }.sorted()
            for part in parts { try report(group[part], .notStarted, 0) }
            let (failed, interrupted) = state.withLock { ($0.failed, $0.interrupted) }
            guard end == .complete else { break }
            if isCancelled(), !parts.isEmpty || interrupted > 0 {
                end = .interrupted
            } else if failed > limit, !parts.isEmpty {
                end = .failures
            } else if failed > 0, isFirst, !rest.isEmpty {
                end = .canary
            }
        }
        return end
    }

    private func outcome<Value>(
        of store: FleetStore,
        _ work: (FleetStore) throws -> Value
    ) -> FleetOutcome<Value> {
        do {
            return .done(try work(store))
        } catch is CancellationError where options.cancellation?.isCancelled == true {
            return .interrupted
        } catch {
            return .failed(error)
        }
    }

    private struct State {
        var done = 0
        var failed = 0
        var interrupted = 0

        mutating func note(_ outcome: FleetOutcome<some Sendable>) {
            switch outcome {
            case .done: break
            case .failed: failed += 1
            case .interrupted, .notStarted: interrupted += 1
            }
            done += 1
        }
    }
}

/// What became of a store in a run.
public enum FleetOutcome<Value: Sendable>: Sendable {
    /// The work is done.
    case done(Value)
    /// The work failed. The error says in what state the store is.
    case failed(any Error)
    /// The run was cancelled during the work. What was not committed is undone.
    case interrupted
    /// The run ended before this store was started.
    case notStarted
}

/// How far a run is, after a store.
public struct FleetEvent: Sendable {
    /// The store that is done.
    public let store: FleetStore
    /// How many are done, well or not.
    public let done: Int
    /// How many of these failed.
    public let failed: Int
    /// How many there are.
    public let count: Int
}
