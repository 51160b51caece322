import Dispatch
import Foundation
import MigrationKitCommon
import Synchronization

/// Threads that share work: each takes the next part when it has finished one.
package final class WorkerThreads: Sendable {
    private let partCount: Int
    private let next = Atomic(0)
    private let done = Atomic(0)
    private let isStopped = Atomic(false)
    private let failure = Locked<(any Error)?>(nil)

    private init(partCount: Int) {
        self.partCount = partCount
    }

    /// One for each processor, and not too many: the disk limits what they can do.
    private static var usualCount: Int {
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
        let end = DispatchGroup()
        for work in works {
            // Separate threads: those of the global queues may all be blocked.
            DispatchQueue(label: "MigrationKit.workers").async(group: end) { threads.run(work) }
        }
        do {
            while end.wait(timeout: .now() + .milliseconds(20)) == .timedOut {
                let done = threads.done.load(ordering: .relaxed)
                if done > 0 { try watch(done) }
            }
        } catch {
            threads.isStopped.store(true, ordering: .relaxed)
            end.wait()
            throw error
        }
        if let failure = threads.failure.withLock({ $0 }) { throw failure }
        try watch(partCount)
    }

    /// The work of one thread.
    private struct Work: @unchecked Sendable {
        // `@unchecked`: it was made for this thread, which alone calls it.
        let run: (Int) throws -> Void
    }

    private func run(_ work: Work) {
        while !isStopped.load(ordering: .relaxed) {
            let part = next.add(1, ordering: .relaxed).oldValue
            guard part < partCount else { return }
            do {
                try work.run(part)
                done.add(1, ordering: .relaxed)
            } catch {
                isStopped.store(true, ordering: .relaxed)
                failure.withLock { $0 = $0 ?? error }
            }
        }
    }
}
