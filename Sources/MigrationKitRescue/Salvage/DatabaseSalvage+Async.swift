import MigrationKitGRDB
import MigrationKitSQLCipher

extension DatabaseSalvage {
    /// The asynchronous form of ``run()``. The work is done on a thread of its own. Where the task
    /// is cancelled, it ends with a `CancellationError`, and nothing is left of the new file.
    ///
    /// - Returns: What was brought back, and what not.
    /// - Throws: What the blocking form throws.
    @discardableResult
    public func asyncRun() async throws -> SalvageReport {
        try await blocking(self, \.options) { try $0.run() }
    }
}
