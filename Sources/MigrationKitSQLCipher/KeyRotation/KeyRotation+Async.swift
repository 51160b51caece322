import MigrationKitGRDB

extension KeyRotation {
    /// The asynchronous form of ``run()``. The work is done on a thread of its own. Where the task
    /// is cancelled before the new file has taken the old one's place, the rotation ends with a
    /// `CancellationError`, and database and items are as they were.
    ///
    /// - Returns: What was done.
    /// - Throws: What the blocking form throws.
    @discardableResult
    public func asyncRun() async throws -> KeyRotationReport {
        try await blocking(self, \.options) { try $0.run() }
    }
}
