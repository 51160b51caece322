import Foundation
import Testing

@testable import MigrationKit
@testable import MigrationKitCommon

@Suite struct LongOperationTests {
    private let cancellation = Cancellation()
    private let events = Locked<[String]>([])

    private func operation(timeout: TimeInterval = 0) -> LongOperation<String> {
        LongOperation(timeout: timeout, cancellation: cancellation) { [events] event in
            events.withLock { $0.append(event) }
        }
    }

    private var reported: [String] { events.withLock { $0 } }

    @Test func goingOnIsReportedAfterATenthOfASecondOfSilence() {
        let operation = operation()
        let start = ContinuousClock.now
        operation.report("begun")
        while reported.count == 1 {
            #expect(operation.continues(reporting: { ["goes on", "so far"] }))
        }
        #expect(ContinuousClock.now - start >= .milliseconds(100))
        #expect(operation.continues(reporting: { ["too soon"] }))
        #expect(reported == ["begun", "goes on", "so far"])
    }

    @Test func nothingIsMeasuredIfNobodyWatches() {
        let operation = LongOperation<String>(timeout: 0, cancellation: cancellation, observer: nil)
        usleep(110_000)
        let goesOn = operation.continues {
            Issue.record("measured")
            return []
        }
        #expect(goesOn)
        #expect(operation.isWatched)
        #expect(!LongOperation<String>(timeout: 0, cancellation: nil, observer: nil).isWatched)
    }

    @Test func itEndsOnceItIsCancelled() {
        let operation = operation(timeout: .infinity)
        cancellation.cancel()
        #expect(!operation.continues(reporting: { [] }))
        #expect(throws: CancellationError.self) { try operation.checkCancellation() }
        #expect(throws: CancellationError.self) {
            try operation.waiting(for: { 1 }, reporting: { "\($0)" }) { () -> Int? in nil }
        }
    }

    @Test func othersAreReportedWhenTheyChange() throws {
        var others = [[1], [1], [2], [2], [1]]
        let value = try operation(timeout: .infinity).waiting(
            for: { others.removeFirst() },
            reporting: { "\($0)" },
            { others.isEmpty ? "done" : nil }
        )
        #expect(value == "done")
        #expect(reported == ["[1]", "[2]", "[1]"])
    }

    @Test func holderOfALockIsReportedOnce() throws {
        let path = FileManager.default.temporaryDirectory.path + "/\(UUID().uuidString)"
        let lock = FileLock(beside: path, suffix: "-test.lock")
        let held = try #require(try lock.hold())
        #expect(throws: FileLock.Failure.held(processIdentifier: getpid())) {
            try operation(timeout: 0.1).holding(lock, reporting: { "\($0 ?? 0)" }) {}
        }
        #expect(reported == ["\(getpid())"])
        let isOver = try operation(timeout: .infinity).holding(
            lock,
            reporting: { _ in
                held.release()
                return "released"
            },
            { true }
        )
        #expect(isOver)
        #expect(!FileManager.default.fileExists(atPath: lock.path))
    }
}
