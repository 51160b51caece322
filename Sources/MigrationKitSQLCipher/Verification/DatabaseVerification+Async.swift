import Dispatch
import MigrationKitGRDB

extension DatabaseVerification {
    /// The asynchronous form of ``run()``. The work is done on a thread of its own. Where the task
    /// is cancelled, the verification ends with a `CancellationError`.
    ///
    /// - Returns: The outcome of every check that could be made, in order.
    /// - Throws: What the blocking form throws.
    public func asyncRun() async throws -> [VerificationCheck] {
        var verification = self
        let cancellation = options.cancellation ?? MigrationCancellation()
        verification.options.cancellation = cancellation
        return try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                // A queue of its own: on Linux tasks run on the threads of the global ones.
                DispatchQueue(label: "MigrationKit.verification").async { [verification] in
                    continuation.resume(with: Result { try verification.run() })
                }
            }
        } onCancel: {
            cancellation.cancel()
        }
    }
}
