import MigrationKitGRDB

extension DatabaseVerification {
    /// The asynchronous form of ``run()``. The work runs on its own thread. If the task is
    /// cancelled, the verification throws a `CancellationError`.
    ///
    /// - Returns: The outcome of every check that could run, in order.
    /// - Throws: What the blocking form throws.
    public func asyncRun() async throws -> [VerificationCheck] {
        try await blocking(self, \.options) { try $0.run() }
    }
}
