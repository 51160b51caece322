import GRDB
import MigrationKit

/// The asynchronous forms of `migrate`. Everything else that blocks runs in `asyncRun`.
///
/// They have their own name, like GRDB's `asyncMigrate`, so that existing code that calls the
/// blocking forms from an asynchronous function keeps its meaning. The work runs on its own thread.
/// If the task is cancelled, the running statement is interrupted, its transaction is undone, and a
/// `CancellationError` is thrown.
extension GRDBMigrationRunner {
    /// The asynchronous form of ``migrate(in:options:)``.
    ///
    /// - Parameters:
    ///   - writer: The database, opened for writing.
    ///   - options: How the run works.
    /// - Returns: What was applied.
    /// - Throws: What the blocking form throws; a `CancellationError`.
    @discardableResult
    public func asyncMigrate(
        in writer: any DatabaseWriter,
        options: MigrationOptions = MigrationOptions()
    ) async throws -> MigrationReport {
        try await asyncRun { try migrate(in: writer, options: options) }
    }

    /// The asynchronous form of ``migrate(in:upTo:options:)``.
    ///
    /// - Parameters:
    ///   - writer: The database, opened for writing.
    ///   - targetIdentifier: The last step to apply.
    ///   - options: How the run works.
    /// - Returns: What was applied.
    /// - Throws: What the blocking form throws; a `CancellationError`.
    @discardableResult
    public func asyncMigrate(
        in writer: any DatabaseWriter,
        upTo targetIdentifier: String,
        options: MigrationOptions = MigrationOptions()
    ) async throws -> MigrationReport {
        try await asyncRun { try migrate(in: writer, upTo: targetIdentifier, options: options) }
    }

    /// The asynchronous form of ``migrate(in:steps:options:)``.
    ///
    /// - Parameters:
    ///   - writer: The database, opened for writing.
    ///   - count: How many steps at most, from 0 upwards.
    ///   - options: How the run works.
    /// - Returns: What was applied.
    /// - Throws: What the blocking form throws; a `CancellationError`.
    @discardableResult
    public func asyncMigrate(
        in writer: any DatabaseWriter,
        steps count: Int,
        options: MigrationOptions = MigrationOptions()
    ) async throws -> MigrationReport {
        try await asyncRun { try migrate(in: writer, steps: count, options: options) }
    }
}
