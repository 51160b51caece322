import MigrationKitCommon

/// One named change of a database, and how to undo it.
///
/// The type is generic over the database: this module stores the closures, and a runner such as
/// `GRDBMigrationRunner` calls them.
///
/// ```swift
/// MigrationStep<Database>(
///     identifier: "0001_create_items",
///     apply: { db in
///         try db.create(table: "items") { $0.column("id", .integer).primaryKey() }
///     },
///     rollback: { db in
///         try db.drop(table: "items")
///     }
/// )
/// ```
///
/// Never edit a step that was shipped: it has already run on existing databases. Add a new one
/// instead.
public struct MigrationStep<Database>: Sendable {
    /// The unique name of the step, which is recorded in the ledger of every migrated database.
    ///
    /// Number it with a fixed width (`0001_`, `0002_`), so that text order is chronological; see
    /// ``MigrationRegistry``.
    public let identifier: String

    /// The file that defines the step. Only for people: nothing opens it.
    public let sourceFile: String

    /// When the foreign keys that the step touches are checked.
    public let foreignKeyChecks: MigrationForeignKeyChecks

    /// Whether the step runs in a transaction.
    ///
    /// A few statements can't: `VACUUM`, and changes of `journal_mode` and `auto_vacuum`. A step
    /// with one of these runs on its own, with the connection's foreign key setting. It is recorded
    /// only after it has succeeded. If it is interrupted, it runs again, so it must be safe to
    /// repeat.
    public let usesTransaction: Bool

    /// The steps of earlier releases that this one replaces.
    public let mergedIdentifiers: Set<String>

    /// A text that changes whenever the step's effect changes; `nil` if changes needn't be
    /// detected.
    ///
    /// It is recorded when the step is applied. If it differs later, the step was edited after it
    /// had run on existing databases, and a run refuses it.
    public let checksum: String?

    /// Whether versions of the program that don't know the step work with a database that has it, as
    /// its author knows; `nil` if the runner judges that when it applies the step.
    public let older: OlderVersions?

    /// The SQL that undoes the change, which is kept in the database, so that a version of the program
    /// that doesn't know the step can take it back; `nil` if there is none.
    public let rollbackSQL: String?

    /// What must hold before the change: a row that one of them returns refuses the step, in its
    /// transaction and before ``apply``.
    public let requirements: [CheckQuery]

    /// What must hold after the change: a row that one of them returns undoes the step, after ``apply``
    /// and before the commit. A step without a transaction isn't undone, only not recorded.
    public let checks: [CheckQuery]

    /// Statements that a run carries out a batch of rows at a time, in the order in which they stand,
    /// and instead of ``apply``. That runs each as a whole: a dry run, or one that is all or nothing,
    /// does so.
    public let batches: [MigrationBatch]

    /// Performs the change.
    public let apply: @Sendable (Database) throws -> Void

    /// Performs the change. Receives the merged steps that the database already has.
    public let applyMerging: @Sendable (Database, _ applied: Set<String>) throws -> Void

    /// Undoes the change; `nil` if it can't be undone, or only by ``rollbackSQL``.
    public let rollback: (@Sendable (Database) throws -> Void)?

    /// Creates a step.
    ///
    /// - Parameters:
    ///   - identifier: The unique name of the step, such as `0001_create_items`.
    ///   - sourceFile: The file that defines it; by default the one that calls this.
    ///   - foreignKeyChecks: When the foreign keys that the step touches are checked.
    ///   - usesTransaction: Whether it runs in a transaction; see ``usesTransaction``.
    ///   - checksum: A text that changes whenever the step's effect changes.
    ///   - older: Whether versions that don't know the step work with its result; `nil` to let the
    ///     runner judge.
    ///   - rollbackSQL: The statements that undo the change. They are kept in the database. Without
    ///     `rollback`, a rollback runs them, too.
    ///   - requirements: What must hold before the change.
    ///   - checks: What must hold after the change.
    ///   - batches: Statements that a run carries out a batch of rows at a time, instead of `apply`.
    ///   - apply: Performs the change. If it throws, the change is undone.
    ///   - rollback: Undoes the change, if that is possible.
    public init(
        identifier: String,
        sourceFile: String = #fileID,
        foreignKeyChecks: MigrationForeignKeyChecks = .deferred,
        usesTransaction: Bool = true,
        checksum: String? = nil,
        older: OlderVersions? = nil,
        rollbackSQL: String? = nil,
        requirements: [CheckQuery] = [],
        checks: [CheckQuery] = [],
        batches: [MigrationBatch] = [],
        apply: @escaping @Sendable (Database) throws -> Void,
        rollback: (@Sendable (Database) throws -> Void)? = nil
    ) {
        self.identifier = identifier
        self.sourceFile = sourceFile
        self.foreignKeyChecks = foreignKeyChecks
        self.usesTransaction = usesTransaction
        self.mergedIdentifiers = []
        self.checksum = checksum
        self.older = older
        self.rollbackSQL = rollbackSQL
        self.requirements = requirements
        self.checks = checks
        self.batches = batches
        self.apply = apply
        self.applyMerging = { database, _ in try apply(database) }
        self.rollback = rollback
    }

    /// Creates a step that replaces steps of earlier releases, which no longer exist.
    ///
    /// A database may have none, some or all of these. The step does what is missing. Then the
    /// ledger has its identifier instead of theirs.
    ///
    /// ```swift
    /// MigrationStep<Database>(
    ///     identifier: "0004_first_release",
    ///     merging: ["0001_items", "0002_tags", "0003_index"],
    ///     apply: { db, applied in
    ///         if !applied.contains("0001_items") { try createItems(db) }
    ///         if !applied.contains("0002_tags") { try createTags(db) }
    ///         if !applied.contains("0003_index") { try createIndex(db) }
    ///     }
    /// )
    /// ```
    ///
    /// - Parameters:
    ///   - identifier: The unique name of the step. It may be that of the last merged step:
    ///     databases that have that one are then up to date.
    ///   - sourceFile: The file that defines it; by default the one that calls this.
    ///   - mergedIdentifiers: The steps that it replaces.
    ///   - foreignKeyChecks: When the foreign keys that the step touches are checked.
    ///   - checksum: A text that changes whenever the step's effect changes. It is ignored if the
    ///     step keeps the identifier of a merged one, because databases that ran that one have
    ///     recorded its checksum.
    ///   - older: Whether versions that don't know the step work with its result; `nil` to let the
    ///     runner judge.
    ///   - rollbackSQL: The statements that undo the change. They are kept in the database. Without
    ///     `rollback`, a rollback runs them, too.
    ///   - requirements: What must hold before the change.
    ///   - checks: What must hold after the change.
    ///   - apply: Performs what is missing. Receives the merged steps that the database has.
    ///   - rollback: Undoes the change, if that is possible.
    public init(
        identifier: String,
        sourceFile: String = #fileID,
        merging mergedIdentifiers: Set<String>,
        foreignKeyChecks: MigrationForeignKeyChecks = .deferred,
        checksum: String? = nil,
        older: OlderVersions? = nil,
        rollbackSQL: String? = nil,
        requirements: [CheckQuery] = [],
        checks: [CheckQuery] = [],
        apply: @escaping @Sendable (Database, _ applied: Set<String>) throws -> Void,
        rollback: (@Sendable (Database) throws -> Void)? = nil
    ) {
        self.identifier = identifier
        self.sourceFile = sourceFile
        self.foreignKeyChecks = foreignKeyChecks
        self.usesTransaction = true
        self.mergedIdentifiers = mergedIdentifiers.subtracting([identifier])
        self.checksum = mergedIdentifiers.contains(identifier) ? nil : checksum
        self.older = older
        self.rollbackSQL = rollbackSQL
        self.requirements = requirements
        self.checks = checks
        self.batches = []
        self.apply = { try apply($0, []) }
        self.applyMerging = apply
        self.rollback = rollback
    }

    /// Whether the change can be undone.
    public var canRollBack: Bool { rollback != nil || rollbackSQL != nil }
}

extension MigrationStep: Encodable {
    /// Encodes how a run would apply the step.
    public func encode(to encoder: any Encoder) throws {
        try encoder.encode([
            "identifier": identifier, "source": sourceFile, "usesTransaction": usesTransaction,
            "foreignKeyChecks": "\(foreignKeyChecks)", "older": older,
            "requirements": requirements.isEmpty ? nil : requirements,
            "checks": checks.isEmpty ? nil : checks,
            "batches": batches.isEmpty ? nil : batches,
        ])
    }
}
