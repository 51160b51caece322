import Dispatch
import GRDB
import MigrationKit

/// The asynchronous forms of everything that blocks.
///
/// They have their own names, like GRDB's `asyncMigrate`, so that existing code that calls the
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
        try await blocking(options, \.self) { try migrate(in: writer, options: $0) }
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
        try await blocking(options, \.self) {
            try migrate(in: writer, upTo: targetIdentifier, options: $0)
        }
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
        try await blocking(options, \.self) { try migrate(in: writer, steps: count, options: $0) }
    }

    /// The asynchronous form of ``rollbackMigrations(in:downTo:options:)``.
    ///
    /// - Parameters:
    ///   - writer: The database, opened for writing.
    ///   - targetIdentifier: The step to roll back to.
    ///   - options: How the run works.
    /// - Returns: What was rolled back.
    /// - Throws: What the blocking form throws; a `CancellationError`.
    @discardableResult
    public func asyncRollbackMigrations(
        in writer: any DatabaseWriter,
        downTo targetIdentifier: String,
        options: MigrationOptions = MigrationOptions()
    ) async throws -> MigrationReport {
        try await blocking(options, \.self) {
            try rollbackMigrations(in: writer, downTo: targetIdentifier, options: $0)
        }
    }

    /// The asynchronous form of ``rollbackMigrations(in:steps:options:)``.
    ///
    /// - Parameters:
    ///   - writer: The database, opened for writing.
    ///   - count: How many steps, from 0 upwards.
    ///   - options: How the run works.
    /// - Returns: What was rolled back.
    /// - Throws: What the blocking form throws; a `CancellationError`.
    @discardableResult
    public func asyncRollbackMigrations(
        in writer: any DatabaseWriter,
        steps count: Int = 1,
        options: MigrationOptions = MigrationOptions()
    ) async throws -> MigrationReport {
        try await blocking(options, \.self) {
            try rollbackMigrations(in: writer, steps: count, options: $0)
        }
    }

    /// The asynchronous form of ``rollbackMigration(identifier:in:options:)``.
    ///
    /// - Parameters:
    ///   - identifier: The step.
    ///   - writer: The database, opened for writing.
    ///   - options: How the run works.
    /// - Returns: What was rolled back.
    /// - Throws: What the blocking form throws; a `CancellationError`.
    @discardableResult
    public func asyncRollbackMigration(
        identifier: String,
        in writer: any DatabaseWriter,
        options: MigrationOptions = MigrationOptions()
    ) async throws -> MigrationReport {
        try await blocking(options, \.self) {
            try rollbackMigration(identifier: identifier, in: writer, options: $0)
        }
    }

    /// The asynchronous form of ``dryRun(in:upTo:steps:options:)``.
    ///
    /// - Parameters:
    ///   - writer: The database, opened for writing.
    ///   - targetIdentifier: The last step to apply; `nil` for all.
    ///   - count: How many steps at most; `nil` for all.
    ///   - options: How the run works.
    /// - Returns: What a run would do.
    /// - Throws: What the blocking form throws; a `CancellationError`.
    public func asyncDryRun(
        in writer: any DatabaseWriter,
        upTo targetIdentifier: String? = nil,
        steps count: Int? = nil,
        options: MigrationOptions = MigrationOptions()
    ) async throws -> MigrationPreview {
        try await blocking(options, \.self) {
            try dryRun(in: writer, upTo: targetIdentifier, steps: count, options: $0)
        }
    }

    /// The asynchronous form of ``baseline(in:upTo:options:)``.
    ///
    /// - Parameters:
    ///   - writer: The database, opened for writing.
    ///   - identifier: The last of the steps whose result the database already has.
    ///   - options: How long to wait for another process that is migrating the database.
    /// - Returns: The identifiers that were recorded, in order.
    /// - Throws: What the blocking form throws; a `CancellationError`.
    @discardableResult
    public func asyncBaseline(
        in writer: any DatabaseWriter,
        upTo identifier: String,
        options: MigrationOptions = MigrationOptions()
    ) async throws -> [String] {
        try await blocking(options, \.self) {
            try baseline(in: writer, upTo: identifier, options: $0)
        }
    }

    /// The asynchronous form of ``baseline(in:options:choosing:)``.
    ///
    /// - Parameters:
    ///   - writer: The database, opened for writing.
    ///   - options: How long to wait for another process that is migrating the database.
    ///   - choose: Returns the identifiers of the steps.
    /// - Returns: The identifiers that were recorded, in order.
    /// - Throws: What the blocking form throws; a `CancellationError`.
    @discardableResult
    public func asyncBaseline(
        in writer: any DatabaseWriter,
        options: MigrationOptions = MigrationOptions(),
        choosing choose: @escaping @Sendable (Database) throws -> [String]
    ) async throws -> [String] {
        try await blocking(options, \.self) {
            try baseline(in: writer, options: $0, choosing: choose)
        }
    }

    /// The asynchronous form of ``redoMigrations(in:steps:options:)``.
    ///
    /// - Parameters:
    ///   - writer: The database, opened for writing.
    ///   - count: How many steps, from 0 upwards.
    ///   - options: How the runs work.
    /// - Returns: What was rolled back, and what was applied again.
    /// - Throws: What the blocking form throws; a `CancellationError`.
    @discardableResult
    public func asyncRedoMigrations(
        in writer: any DatabaseWriter,
        steps count: Int = 1,
        options: MigrationOptions = MigrationOptions()
    ) async throws -> (undone: MigrationReport, redone: MigrationReport) {
        try await blocking(options, \.self) {
            try redoMigrations(in: writer, steps: count, options: $0)
        }
    }

    /// The asynchronous form of ``repairMigrations(_:in:options:)``.
    ///
    /// - Parameters:
    ///   - identifiers: The steps.
    ///   - writer: The database, opened for writing.
    ///   - options: How long to wait for another process that is migrating the database.
    /// - Returns: The identifiers of the steps whose text differed, in order.
    /// - Throws: What the blocking form throws; a `CancellationError`.
    @discardableResult
    public func asyncRepairMigrations(
        _ identifiers: [String],
        in writer: any DatabaseWriter,
        options: MigrationOptions = MigrationOptions()
    ) async throws -> [String] {
        try await blocking(options, \.self) {
            try repairMigrations(identifiers, in: writer, options: $0)
        }
    }

    /// The asynchronous form of ``runPostMigrationChecks(in:)``.
    ///
    /// - Parameter writer: The database. The runner's own checks only read it.
    /// - Throws: What the blocking form throws.
    public func asyncRunPostMigrationChecks(in writer: any DatabaseWriter) async throws {
        try await blocking(MigrationOptions(), \.self) {
            try runPostMigrationChecks(in: writer, options: $0)
        }
    }

    /// The asynchronous form of ``verificationChecks(in:additionalIndexes:isFull:options:)``.
    ///
    /// - Parameters:
    ///   - writer: The database. The runner's own checks only read it.
    ///   - additionalIndexes: Indexes that are required in addition to the runner's own.
    ///   - isFull: Whether to run the further checks.
    ///   - options: An observer and a cancellation.
    /// - Returns: The outcome of every check, in the order in which they ran.
    /// - Throws: What the blocking form throws.
    public func asyncVerificationChecks(
        in writer: any DatabaseWriter,
        additionalIndexes: [RequiredIndexSpec] = [],
        isFull: Bool = false,
        options: VerificationOptions = VerificationOptions()
    ) async throws -> [VerificationCheck] {
        try await blocking(options, \.self) {
            try verificationChecks(
                in: writer,
                additionalIndexes: additionalIndexes,
                isFull: isFull,
                options: $0
            )
        }
    }

    /// The asynchronous form of ``drift(in:ignoring:configuration:options:)``.
    ///
    /// - Parameters:
    ///   - writer: The database. It is only read.
    ///   - names: Tables and views that are left out.
    ///   - configuration: The functions and collations that the steps use, for a new database in
    ///     memory; `nil` for the writer's configuration.
    ///   - options: The cancellation.
    /// - Returns: What differs, or why that can't be determined.
    /// - Throws: What the blocking form throws.
    public func asyncDrift(
        in writer: any DatabaseWriter,
        ignoring names: [String] = [],
        configuration: Configuration? = nil,
        options: VerificationOptions = VerificationOptions()
    ) async throws -> SchemaDrift {
        try await blocking(options, \.self) {
            try drift(in: writer, ignoring: names, configuration: configuration, options: $0)
        }
    }
}

extension GRDBMigrationVerifier {
    /// The asynchronous form of ``runPostMigrationChecks(in:requiredIndexes:)``. It completes even
    /// if the task is cancelled; `GRDBMigrationRunner.asyncRunPostMigrationChecks(in:)` can be
    /// interrupted.
    ///
    /// - Parameters:
    ///   - writer: The database. It is only read.
    ///   - requiredIndexes: The indexes that must exist.
    /// - Throws: What the blocking form throws; a `CancellationError`.
    public static func asyncRunPostMigrationChecks(
        in writer: any DatabaseWriter,
        requiredIndexes: [RequiredIndexSpec] = []
    ) async throws {
        try Task.checkCancellation()
        try await blocking {
            try runPostMigrationChecks(in: writer, requiredIndexes: requiredIndexes)
        }
    }
}

extension MigrationBackup {
    /// The asynchronous form of ``copy(_:to:)``. It completes even if the task is cancelled.
    ///
    /// - Parameters:
    ///   - source: The database. It is only read.
    ///   - path: The new file. An existing file is never replaced.
    /// - Throws: What the blocking form throws; a `CancellationError`.
    public static func asyncCopy(_ source: any DatabaseReader, to path: String) async throws {
        try Task.checkCancellation()
        try await blocking { try copy(source, to: path) }
    }
}

extension GRDBSchemaSnapshotProvider {
    /// The asynchronous form of ``generateCanonicalSnapshot()``. It completes even if the task is
    /// cancelled.
    ///
    /// - Returns: SQL that creates the schema; empty if there is none.
    /// - Throws: What the blocking form throws; a `CancellationError`.
    public func asyncGenerateCanonicalSnapshot() async throws -> String {
        try Task.checkCancellation()
        return try await blocking { try generateCanonicalSnapshot() }
    }
}
