import Foundation
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
/// move temporary storage.
public struct GRDBMigrationRunner: Sendable {
    /// A step of this runner.
    public typealias Step = MigrationStep<Database>

    /// The hooks of a host of this runner.
    public typealias Integration = MigrationHostIntegration<any DatabaseWriter, Database>

    package let registry: MigrationRegistry<Database>
    package let integration: Integration
    let requiredIndexes: [RequiredIndexSpec]

    /// Indexes that are required even if a hook verifies in the runner's place.
    private(set) var furtherIndexes: [RequiredIndexSpec] = []

    /// What must hold in a fully migrated database.
    package private(set) var checks: [CheckQuery] = []

    let log: (@Sendable (String) -> Void)?

    /// The program's version, as the journal keeps it.
    let appVersion: String?

    /// Creates a runner.
    ///
    /// - Parameters:
    ///   - steps: The steps, oldest first.
    ///   - enforceLexicographicOrder: Whether the identifiers must ascend as text.
    ///   - allowsOutOfOrder: Whether a pending step may be applied to a database that has a later
    ///     one.
    ///   - integration: The hooks of the app.
    ///   - requiredIndexes: The indexes that a fully migrated database must have.
    ///   - appVersion: The version of the program, such as `2.4.1`. It is kept with what is done to the
    ///     database, for older programs to name.
    ///   - log: Receives a line of text for every step.
    /// - Throws: `MigrationKitError.duplicateIdentifiers(_:)` or
    ///   `MigrationKitError.identifiersOutOfOrder(expected:actual:)`.
    public init(
        steps: [Step],
        enforceLexicographicOrder: Bool = true,
        allowsOutOfOrder: Bool = false,
        integration: Integration = .init(),
        requiredIndexes: [RequiredIndexSpec] = [],
        appVersion: String? = nil,
        log: (@Sendable (String) -> Void)? = nil
    ) throws {
        self.registry = try MigrationRegistry(
            steps: steps,
            enforceLexicographicOrder: enforceLexicographicOrder,
            allowsOutOfOrder: allowsOutOfOrder
        )
        self.integration = integration
        self.requiredIndexes = requiredIndexes
        self.appVersion = appVersion
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

    /// The same runner, but it also runs checks on a fully migrated database: before the last commit
    /// of a run, and in a verification.
    ///
    /// A run that violates one undoes its last step, or all of them with
    /// ``MigrationTransaction/allOrNothing``.
    ///
    /// - Parameter checks: The checks.
    /// - Returns: The runner.
    public func checking(_ checks: [CheckQuery]) -> GRDBMigrationRunner {
        var runner = self
        runner.checks += checks
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
        checks = other.checks
        appVersion = other.appVersion
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
}

// MARK: - Migrate

extension GRDBMigrationRunner {
    /// Applies every pending step, then verifies the database.
    ///
    /// The steps run in order, each in its own transaction unless ``MigrationOptions/transaction``
    /// says otherwise. Foreign keys are checked after each step that asks for it. Before the last
    /// commit, the schema is read again and the database is verified. At the end, a new connection
    /// with the writer's configuration reads the schema once more. Whatever fails is undone before
    /// the error is thrown. A run with nothing to do changes nothing.
    ///
    /// - Parameters:
    ///   - writer: The database, opened for writing. Its journal mode is left alone.
    ///   - options: How the run works.
    /// - Returns: What was applied, in order, with the seconds that each step took.
    /// - Throws: `MigrationKitError.databaseIsNewer(unknown:steps:)` if the ledger names steps that the
    ///   runner doesn't know, unless older versions work with them and nothing is pending;
    ///   `MigrationKitError.pendingBeforeApplied(pending:latestApplied:)`
    ///   unless the runner allows it; `MigrationKitError.locked(path:holder:seconds:)`;
    ///   `MigrationKitError.readOnlyDatabase`; `MigrationKitError.unusableTable(_:)` if a step can't
    ///   be recorded; a step's own error after its rollback, which names the step if it is a
    ///   `DatabaseError`; a `DatabaseError` of the kind `SQLITE_CONSTRAINT_FOREIGNKEY` that
    ///   names the rows without a parent; a ``GRDBMigrationVerificationError`` if a check fails; a
    ///   ``GRDBMigrationSchemaError`` if the schema can't be read again; what a hook of the host
    ///   throws; a `CancellationError`.
    @discardableResult
    public func migrate(
        in writer: any DatabaseWriter,
        options: MigrationOptions = MigrationOptions()
    ) throws -> MigrationReport {
        try migrate(in: writer, MigrationRange(), options: options)
    }

    /// Applies the pending steps up to one of them, then verifies the database.
    ///
    /// While steps are pending, required indexes may be missing and the host's
    /// `verifyPostMigration` can't hold, so neither is checked. Integrity is always verified.
    ///
    /// - Parameters:
    ///   - writer: The database, opened for writing. Its journal mode is left alone.
    ///   - targetIdentifier: The last step to apply.
    ///   - options: How the run works.
    /// - Returns: What was applied, in order, with the seconds that each step took.
    /// - Throws: `MigrationKitError.unknownMigrationTarget(_:)`;
    ///   `MigrationKitError.targetBehindDatabase(target:latestApplied:)` if a later step is
    ///   applied; and what ``migrate(in:options:)`` throws.
    @discardableResult
    public func migrate(
        in writer: any DatabaseWriter,
        upTo targetIdentifier: String,
        options: MigrationOptions = MigrationOptions()
    ) throws -> MigrationReport {
        try migrate(in: writer, MigrationRange(upTo: targetIdentifier), options: options)
    }

    /// Applies the first pending steps, then verifies the database.
    ///
    /// - Parameters:
    ///   - writer: The database, opened for writing. Its journal mode is left alone.
    ///   - count: How many steps at most, from 0 upwards.
    ///   - options: How the run works.
    /// - Returns: What was applied, in order, with the seconds that each step took.
    /// - Throws: `MigrationKitError.stepCountMustBeNonNegative(_:)`; and what
    ///   ``migrate(in:options:)`` throws.
    @discardableResult
    public func migrate(
        in writer: any DatabaseWriter,
        steps count: Int,
        options: MigrationOptions = MigrationOptions()
    ) throws -> MigrationReport {
        try migrate(in: writer, MigrationRange(steps: count), options: options)
    }

    /// Records steps as applied, applies the pending ones of a range, and verifies the database.
    ///
    /// - Parameters:
    ///   - identifiers: The steps to record, unless another process has recorded them meanwhile.
    ///   - range: How far the run goes.
    ///   - options: How the run works: all or nothing, if there are steps to record.
    /// - Throws: What ``migrate(in:options:)`` throws. Nothing is recorded then.
    package func migrate(
        in writer: any DatabaseWriter,
        recording identifiers: [String] = [],
        _ range: MigrationRange,
        options: MigrationOptions
    ) throws -> MigrationReport {
        let runner = identifiers.isEmpty ? self : try recordingFirst(identifiers)
        return try runner.forwardRun(on: writer, range, options: options).run()
    }

    /// Records steps as applied without running them.
    ///
    /// For a database whose tables already exist, because another tool or the app itself created
    /// them. Afterwards it is migrated like any other. Only the ledger and the journal are written.
    ///
    /// - Parameters:
    ///   - writer: The database, opened for writing.
    ///   - identifier: The last of the steps whose result the database already has.
    ///   - options: How long to wait for another process that is migrating the database.
    /// - Returns: The identifiers that were recorded, in order.
    /// - Throws: `MigrationKitError.unknownMigrationTarget(_:)`;
    ///   `MigrationKitError.baselineOnMigratedDatabase(latestApplied:)` if any step is applied.
    @discardableResult
    public func baseline(
        in writer: any DatabaseWriter,
        upTo identifier: String,
        options: MigrationOptions = MigrationOptions()
    ) throws -> [String] {
        let identifiers = Array(migrationIdentifiers[..<(try end(upTo: identifier))])
        return try baseline(in: writer, options: options) { _ in identifiers }
    }

    /// Records steps as applied without running them. The database itself determines which: another
    /// tool may have recorded in it what it has run.
    ///
    /// - Parameters:
    ///   - writer: The database, opened for writing.
    ///   - options: How long to wait for another process that is migrating the database.
    ///   - choose: Returns the identifiers of the steps. It runs in the transaction in which they
    ///     are recorded.
    /// - Returns: The identifiers that were recorded, in order.
    /// - Throws: `MigrationKitError.unknownMigrationIdentifier(_:)`;
    ///   `MigrationKitError.baselineOnMigratedDatabase(latestApplied:)` if any step is applied;
    ///   what `choose` throws; a `GRDBMigrationVerificationError` if the database is damaged.
    @discardableResult
    public func baseline(
        in writer: any DatabaseWriter,
        options: MigrationOptions = MigrationOptions(),
        choosing choose: (Database) throws -> [String]
    ) throws -> [String] {
        try baseline(in: writer, options: options, choosing: choose) { _ in }
    }

    /// Records steps as applied without running them, if the run that follows isn't refused.
    ///
    /// - Parameters:
    ///   - range: How far the run is to go.
    ///   - options: How the run works.
    /// - Throws: What ``baseline(in:options:choosing:)`` throws, and what a run would throw before its
    ///   first step. Nothing is recorded then.
    package func baseline(
        in writer: any DatabaseWriter,
        before range: MigrationRange,
        options: MigrationOptions,
        choosing choose: (Database) throws -> [String]
    ) throws -> [String] {
        let run = try forwardRun(on: writer, range, options: options)
        return try baseline(in: writer, options: options, choosing: choose) { db in
            _ = try run.plan(db)
        }
    }

    /// - Parameter check: Runs at the end of the transaction.
    private func baseline(
        in writer: any DatabaseWriter,
        options: MigrationOptions,
        choosing choose: (Database) throws -> [String],
        _ check: (Database) throws -> Void
    ) throws -> [String] {
        try MigrationLock.hold(for: writer, options: options) {
            try DurableCommits.during(on: writer) {
                try writer.write { db in
                    let started = try MigrationLedger.started(db)
                    try registry.checkKnows(started.applied, db)
                    let all = started.all
                    // If only replaced steps are applied, the last of those.
                    let latest = registry.applied(among: all).last?.identifier ?? all.max()
                    if let latest {
                        throw MigrationKitError.baselineOnMigratedDatabase(latestApplied: latest)
                    }
                    let recorded = try record(choose(db), in: db)
                    try check(db)
                    // In a damaged file, a new table may overwrite another's definition.
                    try verify(db, isComplete: false, checksForeignKeys: false)
                    return recorded
                }
            }
        }
    }

    /// Writes steps into the ledger and the journal.
    ///
    /// - Returns: The identifiers, in order.
    /// - Throws: `MigrationKitError.unknownMigrationIdentifier(_:)`.
    func record(_ identifiers: [String], in db: Database) throws -> [String] {
        let chosen = Set(identifiers)
        if let unknown = identifiers.first(where: { !migrationIdentifiers.contains($0) }) {
            throw MigrationKitError.unknownMigrationIdentifier(unknown)
        }
        let steps = registry.steps.filter { chosen.contains($0.identifier) }
        try MigrationLedger.create(db)
        for step in steps {
            try MigrationLedger.insert(step.identifier, db)
            try note(.recorded, step, db)
        }
        return steps.map(\.identifier)
    }

    /// Adds a row to the journal.
    func note(
        _ event: MigrationHistoryEntry.Event,
        _ step: Step,
        seconds: Double? = nil,
        older: OlderVersions? = nil,
        backup: String? = nil,
        _ db: Database
    ) throws {
        try MigrationJournal.add(
            event,
            step,
            seconds: seconds,
            older: older,
            appVersion: appVersion,
            backup: backup,
            db
        )
    }

    func forwardRun(
        on writer: any DatabaseWriter,
        _ range: MigrationRange,
        recording recorded: [String] = [],
        options: MigrationOptions
    ) throws -> ForwardRun {
        if let count = range.count, count < 0 {
            throw MigrationKitError.stepCountMustBeNonNegative(count)
        }
        return ForwardRun(
            self,
            on: writer,
            through: try range.target.map(end(upTo:)) ?? registry.steps.endIndex,
            limit: range.count ?? .max,
            recording: recorded,
            options: options
        )
    }

    /// How many steps a run up to a target applies, counted from the first.
    func end(upTo targetIdentifier: String) throws -> Int {
        guard let index = migrationIdentifiers.firstIndex(of: targetIdentifier) else {
            throw MigrationKitError.unknownMigrationTarget(targetIdentifier)
        }
        return index + 1
    }
}
