import Foundation
import Testing

@testable import MigrationKit
@testable import MigrationKitCommon

@Suite struct AsyncRunTests {
    private struct Failure: Error {}

    @Test func itReturnsAndThrowsWhatTheWorkDoes() async throws {
        #expect(try await asyncRun { 1 } == 1)
        await #expect(throws: Failure.self) { try await asyncRun { throw Failure() } }
    }

    @Test func theWorkHasAThreadOfItsOwn() async throws {
        // More of them than there are threads of tasks. Each ends only when all have begun.
        let count = ProcessInfo.processInfo.activeProcessorCount + 4
        let begun = DispatchSemaphore(value: 0)
        let mayEnd = DispatchSemaphore(value: 0)
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<count {
                group.addTask {
                    try await asyncRun {
                        begun.signal()
                        mayEnd.wait()
                    }
                }
            }
            group.addTask {
                try await asyncRun {
                    for _ in 0..<count { begun.wait() }
                    for _ in 0..<count { mayEnd.signal() }
                }
            }
            try await group.waitForAll()
        }
    }

    @Test func aTaskThatIsAlreadyCancelledBeginsNothing() async throws {
        let hasRun = Locked(false)
        let task = Task {
            withUnsafeCurrentTask { $0?.cancel() }
            try await asyncRun { hasRun.withLock { $0 = true } }
        }
        await #expect(throws: CancellationError.self) { try await task.value }
        #expect(!hasRun.withLock { $0 })
    }

    @Test(arguments: [Cancellation(), nil])
    func cancellingTheTaskEndsEveryOperationOfTheWork(_ own: Cancellation?) async throws {
        let (begun, continuation) = AsyncStream.makeStream(of: Void.self)
        let task = Task {
            try await asyncRun {
                let operation = LongOperation<Never>(
                    timeout: .infinity,
                    cancellation: own,
                    observer: nil
                )
                #expect(operation.isWatched && !operation.isCancelled)
                continuation.yield()
                while operation.continues(reporting: { [] }) { usleep(1000) }
                try operation.checkCancellation()
            }
        }
        for await _ in begun { break }
        task.cancel()
        await #expect(throws: CancellationError.self) { try await task.value }
        #expect(own?.isCancelled != true)
    }

    @Test func operationsOutsideOfItHaveOnlyTheirOwnCancellation() {
        func cancellation(of own: Cancellation?) -> Cancellation? {
            LongOperation<Never>(timeout: 0, cancellation: own, observer: nil).cancellation
        }
        #expect(cancellation(of: nil) == nil)
        let own = Cancellation()
        #expect(cancellation(of: own) === own)
    }
}
