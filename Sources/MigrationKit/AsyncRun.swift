import MigrationKitCommon

/// Runs work that blocks, and cancels it if the task is cancelled. It is the asynchronous form of
/// everything in these libraries that has none of its own.
///
/// Migrating, opening, verifying and copying a database block until they are done, and Swift's tasks
/// share few threads, which must not block. The work runs on a thread of its own:
///
/// ```swift
/// let drift = try await asyncRun { try runner.drift(in: database) }
/// let report = try await asyncRun { try rotation.run() }
/// ```
///
/// If the task is already cancelled, the work doesn't begin. If it is cancelled later, each call that
/// takes a ``Cancellation`` in its options ends as if that were cancelled, whether its options have
/// one or not: the running statement is interrupted, and uncommitted changes are undone. Any other
/// code in the closure completes.
///
/// - Parameter work: The work. Calls that it makes on further threads of its own aren't cancelled.
/// - Returns: What the work returns.
/// - Throws: What the work throws; a `CancellationError`.
@discardableResult
public func asyncRun<Value: Sendable>(
    _ work: @escaping @Sendable () throws -> Value
) async throws -> Value {
    try Task.checkCancellation()
    let cancellation = Cancellation()
    return try await withTaskCancellationHandler {
        try await onOwnThread { try Cancellation.$ofTask.withValue(cancellation) { try work() } }
    } onCancel: {
        cancellation.cancel()
    }
}
