import MigrationKitGRDB

extension DatabaseVerification {
    /// The asynchronous form of ``run()``. The work is done on a thread of its own. Where the task
    /// is cancelled, the verification ends with a `CancellationError`.
    ///
    /// - Returns: The outcome of every check that could be made, in order.
    /// - Throws: What the blocking form throws.
    public func asyncRun() async throws -> [VerificationCheck] {
        try await blocking(self, \.options) { try $0.run() }
    }
}
