import Foundation
import GRDB
import MigrationKitCommon
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

    /// What happens to it.
    public let action: Action

    /// What it is.
    public let kind: Kind

    /// The table or view that it belongs to, by its new name; itself, for a table or a view.
    public let table: String

    /// Its name: that of the object or the column, or the text of a constraint.
    public let name: String

    /// What it was, as SQL; the old name of what is renamed; `nil` if it is added.
    public let before: String?

    /// What it becomes; `nil` if it is dropped.
    public let after: String?
}

extension SchemaChange: Encodable {
    /// Encodes the change.
    public func encode(to encoder: any Encoder) throws {
        try encoder.encode([
            "action": action.rawValue, "kind": kind.rawValue, "table": table, "name": name,
            "before": before, "after": after,
        ])
    }
}

extension SchemaChange: CustomStringConvertible {
    /// The change in one line, such as `column notes.body: TEXT -> TEXT NOT NULL`.
    public var description: String {
        switch (action, kind) {
        case (.renamed, _): "\(subject): renamed from \(before ?? "")"
        case (.added, .column): "\(subject): added, \(after ?? "")"
        case (.added, _): "\(subject): added"
        case (.dropped, _): "\(subject): dropped"
        case (.changed, .view), (.changed, .trigger): "\(subject): changed"
        case (.changed, _): "\(subject): \(before ?? "") -> \(after ?? "")"
        }
    }

    private var subject: String {
        switch kind {
        case .table, .view: "\(kind.rawValue) \(name)"
        case .column: "column \(table).\(name)"
        case .primaryKey, .unique, .check, .foreignKey, .option: "table \(table), \(name)"
        case .index, .trigger: "\(kind.rawValue) \(name) on \(table)"
        }
    }
}

/// Why two schemas can't be compared.
public enum SchemaDifferenceError: Error, Equatable {
    /// A rename names nothing that goes, or nothing that comes.
    case unknownRename(SchemaRename, reason: String)
}

extension SchemaDifferenceError: LocalizedError {
    /// What is wrong, in one line.
    public var errorDescription: String? {
        switch self {
        case .unknownRename(let rename, let reason): "can't rename \(rename): \(reason)"
        }
    }

    /// What to do about it.
    public var recoverySuggestion: String? {
        switch self {
        case .unknownRename:
            "Rename a table or column that only the present schema has to one that only the wanted "
                + "schema has, such as notes.body=text."
        }
    }
}

extension SchemaDifferenceError: CodedError {
    /// The error's code for programs, and its exit status.
    public var code: ErrorCode {
        switch self {
        case .unknownRename: ErrorCode("unknownRename", .usage)
        }
    }
}

extension SchemaRename: CustomStringConvertible {
    /// The rename in one line, such as `notes.body to text`.
    public var description: String {
        "\(column.map { "\(table).\($0)" } ?? table) to \(newName)"
    }
}
