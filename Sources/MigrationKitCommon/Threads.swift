import Dispatch
import Foundation

/// A thread that does one work after the other, in the order in which it gets them.
///
/// Every thread of the library is one of these. None is of the global queues: all of those may be
/// blocked, perhaps waiting for this; and on Linux, Swift's tasks run on them, such as the one that
/// cancels the work.
///
/// When a work is done, what it held is gone before the next one begins. Who waits for a work must wait
/// for that, too: a program may end then, and SQLCipher frees all memory at its end, beside a thread that
/// would still be closing a connection.
package struct OwnThread: Sendable {
    private let queue = DispatchQueue(label: "MigrationKit")

    package init() {}

    /// Gives the thread work, which may block.
    package func run(_ work: @escaping @Sendable () -> Void) {
        queue.async(execute: work)
    }

    /// Returns when everything is done.
    package func finish() {
        queue.sync {}
    }
}

/// Runs work on a thread of its own while the task waits: Swift's tasks share few threads, which
/// must not block.
///
/// - Parameter work: The work. It may block, and completes even if the task is cancelled.
/// - Returns: What the work returns.
/// - Throws: What the work throws.
package func onOwnThread<Value: Sendable>(
    _ work: @escaping @Sendable () throws -> Value
) async throws -> Value {
    try await withCheckedThrowingContinuation { continuation in
        let thread = OwnThread()
        let outcome = Locked<Result<Value, any Error>?>(nil)
        thread.run {
            let result = Result(catching: work)
            outcome.withLock { $0 = result }
        }
        thread.run {
            guard let result = outcome.withLock({ $0.take() }) else { return }
            continuation.resume(with: result)
        }
    }
}

// MARK: - One Beside Another

/// Work on another thread, which goes on while the caller does something else.
package final class WorkAlongside<Value: Sendable>: Sendable {
    private let thread = OwnThread()
    private let end = DispatchGroup()
    private let outcome = Locked<Result<Value, any Error>?>(nil)

    /// Begins the work.
    package init(_ work: @escaping @Sendable () throws -> Value) {
        end.enter()
        thread.run { [self] in
            let result = Result(catching: work)
            outcome.withLock { $0 = result }
            end.leave()
        }
    }

    /// Waits for the end of the work, but not longer than a limit.
    ///
    /// - Returns: The result; `nil` if the work goes on.
    package func result(within limit: Duration) -> Result<Value, any Error>? {
        guard end.wait(timeout: .now() + limit / .seconds(1)) == .success else { return nil }
        thread.finish()
        return outcome.withLock { $0 }
    }

    /// Waits for the end of the work.
    ///
    /// - Parameter sign: Called ten times a second meanwhile.
    package func result(whileWaiting sign: () -> Void = {}) -> Result<Value, any Error> {
        while true {
            if let result = result(within: .milliseconds(100)) { return result }
            sign()
        }
    }
}

/// Runs two functions at the same time, the second one on another thread, and waits for both.
///
/// - Returns: The results of both.
package func atOnce<First, Second: Sendable>(
    _ first: () throws -> First,
    _ second: @escaping @Sendable () throws -> Second
) -> (first: Result<First, any Error>, second: Result<Second, any Error>) {
    let other = WorkAlongside(second)
    let result = Result(catching: first)
    return (result, other.result())
}

// MARK: - Parts

/// Threads that share work: each takes the next part when it has finished one.
package final class WorkerThreads: Sendable {
    private struct State {
        var next = 0
        var done = 0
        var isStopped = false
        var failure: (any Error)?
    }

    private let partCount: Int
    private let state = Locked(State())

    private init(partCount: Int) {
        self.partCount = partCount
    }

    /// One for each processor, and not too many: the disk limits what they can do.
    package static var usualCount: Int {
        min(max(ProcessInfo.processInfo.activeProcessorCount, 2), 4)
    }

    /// Does all parts, and returns when every thread has ended.
    ///
    /// - Parameters:
    ///   - partCount: How many parts there are.
    ///   - threadCount: How many threads there are; `nil` for as many as a disk can serve.
    ///   - watch: Called on the caller's thread, many times a second, with the number of parts that are
    ///     done, once there is one. If it throws, the threads end after the part that they are at.
    ///   - make: Makes the work of one thread, on the caller's thread. It gets the number of a part,
    ///     from 0.
    /// - Throws: The first error of a thread; what the closures throw.
    package static func run(
        _ partCount: Int,
        threadCount: Int? = nil,
        watch: (_ done: Int) throws -> Void,
        make: () throws -> (_ part: Int) throws -> Void
    ) throws {
        let threads = WorkerThreads(partCount: partCount)
        let works = try (0..<min(threadCount ?? usualCount, partCount)).map { _ in
            Work(run: try make())
        }
        let running = works.map { work in WorkAlongside { threads.run(work) } }
        do {
            for thread in running {
                while thread.result(within: .milliseconds(20)) == nil {
                    let done = threads.state.withLock(\.done)
                    if done > 0 { try watch(done) }
                }
            }
        } catch {
            threads.state.withLock { $0.isStopped = true }
            for thread in running { _ = thread.result() }
            throw error
        }
        if let failure = threads.state.withLock(\.failure) { throw failure }
        try watch(partCount)
    }

    /// The work of one thread.
    private struct Work: @unchecked Sendable {
        // `@unchecked`: it was made for this thread, which alone calls it.
        let run: (Int) throws -> Void
    }

    private func run(_ work: Work) {
        while let part = nextPart() {
            do {
                try work.run(part)
                state.withLock { $0.done += 1 }
            } catch {
                state.withLock {
                    $0.isStopped = true
                    $0.failure = $0.failure ?? error
                }
            }
        }
    }

    private func nextPart() -> Int? {
        state.withLock { state in
            guard !state.isStopped, state.next < partCount else { return nil }
            defer { state.next += 1 }
            return state.next
        }
    }
}

extension Array where Element: Sendable {
    /// Works like `map`, but on all processors if there are many elements.
    ///
    /// - Throws: The error of `transform` for the first element that has one.
    package func concurrentMap<Value: Sendable>(
        _ transform: @escaping @Sendable (Element) throws -> Value
    ) throws -> [Value] {
        let few = 256
        guard count > few else { return try map(transform) }
        let threadCount = ProcessInfo.processInfo.activeProcessorCount
        let threads = (0..<threadCount).map { number in
            let part = self[count * number / threadCount..<count * (number + 1) / threadCount]
            return WorkAlongside { try part.map(transform) }
        }
        // Every thread has ended before an error is thrown.
        return try threads.map { $0.result() }.flatMap { try $0.get() }
    }
}
