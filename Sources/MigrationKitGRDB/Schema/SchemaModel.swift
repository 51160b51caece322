/// The schema of a database in the detail that a comparison needs.
///
/// Expressions are texts of ``CanonicalSQL``, so that two of them are equal if they mean the same.
/// Objects are found by their names in lower case, since SQLite ignores the case of ASCII letters.
/// The objects of SQLite itself, of GRDB and of virtual tables' modules are left out.
package struct SchemaModel: Equatable, Sendable {
    /// The tables, by their names in lower case.
    package internal(set) var tables: [String: Table] = [:]

    /// The indexes that have a `CREATE INDEX` statement of their own.
    package internal(set) var indexes: [String: Index] = [:]

    /// The triggers.
    package internal(set) var triggers: [String: Trigger] = [:]

    /// The views.
    package internal(set) var views: [String: View] = [:]

    /// An empty schema.
    package init() {}

    package struct Table: Equatable, Sendable {
        package internal(set) var name: String
        /// The page where its tree begins. It stays the same if the table is renamed. 0 for a
        /// virtual table.
        package internal(set) var rootPage = 0
        /// The module of a virtual table, in lower case.
        package internal(set) var module: String?
        package internal(set) var isStrict = false
        package internal(set) var isWithoutRowID = false
        package internal(set) var isAutoincrement = false
        package internal(set) var columns: [Column] = []
        /// The columns of the primary key, in the key's order.
        package internal(set) var primaryKey: [String] = []
        /// The columns of each `UNIQUE` constraint.
        package internal(set) var uniques: [[IndexedColumn]] = []
        /// The expression of each `CHECK` constraint, in order.
        package internal(set) var checks: [String] = []
        package internal(set) var foreignKeys: [ForeignKey] = []
        /// The statement that creates it.
        package internal(set) var sql: String

        package var isVirtual: Bool { module != nil }

        package func column(_ name: String) -> Column? {
            columns.first { $0.name.isSameName(as: name) }
        }

        /// Whether the rowid is a column: `INTEGER PRIMARY KEY`.
        package var rowIDColumn: Column? {
            guard !isWithoutRowID, primaryKey.count == 1, let column = column(primaryKey[0]),
                column.type.uppercased() == "INTEGER"
            else { return nil }
            return column
        }

        /// Whether the table is the same apart from its name and place.
        package func hasSameDefinition(as other: Table) -> Bool {
            var other = other
            other.name = name
            other.rootPage = rootPage
            other.sql = sql
            return self == other
        }
    }

    package struct Column: Equatable, Sendable {
        package internal(set) var name: String
        /// The declared type; empty if none was declared.
        package internal(set) var type: String
        package internal(set) var isNotNull: Bool
        package internal(set) var collation: String
        /// The default as an expression; `nil` if there is none.
        package internal(set) var defaultValue: String?
        package internal(set) var generated: Generated?
        /// Whether `SELECT *` leaves the column out, as with some columns of virtual tables.
        package internal(set) var isHidden: Bool
        package internal(set) var affinity: ColumnAffinity
    }

    package struct Generated: Equatable, Sendable {
        package internal(set) var expression: String
        package internal(set) var isStored: Bool
    }

    package struct IndexedColumn: Equatable, Sendable {
        /// The column's name, or the expression.
        package internal(set) var text: String
        package internal(set) var isExpression: Bool
        package internal(set) var collation: String
        package internal(set) var isDescending: Bool
    }

    package struct Index: Equatable, Sendable {
        package internal(set) var name: String
        package internal(set) var table: String
        package internal(set) var isUnique: Bool
        package internal(set) var columns: [IndexedColumn]
        /// The condition of a partial index.
        package internal(set) var condition: String?
        package internal(set) var sql: String

        /// Whether it is the same apart from its name and the text.
        package func hasSameDefinition(as other: Index) -> Bool {
            table.isSameName(as: other.table) && isUnique == other.isUnique
                && columns == other.columns && condition == other.condition
        }
    }

    package struct ForeignKey: Equatable, Sendable {
        package internal(set) var columns: [String]
        package internal(set) var table: String
        /// The columns that are referred to; empty if none were declared: the primary key.
        package internal(set) var referencedColumns: [String]
        package internal(set) var onUpdate: String
        package internal(set) var onDelete: String

        /// Whether deleting a row of the parent deletes or changes rows of this table.
        package var reachesChildren: Bool {
            ["CASCADE", "SET NULL", "SET DEFAULT"].contains(onDelete)
        }
    }

    package struct Trigger: Equatable, Sendable {
        package internal(set) var name: String
        /// The table or view that it belongs to.
        package internal(set) var table: String
        /// Its statement, without meaningless differences.
        package internal(set) var definition: String
        package internal(set) var sql: String
    }

    package struct View: Equatable, Sendable {
        package internal(set) var name: String
        /// Its statement, without meaningless differences.
        package internal(set) var definition: String
        package internal(set) var sql: String
    }
}

extension SchemaModel {
    package func table(_ name: String) -> Table? { tables[name.lowercased()] }
    package func index(_ name: String) -> Index? { indexes[name.lowercased()] }
    package func trigger(_ name: String) -> Trigger? { triggers[name.lowercased()] }
    package func view(_ name: String) -> View? { views[name.lowercased()] }

    /// The indexes of a table, by name.
    package func indexes(of table: String) -> [Index] {
        indexes.values.filter { $0.table.isSameName(as: table) }.sorted { $0.name < $1.name }
    }

    /// The triggers of a table, by name.
    package func triggers(of table: String) -> [Trigger] {
        triggers.values.filter { $0.table.isSameName(as: table) }.sorted { $0.name < $1.name }
    }

    /// The tables with a foreign key to a table, each with that key, by name.
    package func children(of table: String) -> [(table: Table, key: ForeignKey)] {
        tables.values.sorted { $0.name < $1.name }.flatMap { child in
            child.foreignKeys.filter { $0.table.isSameName(as: table) }.map { (child, $0) }
        }
    }

    /// The columns that a foreign key refers to: those declared, or the parent's primary key.
    package func referencedColumns(of key: ForeignKey) -> [String] {
        key.referencedColumns.isEmpty
            ? table(key.table)?.primaryKey ?? [] : key.referencedColumns
    }
}
