import GRDB
import MigrationKitGRDB

/// What differs between two schemas.
///
/// ```swift
/// let difference = try SchemaDifference(from: installed, to: wanted)
/// for change in difference.changes { print(change) }
/// let migration = try SchemaMigration(difference)
/// ```
///
/// Schemas are compared as SQLite understands them: white space, comments, the case of names and
/// quotes around names are no difference. Everything else is.
public struct SchemaDifference: Sendable {
    /// The present schema.
    public let from: DatabaseSchema

    /// The wanted schema.
    public let to: DatabaseSchema

    /// The tables and columns that get another name.
    public let renames: [SchemaRename]

    /// What differs, by table.
    public let changes: [SchemaChange]

    /// The present schema after the renames, with the tables and columns under their new names.
    package let renamed: SchemaModel

    /// Whether nothing differs.
    public var isEmpty: Bool { changes.isEmpty }

    /// Compares two schemas.
    ///
    /// A rename is never guessed: without `renames`, a table or column that has another name is one
    /// dropped and one added. ``possibleRenames`` lists what may be meant.
    ///
    /// - Parameters:
    ///   - from: The present schema.
    ///   - to: The wanted schema.
    ///   - renames: The tables and columns that get another name.
    /// - Throws: ``SchemaDifferenceError`` if a rename names nothing.
    public init(
        from: DatabaseSchema,
        to: DatabaseSchema,
        renames: [SchemaRename] = []
    ) throws {
        self.from = from
        self.to = to
        self.renames = renames
        let valid = try renames.validated(from: from.model, to: to.model)
        renamed = try from.renaming(valid)
        changes = valid.changes(in: to.model) + SchemaComparison(renamed, to.model).changes
    }

    /// The dropped tables and columns that have the same shape as an added one.
    ///
    /// A table or column is in several of them if more than one has its shape.
    public var possibleRenames: [SchemaRename] {
        SchemaComparison(renamed, to.model).possibleRenames.map { rename in
            // The table by its name in the present schema.
            let table = renames.first {
                $0.column == nil && $0.newName.isSameName(as: rename.table)
            }
            guard let table, rename.column != nil else { return rename }
            return SchemaRename(table: table.table, column: rename.column, newName: rename.newName)
        }
    }
}
