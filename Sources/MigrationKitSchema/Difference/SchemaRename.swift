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

extension SchemaRename: CustomStringConvertible {
    /// The rename in one line, such as `notes.body to text`.
    public var description: String {
        "\(column.map { "\(table).\($0)" } ?? table) to \(newName)"
    }
}
