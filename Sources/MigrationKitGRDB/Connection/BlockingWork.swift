import Dispatch

/// Runs work on a thread of its own: the threads of Swift's tasks are few, and must not wait.
///
/// A queue of its own, because on Linux tasks run on the threads of the global queues: work that
/// keeps those busy would keep the task from running that is to cancel it.
///
/// - Parameters:
///   - cancel: Asks the work for its end, where the task is cancelled.
///   - work: The work, which may block.
/// - Returns: What the work returns.
/// - Throws: What the work throws.
package func blocking<Value: Sendable>(
    cancellingBy cancel: @escaping @Sendable () -> Void = {},
    _ work: @escaping @Sendable () throws -> Value
) async throws -> Value {
    try await withTaskCancellationHandler {
        try await withCheckedThrowingContinuation { continuation in
            DispatchQueue(label: "MigrationKit.blocking").async {
                continuation.resume(with: Result { try work() })
            }
        }
    } onCancel: {
        cancel()
    }
}
