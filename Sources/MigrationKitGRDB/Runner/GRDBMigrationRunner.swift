import GRDB
import MigrationKit

/// Brings a database from its current version to the version that the program needs, and back.
///
/// ```swift
/// let runner = try GRDBMigrationRunner(steps: steps)
/// try runner.migrate(in: writer)
/// ```
///
/// Each step runs in its own transaction, in the order of the list. A step that fails is undone
/// before the error is thrown; the steps before it stay. The last step of a run is verified before
/// its commit. With ``MigrationTransaction/allOrNothing`` the whole run is one transaction.
///
/// The applied steps are recorded in GRDB's own table, so a database that a `DatabaseMigrator` has
/// migrated is continued, and the other way round. Several processes may migrate one database at
/// the same moment: every step runs once. For that, open the database with a busy timeout
/// (`Configuration.busyMode`). Otherwise the later process fails with `SQLITE_BUSY` instead of
/// waiting.
///
/// Steps see the raw schema, run with deferred foreign keys, and can't end their transaction or
/// move temporary storage to the disk.
public struct GRDBMigrationRunner: Sendable {
    /// A step of this runner.
    public typealias Step = MigrationStep<Database>

    /// The hooks of a host of this runner.
    public typealias Integration = MigrationHostIntegration<any DatabaseWriter, Database>

    let registry: MigrationRegistry<Database>
    let integration: Integration
    let requiredIndexes: [RequiredIndexSpec]

    /// Indexes that are required even if a hook verifies in the runner's place.
    private(set) var furtherIndexes: [RequiredIndexSpec] = []

    let log: (@Sendable (String) -> Void)?

    /// Creates a runner.
    ///
    /// - Parameters:
    ///   - steps: The steps, oldest first.
    ///   - enforceLexicographicOrder: Whether the identifiers must ascend as text.
    ///   - allowsOutOfOrder: Whether a pending step may be applied to a database that has a later
    ///     one.
    ///   - integration: The hooks of the app.
    ///   - requiredIndexes: The indexes that a fully migrated database must have.
    ///   - log: Receives a line of text for every step.
    /// - Throws: `MigrationKitError.duplicateIdentifiers(_:)` or
    ///   `MigrationKitError.identifiersOutOfOrder(expected:actual:)`.
    public init(
        steps: [Step],
        enforceLexicographicOrder: Bool = true,
        allowsOutOfOrder: Bool = false,
        integration: Integration = .init(),
        requiredIndexes: [RequiredIndexSpec] = [],
        log: (@Sendable (String) -> Void)? = nil
    ) throws {
        self.registry = try MigrationRegistry(
            steps: steps,
            enforceLexicographicOrder: enforceLexicographicOrder,
            allowsOutOfOrder: allowsOutOfOrder
        )
        self.integration = integration
        self.requiredIndexes = requiredIndexes
        self.log = log
    }

    /// The same runner, but it also applies pending steps to a database that has a later one.
    ///
    /// - Returns: The runner.
    public func allowingOutOfOrder() -> GRDBMigrationRunner {
        GRDBMigrationRunner(self, registry: registry.allowingOutOfOrder())
    }

    /// The same runner, but a fully migrated database must have more indexes.
    ///
    /// They are checked in addition to everything else, even if a hook of the host verifies in the
    /// runner's place.
    ///
    /// - Parameter indexes: The indexes.
    /// - Returns: The runner.
    public func requiring(_ indexes: [RequiredIndexSpec]) -> GRDBMigrationRunner {
        var runner = self
        runner.furtherIndexes += indexes
        return runner
    }

    /// The same runner with other steps, and perhaps with other hooks.
    init(
        _ other: GRDBMigrationRunner,
        registry: MigrationRegistry<Database>,
        integration: Integration? = nil
    ) {
        self.registry = registry
        self.integration = integration ?? other.integration
        requiredIndexes = other.requiredIndexes
        furtherIndexes = other.furtherIndexes
        log = other.log
    }

    // MARK: - The Steps

    /// The steps, in order.
    public var steps: [Step] {
        registry.steps
    }

    /// The identifiers of the steps, in order.
    public var migrationIdentifiers: [String] {
        registry.identifiers
    }

    /// Every step's identifier with the file that defines it, in order.
    public var migrationManifest: [(identifier: String, sourceFile: String)] {
        registry.manifest
    }

    /// The identifiers of the steps that can be rolled back, in order.
    public var rollbackCapableMigrationIdentifiers: [String] {
        registry.rollbackCapableIdentifiers
    }

    // MARK: - Questions

    /// Returns for every step whether it is applied.
    ///
    /// - Parameter writer: The database. It is only read.
    /// - Returns: A status for every step of the runner, in order.
    /// - Throws: A `DatabaseError` if the database can't be read.
    public func migrationStatus(in writer: any DatabaseWriter) throws -> [MigrationStatus] {
        let applied = try appliedMigrationIdentifiers(in: writer)
        return registry.steps.map { step in
            MigrationStatus(
                identifier: step.identifier,
                sourceFile: step.sourceFile,
                state: applied.contains(step.identifier) ? .up : .down
            )
        }
    }

    /// The identifiers of the steps that are not applied, in order.
    ///
    /// - Parameter writer: The database. It is only read.
    /// - Throws: A `DatabaseError` if the database can't be read.
    public func pendingMigrationIdentifiers(in writer: any DatabaseWriter) throws -> [String] {
        registry.pending(given: try appliedMigrationIdentifiers(in: writer))
    }

    /// Whether a step is not applied.
    ///
    /// - Parameter writer: The database. It is only read.
    /// - Throws: A `DatabaseError` if the database can't be read.
    public func hasPendingMigrations(in writer: any DatabaseWriter) throws -> Bool {
        try !pendingMigrationIdentifiers(in: writer).isEmpty
    }

    /// The identifiers of all applied steps, including those that this runner doesn't have.
    ///
    /// - Parameter writer: The database. It is only read.
    /// - Throws: A `DatabaseError` if the database can't be read.
    public func appliedMigrationIdentifiers(in writer: any DatabaseWriter) throws -> Set<String> {
        try writer.read(MigrationLedger.read)
    }
}
