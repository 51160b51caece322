import Dispatch
import MigrationKit

/// Runs work on its own thread: Swift's tasks share few threads, which must not block.
///
/// It has its own queue. On Linux, tasks run on the threads of the global queues, so blocking those
/// could keep the task that cancels the work from running.
///
/// - Parameters:
///   - cancel: Asks the work to end if the task is cancelled.
///   - work: The work. It may block.
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

/// Runs a long call on a thread of its own, and cancels it if the task is cancelled.
///
/// - Parameters:
///   - call: The call with its options. If they have no cancellation, it gets one.
///   - options: Where the options are.
///   - work: Makes the call, which may block.
package func blocking<Call: Sendable, Options: OperationOptions, Value: Sendable>(
    _ call: Call,
    _ options: WritableKeyPath<Call, Options>,
    _ work: @escaping @Sendable (Call) throws -> Value
) async throws -> Value {
    var call = call
    let cancellation = call[keyPath: options].cancellation ?? Cancellation()
    call[keyPath: options].cancellation = cancellation
    return try await blocking(cancellingBy: cancellation.cancel) { [call] in try work(call) }
}
