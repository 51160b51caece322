import MigrationKitGRDB

extension SchemaModel {
    /// A name that nothing has.
    func unusedName(_ wanted: String) -> String {
        var name = wanted
        var number = 2
        while !isUnused(name) {
            name = "\(wanted)_\(number)"
            number += 1
        }
        return name
    }

    func isUnused(_ name: String) -> Bool {
        table(name) == nil && view(name) == nil && index(name) == nil && trigger(name) == nil
    }

    /// A value for a required column that comes back: one that differs by row if it is part of a
    /// key, an existing parent for a foreign key, otherwise an empty one.
    func neutralValue(of column: Column, in table: Table, rowID: String?) -> String {
        func has(_ columns: [String]) -> Bool {
            columns.contains { $0.isSameName(as: column.name) }
        }
        for key in table.foreignKeys where has(key.columns) {
            guard let place = key.columns.firstIndex(where: { $0.isSameName(as: column.name) }),
                referencedColumns(of: key).indices.contains(place)
            else { continue }
            let name = referencedColumns(of: key)[place].quotedName
            return "(SELECT min(\(name)) FROM \(key.table.quotedName))"
        }
        let keys =
            table.uniqueKeys
            + indexes(of: table.name).filter(\.isUnique).map { $0.columns.map(\.text) }
        guard let rowID, keys.contains(where: has) else { return column.affinity.emptyValue }
        switch column.affinity {
        case .text: return "CAST(\(rowID) AS TEXT)"
        case .integer, .numeric, .real: return rowID
        case .blob: return "CAST(\(rowID) AS BLOB)"
        }
    }
}

extension SchemaModel.Table {
    /// The tables that its foreign keys refer to, in lower case.
    var parents: Set<String> {
        Set(foreignKeys.map(\.table.foldedName)).subtracting([name.foldedName])
    }

    /// Whether `ALTER TABLE` can add a column to a table with rows.
    /// <https://www.sqlite.org/lang_altertable.html#alter_table_add_column>
    func canAdd(_ column: SchemaModel.Column) -> Bool {
        if let generated = column.generated { return !generated.isStored }
        let refers = foreignKeys.contains { key in
            key.columns.contains { $0.isSameName(as: column.name) }
        }
        guard let value = column.defaultValue else { return !requires(column) }
        return !refers && value.isLiteral && !value.meaning.hasPrefix("current_")
    }

    /// The table that a full-text table reads its content from; `nil` if it has its own.
    package var contentTable: String? { isVirtual ? VirtualTableText(sql)?.contentTable : nil }
}

extension SchemaModel.Column {
    /// Whether SQLite converts values when they are copied to another column, and may lose
    /// something. Whole numbers and numbers are converted alike.
    func mayChangeValues(as other: SchemaModel.Column) -> Bool {
        let numbers: Set<ColumnAffinity> = [.integer, .numeric]
        return affinity != other.affinity && other.affinity != .blob
            && !numbers.isSuperset(of: [affinity, other.affinity])
    }
}

extension ColumnAffinity {
    /// A value that isn't NULL.
    var emptyValue: String {
        switch self {
        case .integer, .real, .numeric: "0"
        case .text: "''"
        case .blob: "x''"
        }
    }
}
