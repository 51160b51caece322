import MigrationKitGRDB

extension KeyRotation {
    /// The asynchronous form of ``run()``. The work runs on its own thread. If the task is
    /// cancelled before the new file has replaced the old one, the rotation throws a
    /// `CancellationError`, and database and items stay as they were.
    ///
    /// - Returns: What was done.
    /// - Throws: What the blocking form throws.
    @discardableResult
    public func asyncRun() async throws -> KeyRotationReport {
        try await blocking(self, \.options) { try $0.run() }
    }
}
