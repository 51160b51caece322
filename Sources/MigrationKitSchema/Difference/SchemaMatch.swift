import MigrationKitGRDB

/// Which table and column of one schema is which of another.
///
/// A name that a rename gives is free in the old schema, and a name that it takes away isn't in the
/// new one: ``SchemaDifference`` refuses any other.
package struct SchemaMatch {
    package let old: SchemaModel
    package let new: SchemaModel
    package let renames: [SchemaRename]

    package init(_ old: SchemaModel, _ new: SchemaModel, _ renames: [SchemaRename]) {
        self.old = old
        self.new = new
        self.renames = renames
    }

    /// The renames of the way back.
    var reversedRenames: [SchemaRename] {
        renames.map { rename in
            let table = tableRename(from: rename.table)?.newName ?? rename.table
            guard let column = rename.column else {
                return SchemaRename(table: rename.newName, newName: rename.table)
            }
            return SchemaRename(table: table, column: rename.newName, newName: column)
        }
    }

    func newTable(of table: SchemaModel.Table) -> SchemaModel.Table? {
        let match = new.table(tableRename(from: table.name)?.newName ?? table.name)
        return match?.isVirtual == table.isVirtual ? match : nil
    }

    func oldTable(of table: SchemaModel.Table) -> SchemaModel.Table? {
        let match = old.table(tableRename(to: table.name)?.table ?? table.name)
        return match?.isVirtual == table.isVirtual ? match : nil
    }

    /// The column of the new table that has the values of an old table's column.
    func newColumn(of column: String, in table: SchemaModel.Table) -> SchemaModel.Column? {
        let rename = columnRenames(of: table).first { $0.column?.isSameName(as: column) ?? false }
        return newTable(of: table)?.column(rename?.newName ?? column)
    }

    /// The column of the old table from which a column of a new table has its values.
    func oldColumn(of column: String, in table: SchemaModel.Table) -> SchemaModel.Column? {
        guard let old = oldTable(of: table) else { return nil }
        let rename = columnRenames(of: old).first { $0.newName.isSameName(as: column) }
        return old.column(rename?.column ?? column)
    }

    func columnRenames(of table: SchemaModel.Table) -> [SchemaRename] {
        renames.filter { $0.column != nil && $0.table.isSameName(as: table.name) }
    }

    private func tableRename(from name: String) -> SchemaRename? {
        renames.first { $0.column == nil && $0.table.isSameName(as: name) }
    }

    private func tableRename(to name: String) -> SchemaRename? {
        renames.first { $0.column == nil && $0.newName.isSameName(as: name) }
    }
}

extension SchemaModel.Table {
    /// Whether a row must have a value in a column.
    func requires(_ column: SchemaModel.Column) -> Bool {
        column.isNotNull
            || isWithoutRowID && primaryKey.contains { $0.isSameName(as: column.name) }
    }

    /// Whether a column is another name of the rowid.
    func isRowID(_ column: SchemaModel.Column) -> Bool {
        rowIDColumn?.name.isSameName(as: column.name) ?? false
    }
}

/// Names of columns with values, as SQLite compares names.
package struct ColumnExpressions {
    private var expressions: [String: [String: String]] = [:]

    package init() {}

    package subscript(table: String, column: String) -> String? {
        get { expressions[table.foldedName]?[column.foldedName] }
        set { expressions[table.foldedName, default: [:]][column.foldedName] = newValue }
    }

    /// The expressions of a table, by the names of columns in lower case.
    subscript(table: String) -> [String: String] { expressions[table.foldedName] ?? [:] }
}
