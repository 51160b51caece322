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

extension String {
    /// Whether SQLite considers two names the same: it ignores the case of ASCII letters.
    func isSameName(as other: String) -> Bool {
        sqliteFolded == other.sqliteFolded
    }

    private var sqliteFolded: [UInt8] {
        utf8.map { (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains($0) ? $0 | 0x20 : $0 }
    }
}
