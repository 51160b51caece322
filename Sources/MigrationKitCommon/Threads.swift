import Dispatch

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
        // A queue of its own: on Linux, tasks run on the threads of the global queues, so blocking
        // those could keep the task that cancels the work from running.
        DispatchQueue(label: "MigrationKit.blocking").async {
            continuation.resume(with: Result { try work() })
        }
    }
}
