import MigrationKitGRDB

extension DatabaseConversion {
    /// The asynchronous form of ``run()``. The work runs on its own thread. If the task is
    /// cancelled, the conversion throws a `CancellationError`, and the source stays as it was.
    ///
    /// - Returns: What was done.
    /// - Throws: What the blocking form throws.
    @discardableResult
    public func asyncRun() async throws -> ConversionReport {
        try await blocking(self, \.options) { try $0.run() }
    }
}
