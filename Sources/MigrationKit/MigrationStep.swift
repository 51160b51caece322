/// One named change of a database, and how to take it back.
///
/// The type is generic over the database: this module carries the closures, a runner such as
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
/// A step that was shipped is never edited: databases exist in which it has already run. Add a
/// new one instead.
public struct MigrationStep<Database>: Sendable {
    /// The unique name of the step, which the ledger of every migrated database holds.
    ///
    /// Number it with a fixed width (`0001_`, `0002_`), so that the order of the text is the order
    /// in time; see ``MigrationRegistry``.
    public let identifier: String

    /// The file that defines the step. For people: nothing opens it.
    public let sourceFile: String

    /// When the foreign keys are checked that the step touches.
    public let foreignKeyChecks: MigrationForeignKeyChecks

    /// Whether the step runs in a transaction.
    ///
    /// A few statements can't: `VACUUM`, and the changing of `journal_mode` and `auto_vacuum`. A
    /// step of them runs alone, with foreign keys as the connection has them. It is recorded only
    /// once it has succeeded, so one that was interrupted runs again: it must bear that.
    public let usesTransaction: Bool

    /// The steps of earlier releases that this one stands for.
    public let mergedIdentifiers: Set<String>

    /// A text that changes whenever what the step does changes; `nil` where nobody watches that.
    ///
    /// It is remembered when the step is applied. A step that has another one later was edited
    /// after databases exist in which it has run, and a run refuses it.
    public let checksum: String?

    /// Performs the change.
    public let apply: @Sendable (Database) throws -> Void

    /// Performs the change, given which of the merged steps the database already has.
    public let applyMerging: @Sendable (Database, _ applied: Set<String>) throws -> Void

    /// Undoes the change; `nil` if it can't be undone.
    public let rollback: (@Sendable (Database) throws -> Void)?

    /// Creates a step.
    ///
    /// - Parameters:
    ///   - identifier: The unique name of the step, such as `0001_create_items`.
    ///   - sourceFile: The file that defines it; by default the one that calls this.
    ///   - foreignKeyChecks: When the foreign keys are checked that the step touches.
    ///   - usesTransaction: Whether it runs in a transaction; see ``usesTransaction``.
    ///   - checksum: A text that changes whenever what the step does changes.
    ///   - apply: Performs the change. Whatever it throws undoes what it did.
    ///   - rollback: Undoes the change, where that is possible.
    public init(
        identifier: String,
        sourceFile: String = #fileID,
        foreignKeyChecks: MigrationForeignKeyChecks = .deferred,
        usesTransaction: Bool = true,
        checksum: String? = nil,
        apply: @escaping @Sendable (Database) throws -> Void,
        rollback: (@Sendable (Database) throws -> Void)? = nil
    ) {
        self.identifier = identifier
        self.sourceFile = sourceFile
        self.foreignKeyChecks = foreignKeyChecks
        self.usesTransaction = usesTransaction
        self.mergedIdentifiers = []
        self.checksum = checksum
        self.apply = apply
        self.applyMerging = { database, _ in try apply(database) }
        self.rollback = rollback
    }

    /// Creates a step that stands for steps of earlier releases, which are no longer there.
    ///
    /// A database has none of them, some, or all. The step does what is missing; then the ledger
    /// has its identifier in place of theirs.
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
    ///   - identifier: The unique name of the step. It may be that of the last of the merged ones:
    ///     databases that have it are then up to date.
    ///   - sourceFile: The file that defines it; by default the one that calls this.
    ///   - mergedIdentifiers: The steps that it stands for.
    ///   - foreignKeyChecks: When the foreign keys are checked that the step touches.
    ///   - checksum: A text that changes whenever what the step does changes. It is dropped if the
    ///     step keeps the identifier of a merged one, because databases that ran that one remember
    ///     its checksum.
    ///   - apply: Performs what is missing. Gets the merged steps that the database has.
    ///   - rollback: Undoes the change, where that is possible.
    public init(
        identifier: String,
        sourceFile: String = #fileID,
        merging mergedIdentifiers: Set<String>,
        foreignKeyChecks: MigrationForeignKeyChecks = .deferred,
        checksum: String? = nil,
        apply: @escaping @Sendable (Database, _ applied: Set<String>) throws -> Void,
        rollback: (@Sendable (Database) throws -> Void)? = nil
    ) {
        self.identifier = identifier
        self.sourceFile = sourceFile
        self.foreignKeyChecks = foreignKeyChecks
        self.usesTransaction = true
        self.mergedIdentifiers = mergedIdentifiers.subtracting([identifier])
        self.checksum = mergedIdentifiers.contains(identifier) ? nil : checksum
        self.apply = { try apply($0, []) }
        self.applyMerging = apply
        self.rollback = rollback
    }
}

/// When the foreign keys are checked that a step touches.
public enum MigrationForeignKeyChecks: Equatable, Sendable {
    /// Once the step is done, all of them. While it runs they are off, so that a table can be
    /// rebuilt without its children going with it.
    /// <https://www.sqlite.org/lang_altertable.html#otheralter>
    case deferred

    /// By every statement, with the actions (`ON DELETE CASCADE`) that belong to it. Not for steps
    /// that rebuild a table.
    case immediate

    /// Not at all, neither by the step nor at the end of its run. For very large databases, whose
    /// step is known to break none.
    case off
}
