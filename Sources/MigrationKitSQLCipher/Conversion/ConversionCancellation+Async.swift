import Dispatch

extension ConversionCancellation {
    /// Runs `body` on a thread of its own, and asks for its end where the task is cancelled.
    func whileRunning<Value: Sendable>(
        _ body: @escaping @Sendable () throws -> Value
    ) async throws -> Value {
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                // A queue of its own: on Linux tasks run on the threads of the global ones.
                DispatchQueue(label: "MigrationKit.conversion").async {
                    continuation.resume(with: Result { try body() })
                }
            }
        } onCancel: {
            cancel()
        }
    }
}
