/// One named change of a database, and how to take it back.
///
/// The type is generic over the database: this module carries the closures, a runner such as
/// `GRDBMigrationRunner` calls them.
///
/// ```swift
/// MigrationStep<Database>(
///     identifier: "0001_create_items",
///     sourceFile: "M0001_CreateItems.swift",
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

    /// Performs the change, inside a transaction of the runner's.
    public let apply: @Sendable (Database) throws -> Void

    /// Undoes the change, inside a transaction of the runner's; `nil` if it can't be undone.
    public let rollback: (@Sendable (Database) throws -> Void)?

    /// Creates a step.
    ///
    /// - Parameters:
    ///   - identifier: The unique name of the step, such as `0001_create_items`.
    ///   - sourceFile: The file that defines it.
    ///   - apply: Performs the change. Whatever it throws undoes what it did.
    ///   - rollback: Undoes the change, where that is possible.
    public init(
        identifier: String,
        sourceFile: String,
        apply: @escaping @Sendable (Database) throws -> Void,
        rollback: (@Sendable (Database) throws -> Void)? = nil
    ) {
        self.identifier = identifier
        self.sourceFile = sourceFile
        self.apply = apply
        self.rollback = rollback
    }
}
