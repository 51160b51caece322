import GRDB

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
        changes = []
    }

    /// The dropped tables and columns that have the same shape as an added one.
    public var possibleRenames: [SchemaRename] { [] }
}

/// A table or a column that gets another name.
public struct SchemaRename: Hashable, Sendable {
    /// The table's name, in the present schema.
    public let table: String

    /// The column's name, in the present schema; `nil` if the table itself is renamed.
    public let column: String?

    /// The new name of the table or the column.
    public let newName: String

    /// - Parameters:
    ///   - table: The table's name, in the present schema.
    ///   - column: The column's name, in the present schema; `nil` to rename the table.
    ///   - newName: The new name.
    public init(table: String, column: String? = nil, newName: String) {
        self.table = table
        self.column = column
        self.newName = newName
    }
}

/// One thing that differs between two schemas.
public struct SchemaChange: Hashable, Sendable {
    /// What happens to it on the way from the present schema to the wanted one.
    public enum Action: String, Sendable, CaseIterable {
        case added, dropped, changed, renamed
    }

    /// What it is.
    public enum Kind: String, Sendable, CaseIterable {
        case table, column
        case primaryKey = "primary-key"
        case unique, check
        case foreignKey = "foreign-key"
        /// `STRICT`, `WITHOUT ROWID`, `AUTOINCREMENT`, the order of columns, or a module's arguments.
        case option
        case index, trigger, view
    }

    public let action: Action
    public let kind: Kind

    /// The table or view that it belongs to, by its new name; itself, for a table or a view.
    public let table: String

    /// Its name: that of the object or the column, or the text of a constraint.
    public let name: String

    /// What it was; `nil` if it is added.
    public let before: String?

    /// What it becomes; `nil` if it is dropped.
    public let after: String?
}

/// Why two schemas can't be compared.
public enum SchemaDifferenceError: Error, Equatable {
    /// A rename names nothing that goes, or nothing that comes.
    case unknownRename(SchemaRename, reason: String)
}
