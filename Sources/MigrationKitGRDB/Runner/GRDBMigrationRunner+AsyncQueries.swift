import GRDB
import MigrationKit

/// The asynchronous forms of the queries. They complete even if the task is cancelled: they read
/// two small tables, except ``asyncHasSchemaChanges(in:)``, which runs the steps on a new
/// database.
extension GRDBMigrationRunner {
    /// The asynchronous form of `migrationStatus(in:)`.
    ///
    /// - Parameter reader: The database.
    /// - Returns: A status for every step, in order.
    /// - Throws: What the blocking form throws; a `CancellationError`.
    public func asyncMigrationStatus(
        in reader: any DatabaseReader
    ) async throws -> [MigrationStatus] {
        try await querying { try migrationStatus(in: reader) }
    }

    /// The asynchronous form of `pendingMigrationIdentifiers(in:)`.
    ///
    /// - Parameter reader: The database.
    /// - Returns: The identifiers of the steps that are not applied, in order.
    /// - Throws: What the blocking form throws; a `CancellationError`.
    public func asyncPendingMigrationIdentifiers(
        in reader: any DatabaseReader
    ) async throws -> [String] {
        try await querying { try pendingMigrationIdentifiers(in: reader) }
    }

    /// The asynchronous form of `hasPendingMigrations(in:)`.
    ///
    /// - Parameter reader: The database.
    /// - Returns: Whether there is a step that is not applied.
    /// - Throws: What the blocking form throws; a `CancellationError`.
    public func asyncHasPendingMigrations(in reader: any DatabaseReader) async throws -> Bool {
        try await querying { try hasPendingMigrations(in: reader) }
    }

    /// The asynchronous form of `appliedMigrationIdentifiers(in:)`.
    ///
    /// - Parameter reader: The database.
    /// - Returns: The identifiers of all applied steps.
    /// - Throws: What the blocking form throws; a `CancellationError`.
    public func asyncAppliedMigrationIdentifiers(
        in reader: any DatabaseReader
    ) async throws -> Set<String> {
        try await querying { try appliedMigrationIdentifiers(in: reader) }
    }

    /// The asynchronous form of `appliedMigrations(in:)`.
    ///
    /// - Parameter reader: The database.
    /// - Returns: The identifiers of the steps of this runner that are applied, in order.
    /// - Throws: What the blocking form throws; a `CancellationError`.
    public func asyncAppliedMigrations(in reader: any DatabaseReader) async throws -> [String] {
        try await querying { try appliedMigrations(in: reader) }
    }

    /// The asynchronous form of `completedMigrationIdentifiers(in:)`.
    ///
    /// - Parameter reader: The database.
    /// - Returns: The identifiers of the steps that are applied together with all before them.
    /// - Throws: What the blocking form throws; a `CancellationError`.
    public func asyncCompletedMigrationIdentifiers(
        in reader: any DatabaseReader
    ) async throws -> [String] {
        try await querying { try completedMigrationIdentifiers(in: reader) }
    }

    /// The asynchronous form of `hasCompletedMigrations(in:)`.
    ///
    /// - Parameter reader: The database.
    /// - Returns: Whether every step is applied.
    /// - Throws: What the blocking form throws; a `CancellationError`.
    public func asyncHasCompletedMigrations(in reader: any DatabaseReader) async throws -> Bool {
        try await querying { try hasCompletedMigrations(in: reader) }
    }

    /// The asynchronous form of `hasBeenSuperseded(in:)`.
    ///
    /// - Parameter reader: The database.
    /// - Returns: Whether the ledger has steps that the runner doesn't have.
    /// - Throws: What the blocking form throws; a `CancellationError`.
    public func asyncHasBeenSuperseded(in reader: any DatabaseReader) async throws -> Bool {
        try await querying { try hasBeenSuperseded(in: reader) }
    }

    /// The asynchronous form of `hasSchemaChanges(in:)`.
    ///
    /// - Parameter reader: The database.
    /// - Returns: Whether an applied step was changed.
    /// - Throws: What the blocking form throws; a `CancellationError`.
    public func asyncHasSchemaChanges(in reader: any DatabaseReader) async throws -> Bool {
        try await querying { try hasSchemaChanges(in: reader) }
    }

    /// The asynchronous form of `migrationRecords(in:)`.
    ///
    /// - Parameter reader: The database.
    /// - Returns: A record for every applied step that the journal knows.
    /// - Throws: What the blocking form throws; a `CancellationError`.
    public func asyncMigrationRecords(
        in reader: any DatabaseReader
    ) async throws -> [String: MigrationRecord] {
        try await querying { try migrationRecords(in: reader) }
    }

    /// The asynchronous form of `changedMigrationIdentifiers(in:)`.
    ///
    /// - Parameter reader: The database.
    /// - Returns: The identifiers of the steps that were changed after they were applied.
    /// - Throws: What the blocking form throws; a `CancellationError`.
    public func asyncChangedMigrationIdentifiers(
        in reader: any DatabaseReader
    ) async throws -> [String] {
        try await querying { try changedMigrationIdentifiers(in: reader) }
    }

    /// The asynchronous form of `missingMigrationIdentifiers(in:)`.
    ///
    /// - Parameter reader: The database.
    /// - Returns: The identifiers of the applied steps that are missing from the runner.
    /// - Throws: What the blocking form throws; a `CancellationError`.
    public func asyncMissingMigrationIdentifiers(
        in reader: any DatabaseReader
    ) async throws -> [String] {
        try await querying { try missingMigrationIdentifiers(in: reader) }
    }

    /// The asynchronous form of `overview(of:)`.
    ///
    /// - Parameter reader: The database.
    /// - Returns: The state of every migration.
    /// - Throws: What the blocking form throws; a `CancellationError`.
    public func asyncOverview(of reader: any DatabaseReader) async throws -> MigrationOverview {
        try await querying { try overview(of: reader) }
    }

    /// The asynchronous form of `history(in:)`.
    ///
    /// - Parameter reader: The database.
    /// - Returns: An entry for every step that was applied, rolled back, recorded or repaired.
    /// - Throws: What the blocking form throws; a `CancellationError`.
    public static func asyncHistory(
        in reader: any DatabaseReader
    ) async throws -> [MigrationHistoryEntry] {
        try Task.checkCancellation()
        return try await MigrationKitGRDB.blocking { try history(in: reader) }
    }

    /// The asynchronous form of ``plannedSteps(in:upTo:steps:transaction:)``.
    ///
    /// - Parameters:
    ///   - writer: The database. It is only read.
    ///   - targetIdentifier: The last step to apply; `nil` for all.
    ///   - count: How many steps at most; `nil` for all.
    ///   - transaction: Whether the run commits its steps one by one or together.
    /// - Returns: The pending steps.
    /// - Throws: What the blocking form throws; a `CancellationError`.
    public func asyncPlannedSteps(
        in writer: any DatabaseWriter,
        upTo targetIdentifier: String? = nil,
        steps count: Int? = nil,
        transaction: MigrationTransaction = .perStep
    ) async throws -> [Step] {
        try await querying {
            try plannedSteps(
                in: writer,
                upTo: targetIdentifier,
                steps: count,
                transaction: transaction
            )
        }
    }

    #if DEBUG || ERASABLE
        /// The asynchronous form of ``eraseDatabaseOnSchemaChange(in:)``. **This destroys all
        /// rows.**
        ///
        /// - Parameter writer: The database, opened for writing.
        /// - Returns: Whether the database was erased.
        /// - Throws: What the blocking form throws; a `CancellationError`.
        @discardableResult
        public func asyncEraseDatabaseOnSchemaChange(
            in writer: any DatabaseWriter
        ) async throws -> Bool {
            try await querying { try eraseDatabaseOnSchemaChange(in: writer) }
        }
    #endif

    private func querying<Value: Sendable>(
        _ query: @escaping @Sendable () throws -> Value
    ) async throws -> Value {
        try Task.checkCancellation()
        return try await blocking(query)
    }
}
