import MigrationKitGRDB
import MigrationKitSQLCipher

extension DatabaseSalvage {
    /// The asynchronous form of ``run()``. The work runs on its own thread. If the task is
    /// cancelled, it throws a `CancellationError`, and no new file is left.
    ///
    /// - Returns: What was recovered, and what was lost.
    /// - Throws: What the blocking form throws.
    @discardableResult
    public func asyncRun() async throws -> SalvageReport {
        try await blocking(self, \.options) { try $0.run() }
    }
}
