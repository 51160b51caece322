import MigrationKitGRDB

extension DatabaseConversion {
    /// The asynchronous form of ``run()``. The work is done on a thread of its own. Where the task
    /// is cancelled, the conversion ends with a `CancellationError`, and the source is as it was.
    ///
    /// - Returns: What was done.
    /// - Throws: What the blocking form throws.
    @discardableResult
    public func asyncRun() async throws -> ConversionReport {
        try await blocking(self, \.options) { try $0.run() }
    }
}
