import Foundation
import MigrationKit
@testable import MigrationKitFleet
import Synchronization
import TestSupport
import Testing

/// Which stores a run comes to, and why it ends.
@Suite struct FleetRunTests {
    private struct Broken: Error {}

    private static let stores = (0..<100).map {
        FleetStore(name: "\($0)", path: "\($0).db", group: $0 % 10 == 3 ? "canary" : nil)
    }

    /// Runs, and tells what became of each store, in the order in which they were reported.
    private func run(
        _ options: FleetRun.Options,
        failing: Set<String> = [],
        busy: Set<String> = [],
        onStart: @escaping @Sendable (FleetStore) -> Void = { _ in }
    ) throws -> (end: FleetRun.End, outcomes: [(name: String, outcome: String)]) {
        let outcomes = Mutex<[(name: String, outcome: String)]>([])
        let end = try FleetRun(Self.stores, options: options).run { store, busySince in
            onStart(store)
            if busy.contains(store.name), busySince == nil { throw BusyStore() }
            if failing.contains(store.name) { throw Broken() }
            try options.cancellation.map { if $0.isCancelled { throw CancellationError() } }
        } report: { store, outcome, _ in
            let word =
                switch outcome {
                case .done: "done"
                case .failed: "failed"
                case .interrupted: "interrupted"
                case .notStarted: "notStarted"
                }
            outcomes.withLock { $0.append((store.name, word)) }
        }
        return (end, outcomes.withLock { $0 })
    }

    private func count(_ word: String, _ outcomes: [(name: String, outcome: String)]) -> Int {
        outcomes.count { $0.outcome == word }
    }

    @Test(arguments: [1, 2, 8, 200])
    func everyStoreIsReportedOnce(jobs: Int) throws {
        let (end, outcomes) = try run(.init(jobs: jobs), failing: ["7", "50", "99"])
        #expect(end == .complete)
        #expect(Set(outcomes.map(\.name)).count == 100 && outcomes.count == 100)
        #expect(count("done", outcomes) == 97 && count("failed", outcomes) == 3)
    }

    @Test func canariesComeFirst() throws {
        let (end, outcomes) = try run(.init(jobs: 4, canary: .count(5)))
        #expect(end == .complete)
        #expect(Set(outcomes.prefix(5).map(\.name)) == ["0", "1", "2", "3", "4"])
        let groups = try run(.init(jobs: 4, canary: .group("canary"))).outcomes
        #expect(groups.prefix(10).allSatisfy { $0.name.hasSuffix("3") })
        #expect(groups.count == 100)
    }

    @Test(arguments: [Canary.count(5), .group("canary")])
    func failedCanaryStopsTheRest(canary: Canary) throws {
        let (end, outcomes) = try run(.init(jobs: 3, canary: canary), failing: ["3"])
        #expect(end == .canary)
        let canaries = canary == .count(5) ? 5 : 10
        #expect(count("done", outcomes) == canaries - 1 && count("failed", outcomes) == 1)
        #expect(count("notStarted", outcomes) == 100 - canaries)
    }

    @Test func aStoreThatFailsAfterTheCanariesDoesNotEndTheRun() throws {
        let (end, outcomes) = try run(.init(jobs: 3, canary: .count(5)), failing: ["50"])
        #expect(end == .complete)
        #expect(count("done", outcomes) == 99)
    }

    @Test(arguments: [
        ("0", 1), ("2", 3), ("3%", 4), ("2.5%", 3), ("0%", 1),
    ])
    func tooManyFailuresStopTheRest(_ text: String, _ failed: Int) throws {
        let limit = try #require(FailureLimit(text))
        let broken = Set((10..<90).map { "\($0)" })
        let (end, outcomes) = try run(.init(jobs: 1, failureLimit: limit), failing: broken)
        #expect(end == .failures)
        #expect(count("done", outcomes) == 10 && count("failed", outcomes) == failed)
        #expect(count("notStarted", outcomes) == 90 - failed)
    }

    @Test func busyStoresGoLast() throws {
        let (end, outcomes) = try run(.init(jobs: 1), failing: ["7"], busy: ["3", "7", "50"])
        #expect(end == .complete && outcomes.count == 100)
        #expect(outcomes.suffix(3).map(\.name) == ["3", "7", "50"])
        #expect(outcomes.suffix(3).map(\.outcome) == ["done", "failed", "done"])
        // A busy canary comes before the others, all the same.
        let canaries = try run(.init(jobs: 1, canary: .count(5)), busy: ["3"]).outcomes
        #expect(canaries.prefix(5).map(\.name) == ["0", "1", "2", "4", "3"])
        let failed = try run(.init(jobs: 1, canary: .count(5)), failing: ["3"], busy: ["3"])
        #expect(failed.end == .canary)
    }

    @Test func busyStoresOfARunThatIsOverWereNotStarted() throws {
        let limit = FleetRun.Options(jobs: 1, failureLimit: .count(0))
        let (end, outcomes) = try run(limit, failing: ["7"], busy: ["3"])
        #expect(end == .failures && outcomes.count == 100)
        #expect(outcomes.last { $0.name == "3" }?.outcome == "notStarted")
    }

    @Test(arguments: [(100, 10), (201, 10), (2000, 100)])
    func aFailureEverywhereEndsARunEarly(_ total: Int, _ failures: Int) {
        #expect(FailureLimit.standard.count(of: total) == failures)
    }

    @Test func asManyFailuresAsMayStopNothing() throws {
        let (end, outcomes) = try run(
            .init(jobs: 4, failureLimit: .count(3)),
            failing: ["1", "2", "3"]
        )
        #expect(end == .complete)
        #expect(count("done", outcomes) == 97)
    }

    @Test(arguments: ["", "x", "-1", "1.5", "101%", "-1%", "%"])
    func otherLimitsAreNone(text: String) {
        #expect(FailureLimit(text) == nil)
    }

    @Test func cancelledRunReportsWhatIsLeft() throws {
        var options = FleetRun.Options(jobs: 1)
        let cancellation = Cancellation()
        options.cancellation = cancellation
        let (end, outcomes) = try run(options) { if $0.name == "40" { cancellation.cancel() } }
        #expect(end == .interrupted)
        #expect(outcomes.count == 100)
        #expect(count("done", outcomes) == 40 && count("interrupted", outcomes) == 1)
        #expect(count("notStarted", outcomes) == 59)
    }

    @Test func reportThatCannotBeWrittenEndsTheRun() throws {
        let started = Mutex(0)
        #expect(throws: Broken.self) {
            try FleetRun(Self.stores, options: .init(jobs: 2)).run { _, _ in
                started.withLock { $0 += 1 }
            } report: { _, _, _ in
                throw Broken()
            }
        }
        #expect(started.withLock { $0 } <= 4)
    }
}
