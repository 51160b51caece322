import Foundation
import MigrationKit
import MigrationKitCommon

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
    ///   - work: Works on one store, on one of several threads. The first attempt should not wait for
    ///     other processes: if it throws ``BusyStore``, there is a second one after the other stores,
    ///     which gets the time of the first. If it throws a `CancellationError` after the run was
    ///     cancelled, the store counts as interrupted.
    ///   - report: Gets the outcome of each store once, on one of several threads. If it throws, the
    ///     run ends after the stores that are being worked on.
    /// - Returns: Why the run is over.
    /// - Throws: What `report` throws.
    public func run<Value: Sendable>(
        _ work:
            @escaping @Sendable (FleetStore, _ busySince: ContinuousClock.Instant?) throws -> Value,
        report:
            @escaping @Sendable (FleetStore, FleetOutcome<Value>, _ seconds: Double) throws -> Void
    ) throws -> End {
        let limit = options.failureLimit?.count(of: stores.count) ?? .max
        let state = Locked(State())
        let ofTask = Cancellation.ofTask
        let cancellation = options.operation.cancellation
        let isCancelled: @Sendable () -> Bool = { cancellation?.isCancelled == true }

        /// Returns whether the store must be tried again.
        let visit: @Sendable (Attempt) throws -> Bool = { attempt in
            let start = ContinuousClock.now
            let end = Cancellation.$ofTask.withValue(ofTask) {
                outcome(of: attempt, work, isCancelled)
            }
            guard let outcome = end else { return true }
            try report(attempt.store, outcome, (.now - start) / .seconds(1))
            let event = state.withLock { state in
                state.note(outcome)
                return FleetEvent(
                    store: attempt.store,
                    done: state.done,
                    failed: state.failed,
                    count: stores.count
                )
            }
            options.observer?(event)
            return false
        }

        let (canaries, rest) = options.canary?.split(stores) ?? (stores, [])
        var end = End.complete
        for (group, isFirst) in [(canaries, true), (rest, false)] {
            var attempts = group.map { Attempt(store: $0) }
            var left: [Attempt] = []
            while !attempts.isEmpty {
                // Stores are left out instead of ending the threads: each is reported once.
                let rest = Locked<(left: [Int], busy: [Attempt])>(([], []))
                try WorkerThreads.run(attempts.count, threadCount: options.jobs) { _ in
                } make: { [end, attempts] in
                    { part in
                        let isOver =
                            end != .complete || isCancelled()
                            || state.withLock { $0.failed > limit }
                        guard !isOver else { return rest.withLock { $0.left.append(part) } }
                        let attempt = attempts[part]
                        guard try visit(attempt) else { return }
                        rest.withLock {
                            $0.busy.append(Attempt(store: attempt.store, busySince: .now))
                        }
                    }
                }
                let (unvisited, busy) = rest.withLock { $0 }
                left += unvisited.sorted().map { attempts[$0] }
                attempts = busy
            }
            for attempt in left { try report(attempt.store, .notStarted, 0) }
            let (failed, interrupted) = state.withLock { ($0.failed, $0.interrupted) }
            guard end == .complete else { break }
            if isCancelled(), !left.isEmpty || interrupted > 0 {
                end = .interrupted
            } else if failed > limit, !left.isEmpty {
                end = .failures
            } else if failed > 0, isFirst, !rest.isEmpty {
                end = .canary
            }
        }
        return end
    }

    /// An attempt to work on a store.
    private struct Attempt {
        let store: FleetStore
        /// When the first attempt found it busy; `nil` at the first attempt.
        var busySince: ContinuousClock.Instant?
    }

    /// - Returns: `nil` if the store is busy, and there is another attempt.
    private func outcome<Value>(
        of attempt: Attempt,
        _ work: (FleetStore, ContinuousClock.Instant?) throws -> Value,
        _ isCancelled: () -> Bool
    ) -> FleetOutcome<Value>? {
        do {
            return .done(try work(attempt.store, attempt.busySince))
        } catch is CancellationError where isCancelled() {
            return .interrupted
        } catch is BusyStore where attempt.busySince == nil {
            return nil
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
