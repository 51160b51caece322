import GRDB
import MigrationKitGRDB

/// The schema of a database as data, for programs that draw or compare it.
///
/// ```swift
/// let schema = try queue.read(SchemaDescription.init(of:))
/// let picture = GraphvizDiagram(of: schema).text
/// ```
///
/// It has the same objects as `GRDBSchemaSnapshotProvider`: internal tables of SQLite, GRDB or a
/// virtual table are left out. Objects are sorted by name, and columns have the table's order.
public struct SchemaDescription: Codable, Equatable, Sendable {
    /// The tables, including virtual ones, by name.
    public let tables: [Table]

    /// The views, by name.
    public let views: [View]

    /// The triggers, by name.
    public let triggers: [Trigger]

    /// A view.
    public struct View: Codable, Equatable, Sendable {
        /// The view's name.
        public let name: String

        /// Its columns; empty if the view reads from something missing.
        public let columns: [Column]

        /// The statement that creates it.
        public let sql: String
    }

    /// A trigger.
    public struct Trigger: Codable, Equatable, Sendable {
        /// The trigger's name.
        public let name: String

        /// The table or view that it belongs to.
        public let table: String

        /// The statement that creates it.
        public let sql: String
    }

    /// A column of a table or a view.
    public struct Column: Codable, Equatable, Sendable {
        /// The column's name.
        public let name: String

        /// The declared type, such as `TEXT` or `VARCHAR(20)`; empty if none was declared.
        public let type: String

        /// Whether the column is declared `NOT NULL`.
        public let notNull: Bool

        /// The column's position in the primary key, from 1; `nil` if it isn't part of it.
        public let primaryKey: Int?

        /// The default as an SQL expression; `nil` if there is none.
        public let defaultValue: String?

        /// How the column is generated; `nil` if it isn't.
        public let generated: Generated?

        /// Whether `SELECT *` leaves the column out, as with some columns of virtual tables.
        public let hidden: Bool

        private enum CodingKeys: String, CodingKey {
            case name, type, notNull, primaryKey
            case defaultValue = "default"
            case generated, hidden
        }
    }

    /// How a column is generated.
    public enum Generated: String, Codable, Equatable, Sendable {
        /// The value is computed when it is read.
        case virtual

        /// The value is computed when the row is written.
        case stored
    }
}

extension SchemaDescription {
    /// A table.
    public struct Table: Codable, Equatable, Sendable {
        /// The table's name.
        public let name: String

        /// Whether it is a virtual table, of a module such as FTS5.
        public let virtual: Bool

        /// Whether the table is declared `STRICT`.
        public let strict: Bool

        /// Whether the table is declared `WITHOUT ROWID`.
        public let withoutRowid: Bool

        /// The columns, in the table's order.
        public let columns: [Column]

        /// The foreign keys, in the order in which they are declared.
        public let references: [Reference]

        /// The lists of columns that are declared `UNIQUE`.
        public let unique: [[String]]

        /// The indexes that have their own `CREATE INDEX` statement, by name.
        public let indexes: [Index]

        /// The statement that creates the table.
        public let sql: String
    }

    /// A foreign key.
    public struct Reference: Codable, Equatable, Sendable {
        /// The referring columns.
        public let columns: [String]

        /// The table that is referred to. It may not exist.
        public let table: String

        /// The columns that are referred to, in the order of ``columns``. If none were declared,
        /// the primary key; empty if the table doesn't exist either.
        public let referencedColumns: [String]

        /// What an update of the referenced row does, such as `NO ACTION` or `CASCADE`.
        public let onUpdate: String

        /// What a deletion of the referenced row does.
        public let onDelete: String
    }

    /// An index.
    public struct Index: Codable, Equatable, Sendable {
        /// The index's name.
        public let name: String

        /// Whether all rows must differ in it.
        public let unique: Bool

        /// Whether it has only the rows that meet a condition.
        public let partial: Bool

        /// The names of the indexed columns, in order; `nil` for an expression.
        public let columns: [String?]

        /// The statement that creates it.
        public let sql: String
    }
}

extension SchemaDescription.Table {
    /// The columns that `SELECT *` shows.
    var shownColumns: [SchemaDescription.Column] {
        columns.filter { !$0.hidden }
    }

    /// The names of the primary key's columns, in the key's order.
    var primaryKey: [String] {
        columns.filter { $0.primaryKey != nil }
            .sorted { ($0.primaryKey ?? 0) < ($1.primaryKey ?? 0) }
            .map(\.name)
    }

    func column(named name: String) -> SchemaDescription.Column? {
        columns.first { $0.name.isSameName(as: name) }
    }

    /// The lists of columns in which all rows differ.
    var uniqueLists: [[String]] {
        [primaryKey] + unique
            + indexes.filter { $0.unique && !$0.partial && !$0.columns.contains(nil) }
            .map { $0.columns.compactMap(\.self) }
    }

    /// Whether at most one row of this table can have the same reference.
    func isUnique(_ reference: SchemaDescription.Reference) -> Bool {
        let columns = Set(reference.columns.map { $0.lowercased() })
        return uniqueLists.contains { !$0.isEmpty && Set($0.map { $0.lowercased() }) == columns }
    }

    /// Whether every row must refer to another.
    func isRequired(_ reference: SchemaDescription.Reference) -> Bool {
        reference.columns.allSatisfy { column(named: $0)?.notNull ?? false }
    }

    /// The marks of a column in a diagram: `PK`, `FK`, `UK`.
    func marks(of column: SchemaDescription.Column) -> [String] {
        let refers = references.contains { reference in
            reference.columns.contains { $0.isSameName(as: column.name) }
        }
        let isUnique = unique.contains { $0.count == 1 && $0[0].isSameName(as: column.name) }
        return [
            column.primaryKey == nil ? nil : "PK", refers ? "FK" : nil, isUnique ? "UK" : nil,
        ].compactMap(\.self)
    }
}

extension SchemaDescription {
    /// Reads the schema of an open database.
    ///
    /// - Parameter db: A connection to the database.
    /// - Throws: A `DatabaseError` if the schema can't be read.
    public init(of db: Database) throws {
        let objects = Dictionary(grouping: try SchemaObject.own(of: db), by: \.kind)
        tables = try objects[.table, default: []].map { try Table($0, of: db) }
        views = objects[.view, default: []].map { view in
            // SQLite can't list the columns of a view that reads from a missing table.
            let columns = try? Column.all(of: view.name, in: db)
            return View(name: view.name, columns: columns ?? [], sql: view.sql)
        }
        triggers = objects[.trigger, default: []].map {
            Trigger(name: $0.name, table: $0.table, sql: $0.sql)
        }
    }
}

// The columns of the pragmas: <https://www.sqlite.org/pragma.html>

extension SchemaDescription.Table {
    init(_ table: SchemaObject, of db: Database) throws {
        let name = table.name
        let kind = try Row.fetchOne(
            db,
            sql: """
                SELECT type, wr, strict FROM pragma_table_list WHERE schema = 'main' AND name = ?
                """,
            arguments: [name]
        )
        let indexes = try Row.fetchAll(
            db,
            sql: """
                SELECT list.name, list."unique", list.partial, list.origin, object.sql
                FROM pragma_index_list(?) AS list
                JOIN sqlite_master AS object ON object.type = 'index' AND object.name = list.name
                ORDER BY list.name
                """,
            arguments: [name]
        )
        self.name = name
        virtual = kind?["type"] == "virtual"
        withoutRowid = kind?["wr"] ?? false
        strict = kind?["strict"] ?? false
        columns = try SchemaDescription.Column.all(of: name, in: db)
        references = try SchemaDescription.Reference.all(of: name, in: db)
        unique = try indexes.filter { $0["origin"] == "u" }.map {
            try SchemaDescription.Index.columns(of: $0["name"], in: db).compactMap(\.self)
        }
        self.indexes = try indexes.filter { $0["origin"] == "c" }.map { row in
            SchemaDescription.Index(
                name: row["name"],
                unique: row["unique"],
                partial: row["partial"],
                columns: try SchemaDescription.Index.columns(of: row["name"], in: db),
                sql: row["sql"]
            )
        }
        sql = table.sql
    }
}

extension SchemaDescription.Index {
    fileprivate static func columns(of index: String, in db: Database) throws -> [String?] {
        try Optional<String>.fetchAll(
            db,
            sql: "SELECT name FROM pragma_index_info(?) ORDER BY seqno",
            arguments: [index]
        )
    }
}

extension SchemaDescription.Column {
    fileprivate static func all(of table: String, in db: Database) throws -> [Self] {
        try Row.fetchAll(
            db,
            sql: "SELECT * FROM pragma_table_xinfo(?) ORDER BY cid",
            arguments: [table]
        ).map { row in
            let place: Int = row["pk"]
            let hidden: Int = row["hidden"]
            return Self(
                name: row["name"],
                type: row["type"],
                notNull: row["notnull"],
                primaryKey: place > 0 ? place : nil,
                defaultValue: row["dflt_value"],
                generated: hidden == 2 ? .virtual : hidden == 3 ? .stored : nil,
                hidden: hidden == 1
            )
        }
    }
}

extension SchemaDescription.Reference {
    fileprivate static func all(of table: String, in db: Database) throws -> [Self] {
        // The key that was declared last has the number 0.
        let rows = try Row.fetchAll(
            db,
            sql: "SELECT * FROM pragma_foreign_key_list(?) ORDER BY id DESC, seq",
            arguments: [table]
        )
        let numbers = rows.reduce(into: [Int]()) { numbers, row in
            if numbers.last != row["id"] { numbers.append(row["id"]) }
        }
        return try numbers.compactMap { number in
            let key = rows.filter { $0["id"] == number }
            guard let first = key.first else { return nil }
            let referenced = key.compactMap { $0["to"] as String? }
            return Self(
                columns: key.map { $0["from"] },
                table: first["table"],
                referencedColumns: referenced.count == key.count
                    ? referenced : try primaryKey(of: first["table"], in: db),
                onUpdate: first["on_update"],
                onDelete: first["on_delete"]
            )
        }
    }

    private static func primaryKey(of table: String, in db: Database) throws -> [String] {
        try String.fetchAll(
            db,
            sql: "SELECT name FROM pragma_table_xinfo(?) WHERE pk > 0 ORDER BY pk",
            arguments: [table]
        )
    }
}
