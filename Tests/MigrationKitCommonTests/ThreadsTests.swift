import Dispatch
import Foundation
import Testing

@testable import MigrationKitCommon

@Suite struct ThreadsTests {
    private struct Failure: Error, Equatable {
        let number: Int
    }

    // MARK: - One Thread

    @Test func aThreadDoesOneWorkAfterTheOther() {
        let thread = OwnThread()
        let done = Locked<[Int]>([])
        for number in 0..<1000 { thread.run { done.withLock { $0.append(number) } } }
        thread.finish()
        #expect(done.withLock { $0 } == Array(0..<1000))
    }

    /// Takes some time to go, as a connection does that is closed.
    private final class Held: Sendable {
        let isGone: Locked<Bool>

        init(_ isGone: Locked<Bool>) { self.isGone = isGone }

        deinit {
            Thread.sleep(forTimeInterval: 0.1)
            isGone.withLock { $0 = true }
        }
    }

    @Test func whatAWorkHeldIsGoneWhenItsResultIsThere() throws {
        func begin() -> (work: WorkAlongside<Int>, isGone: Locked<Bool>) {
            let isGone = Locked(false)
            let held = Held(isGone)
            let work = WorkAlongside {
                // This function has ended meanwhile, and only the thread holds it.
                Thread.sleep(forTimeInterval: 0.1)
                return held.isGone.withLock { $0 ? 1 : 2 }
            }
            return (work, isGone)
        }
        let (work, isGone) = begin()
        #expect(try work.result().get() == 2)
        #expect(isGone.withLock { $0 })
    }

    // MARK: - One Beside Another

    @Test func workAlongsideGoesOnWhileTheCallerWaits() throws {
        let mayEnd = DispatchSemaphore(value: 0)
        let work = WorkAlongside {
            mayEnd.wait()
            return 7
        }
        #expect(work.result(within: .milliseconds(1)) == nil)
        var signs = 0
        let result = work.result {
            signs += 1
            mayEnd.signal()
        }
        #expect(try result.get() == 7)
        #expect(signs > 0)
        #expect(try work.result(within: .zero)?.get() == 7)
    }

    @Test func bothFunctionsRunAtOnceAndKeepTheirErrors() throws {
        let (toSecond, toFirst) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
        let outcomes = atOnce(
            {
                toSecond.signal()
                toFirst.wait()
                return 1
            },
            { () throws -> Int in
                toFirst.signal()
                toSecond.wait()
                throw Failure(number: 2)
            }
        )
        #expect(try outcomes.first.get() == 1)
        #expect(throws: Failure(number: 2)) { try outcomes.second.get() }
    }

    // MARK: - Parts

    @Test(arguments: [nil, 1, 7])
    func everyPartIsDoneOnce(_ threadCount: Int?) throws {
        let done = Locked<[Int]>([])
        var made = 0
        var watched: [Int] = []
        try WorkerThreads.run(100, threadCount: threadCount, watch: { watched.append($0) }) {
            made += 1
            return { part in done.withLock { $0.append(part) } }
        }
        #expect(done.withLock { $0.sorted() } == Array(0..<100))
        #expect(made == threadCount ?? WorkerThreads.usualCount)
        #expect(watched.last == 100)
        #expect(watched == watched.sorted())
    }

    @Test func noMoreThreadsAreMadeThanThereAreParts() throws {
        var made = 0
        try WorkerThreads.run(2, threadCount: 8, watch: { _ in }) {
            made += 1
            return { _ in }
        }
        #expect(made == 2)
        try WorkerThreads.run(0, watch: { #expect($0 == 0) }) {
            made += 1
            return { _ in }
        }
        #expect(made == 2)
    }

    @Test func theFirstErrorEndsAllThreads() {
        let begun = Locked(0)
        #expect(throws: Failure(number: 3)) {
            try WorkerThreads.run(10_000, threadCount: 1, watch: { _ in }) {
                { part in
                    begun.withLock { $0 += 1 }
                    if part == 3 { throw Failure(number: part) }
                }
            }
        }
        #expect(begun.withLock { $0 } == 4)
    }

    @Test func anErrorOfTheWatchEndsThemAfterTheirPart() {
        let (begun, ended) = (Locked(0), Locked(0))
        #expect(throws: Failure(number: 1)) {
            try WorkerThreads.run(1000, threadCount: 2, watch: { _ in throw Failure(number: 1) }) {
                { _ in
                    begun.withLock { $0 += 1 }
                    usleep(5000)
                    ended.withLock { $0 += 1 }
                }
            }
        }
        #expect(begun.withLock { $0 } == ended.withLock { $0 })
        #expect(begun.withLock { $0 } < 1000)
    }

    @Test(arguments: [10, 1000])
    func mappingOnAllProcessorsKeepsTheOrder(_ count: Int) throws {
        let numbers = Array(0..<count)
        #expect(try numbers.concurrentMap { $0 * 2 } == numbers.map { $0 * 2 })
        #expect(throws: Failure(number: 5)) {
            try numbers.concurrentMap { number in
                if number % 5 == 0, number > 0 { throw Failure(number: number) }
            }
        }
    }
}
