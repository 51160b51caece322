/// Something that the new definition of a table doesn't have, and that a rebuild must be allowed to
/// lose.
///
/// Names are compared as SQLite does, ignoring the case of ASCII letters.
public enum RebuildLoss: Hashable, Sendable {
    /// A column with its values.
    case column(String)

    /// An index of the table.
    case index(String)

    /// A trigger of the table, or another trigger that names the table.
    case trigger(String)

    /// A view that names the table.
    case view(String)

    /// A foreign key of the table, with its columns.
    case foreignKey([String])

    /// A `PRIMARY KEY` or `UNIQUE` constraint, with its columns.
    case unique([String])

    /// A `CHECK` constraint, as it is written between the parentheses.
    case check(String)

    /// The default of a column.
    case defaultValue(String)

    /// The collation of a column.
    case collation(String)

    /// The expression of a generated column, which becomes an ordinary one.
    case generated(String)

    /// `AUTOINCREMENT`, and its mark: ids of deleted rows may be used again.
    case autoincrement

    /// `STRICT`.
    case strict

    /// `WITHOUT ROWID`.
    case withoutRowID
}

extension RebuildLoss: CustomStringConvertible {
    /// What is lost, in a few words.
    public var description: String {
        switch self {
        case .column(let name): "column \(name)"
        case .index(let name): "index \(name)"
        case .trigger(let name): "trigger \(name)"
        case .view(let name): "view \(name)"
        case .foreignKey(let columns): "foreign key (\(columns.joined(separator: ", ")))"
        case .unique(let columns): "unique key (\(columns.joined(separator: ", ")))"
        case .check(let condition): "CHECK (\(condition))"
        case .defaultValue(let column): "default of \(column)"
        case .collation(let column): "collation of \(column)"
        case .generated(let column): "expression of the generated column \(column)"
        case .autoincrement: "AUTOINCREMENT"
        case .strict: "STRICT"
        case .withoutRowID: "WITHOUT ROWID"
        }
    }

    /// The same with names in lower case.
    var folded: RebuildLoss {
        switch self {
        case .column(let name): .column(name.foldedName)
        case .index(let name): .index(name.foldedName)
        case .trigger(let name): .trigger(name.foldedName)
        case .view(let name): .view(name.foldedName)
        case .foreignKey(let columns): .foreignKey(columns.map(\.foldedName))
        case .unique(let columns): .unique(columns.map(\.foldedName))
        case .check(let condition): .check(SQLTokens(condition).meaning)
        case .defaultValue(let column): .defaultValue(column.foldedName)
        case .collation(let column): .collation(column.foldedName)
        case .generated(let column): .generated(column.foldedName)
        case .autoincrement, .strict, .withoutRowID: self
        }
    }
}
