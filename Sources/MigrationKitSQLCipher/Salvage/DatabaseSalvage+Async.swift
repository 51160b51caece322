import Dispatch

extension DatabaseSalvage {
    /// The asynchronous form of ``run()``. The work is done on a thread of its own. Where the task
    /// is cancelled, it ends with a `CancellationError`, and nothing is left of the new file.
    ///
    /// - Returns: What was brought back, and what not.
    /// - Throws: What the blocking form throws.
    @discardableResult
    public func asyncRun() async throws -> SalvageReport {
        var options = options
        let cancellation = options.cancellation ?? ConversionCancellation()
        options.cancellation = cancellation
        let salvage = DatabaseSalvage(
            path,
            form: form,
            into: outputPath,
            as: target,
            options: options
        )
        return try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                // A queue of its own: on Linux tasks run on the threads of the global ones.
                DispatchQueue(label: "MigrationKit.salvage").async {
                    continuation.resume(with: Result { try salvage.run() })
                }
            }
        } onCancel: {
            cancellation.cancel()
        }
    }
}
