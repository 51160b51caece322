import MigrationKitGRDB

/// The schema of a database in the detail that a comparison needs.
///
/// Everything that is a difference for SQLite is in it. White space, comments, the case of names and
/// keywords, and quotes around names are not in what `hasSameDefinition` compares.
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
        /// The module's arguments, without meaningless differences.
        package internal(set) var moduleArguments = ""
        package internal(set) var isStrict = false
        package internal(set) var isWithoutRowID = false
        package internal(set) var isAutoincrement = false
        package internal(set) var columns: [Column] = []
        /// The primary key.
        package internal(set) var key: Key?
        /// Whether the rowid is the column of the primary key: `INTEGER PRIMARY KEY`.
        package internal(set) var hasRowIDColumn = false
        /// The `UNIQUE` constraints.
        package internal(set) var uniques: [Key] = []
        /// The `CHECK` constraints, in order.
        package internal(set) var checks: [Check] = []
        package internal(set) var foreignKeys: [ForeignKey] = []
        /// The statement that creates it.
        package internal(set) var sql: String

        package var isVirtual: Bool { module != nil }

        /// The columns of the primary key, in the key's order.
        package var primaryKey: [String] { key?.columns.map(\.text) ?? [] }

        /// The columns of the primary key, and those of each `UNIQUE`.
        package var uniqueKeys: [[String]] { [primaryKey] + uniques.map { $0.columns.map(\.text) } }

        package func column(_ name: String) -> Column? {
            columns.first { $0.name.isSameName(as: name) }
        }

        /// The column that is the rowid.
        package var rowIDColumn: Column? {
            hasRowIDColumn ? primaryKey.first.flatMap(column) : nil
        }
    }

    package struct Column: Equatable, Sendable {
        package internal(set) var name: String
        /// The declared type; empty if none was declared.
        package internal(set) var type: String
        package internal(set) var isNotNull: Bool
        /// The `ON CONFLICT` of `NOT NULL`, in upper case; `nil` if none is declared.
        package internal(set) var conflict: String?
        /// The name in upper case.
        package internal(set) var collation: String
        /// The default; `nil` if there is none, or if it is NULL.
        package internal(set) var defaultValue: Expression?
        package internal(set) var generated: Generated?
        /// Whether `SELECT *` leaves the column out, as with some columns of virtual tables.
        package internal(set) var isHidden: Bool
        package internal(set) var affinity: ColumnAffinity

        package var isGenerated: Bool { generated != nil }
    }

    package struct Generated: Equatable, Sendable {
        package internal(set) var expression: Expression
        package internal(set) var isStored: Bool
    }

    /// An SQL expression. Two are equal if they have the same meaning.
    package struct Expression: Hashable, Sendable {
        /// As it is written, on one line.
        package let text: String
        /// Without meaningless differences. SQLite can run it.
        package let meaning: String

        package init(text: String, meaning: String) {
            self.text = text
            self.meaning = meaning
        }

        package static func == (one: Expression, other: Expression) -> Bool {
            one.meaning == other.meaning
        }

        package func hash(into hasher: inout Hasher) {
            hasher.combine(meaning)
        }
    }

    /// A `PRIMARY KEY` or a `UNIQUE` constraint.
    package struct Key: Equatable, Sendable {
        package internal(set) var columns: [IndexedColumn]
        /// The `ON CONFLICT`, in upper case; `nil` if none is declared.
        package internal(set) var conflict: String?
    }

    /// A `CHECK` constraint.
    package struct Check: Equatable, Sendable {
        /// The name that a violation's message shows; `nil` if it shows the expression.
        package internal(set) var name: String?
        package internal(set) var expression: Expression
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
    }

    package struct ForeignKey: Equatable, Sendable {
        package internal(set) var columns: [String]
        package internal(set) var table: String
        /// The columns that are referred to; empty if none were declared: the primary key.
        package internal(set) var referencedColumns: [String]
        package internal(set) var onUpdate: String
        package internal(set) var onDelete: String
        /// Whether it is checked at the commit: `DEFERRABLE INITIALLY DEFERRED`.
        package internal(set) var isDeferred = false

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
    /// Its objects, in no order.
    package var objects: [SchemaObject] {
        tables.values.map(\.object) + indexes.values.map(\.object) + triggers.values.map(\.object)
            + views.values.map(\.object)
    }

    /// Each object that is another: as it was, or `nil` if it is new, and as it is, or `nil` if
    /// it is gone.
    package func changes(
        since before: SchemaModel
    ) -> [(old: SchemaObject?, new: SchemaObject?)] {
        func changes<Object: Equatable>(
            _ old: [String: Object],
            _ new: [String: Object],
            _ object: (Object) -> SchemaObject
        ) -> [(old: SchemaObject?, new: SchemaObject?)] {
            // Mostly it is the same dictionary.
            guard old != new else { return [] }
            return Set(old.keys).union(new.keys).filter { old[$0] != new[$0] }.map { key in
                (old[key].map(object), new[key].map(object))
            }
        }
        return changes(before.tables, tables, \.object)
            + changes(before.indexes, indexes, \.object)
            + changes(before.triggers, triggers, \.object)
            + changes(before.views, views, \.object)
    }
}

extension SchemaModel.Table {
    fileprivate var object: SchemaObject {
        SchemaObject(kind: .table, name: name, table: name, rootPage: rootPage, sql: sql)
    }
}

extension SchemaModel.Index {
    fileprivate var object: SchemaObject {
        SchemaObject(kind: .index, name: name, table: table, sql: sql)
    }
}

extension SchemaModel.Trigger {
    fileprivate var object: SchemaObject {
        SchemaObject(kind: .trigger, name: name, table: table, sql: sql)
    }
}

extension SchemaModel.View {
    fileprivate var object: SchemaObject {
        SchemaObject(kind: .view, name: name, table: name, sql: sql)
    }
}

extension SchemaModel {
    package func table(_ name: String) -> Table? { tables[name.foldedName] }
    package func index(_ name: String) -> Index? { indexes[name.foldedName] }
    package func trigger(_ name: String) -> Trigger? { triggers[name.foldedName] }
    package func view(_ name: String) -> View? { views[name.foldedName] }

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
