import Dispatch

extension KeyRotation {
    /// The asynchronous form of ``run()``. The work is done on a thread of its own. Where the task
    /// is cancelled before the new file has taken the old one's place, the rotation ends with a
    /// `CancellationError`, and database and items are as they were.
    ///
    /// - Returns: What was done.
    /// - Throws: What the blocking form throws.
    @discardableResult
    public func asyncRun() async throws -> KeyRotationReport {
        var rotation = self
        let cancellation = options.cancellation ?? ConversionCancellation()
        rotation.options.cancellation = cancellation
        return try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                // A queue of its own: on Linux tasks run on the threads of the global ones.
                DispatchQueue(label: "MigrationKit.rotation").async { [rotation] in
                    continuation.resume(with: Result { try rotation.run() })
                }
            }
        } onCancel: {
            cancellation.cancel()
        }
    }
}
