import GRDB
import GRDBSQLite
import MigrationKit

/// An object of a schema that has a statement: a row of `sqlite_schema`.
/// <https://www.sqlite.org/schematab.html>
///
/// Two are equal if they are defined in the same way, wherever their pages are.
package struct SchemaObject: Sendable {
    /// In the order in which a script can create them.
    package enum Kind: String, CaseIterable, Sendable {
        case table, index, view, trigger
    }

    package let kind: Kind
    package let name: String
    /// The table or view that it belongs to; itself, for a table or view.
    package let table: String
    /// 0 if it has no pages of its own.
    package let rootPage: Int
    /// The statement that creates it, without what may follow that.
    package let sql: String

    package init(kind: Kind, name: String, table: String, rootPage: Int = 0, sql: String) {
        (self.kind, self.name, self.table) = (kind, name, table)
        (self.rootPage, self.sql) = (rootPage, sql)
    }

    private init(_ row: Row) {
        kind = Kind(rawValue: row[0]) ?? .table
        (name, table, rootPage) = (row[1], row[2], row[3])
        let text: String = row[4]
        sql = text.firstStatement
    }

    /// - Parameter statement: Its columns are those of `sqlite_schema`, after the row's number.
    /// - Returns: `nil` if it is of SQLite or of GRDB.
    init?(ownOf statement: OpaquePointer) {
        // SQLite reads its schema as text, so a number or a text may be stored in another form.
        func text(_ column: Int32) -> String {
            sqlite3_column_text(statement, column).map { String(cString: $0) } ?? ""
        }
        (name, table) = (text(2), text(3))
        let owner = table.foldedName
        guard !owner.hasPrefix("sqlite_"), !owner.hasPrefix("grdb_") else { return nil }
        kind = Kind(rawValue: text(1)) ?? .table
        rootPage = Int(sqlite3_column_int64(statement, 4))
        sql = text(5).firstStatement
    }

    /// `index notes_title`
    package var title: String { "\(kind.rawValue) \(name)" }

    /// SQLite itself has written the text up to the name.
    package var isVirtualTable: Bool { kind == .table && sql.hasPrefix("CREATE VIRTUAL TABLE ") }
}

extension SchemaObject: Hashable {
    package static func == (one: Self, other: Self) -> Bool {
        one.kind == other.kind && one.name == other.name && one.table == other.table
            && one.sql == other.sql
    }

    package func hash(into hasher: inout Hasher) {
        hasher.combine(kind)
        hasher.combine(name)
        hasher.combine(sql)
    }
}

// MARK: - Reading

extension SchemaObject {
    /// All objects with a statement, in the order in which they were created.
    package static func all(of db: Database) throws -> [SchemaObject] {
        try read(db, "main.sqlite_schema", "ORDER BY rowid")
    }

    /// The temporary ones.
    package static func temporary(of db: Database) throws -> [SchemaObject] {
        try read(db, "sqlite_temp_schema")
    }

    /// Those that aren't of SQLite, of GRDB, or of a virtual table, whose owners create them: tables
    /// first, then indexes, views and triggers, each kind sorted by name.
    package static func own(of db: Database) throws -> [SchemaObject] {
        try own(
            of: db,
            """
            ORDER BY
                CASE type WHEN 'table' THEN 1 WHEN 'index' THEN 2 WHEN 'view' THEN 3 ELSE 4 END,
                CAST(name AS TEXT)
            """
        )
    }

    /// The same in any order, which takes less time.
    package static func ownInAnyOrder(of db: Database) throws -> [SchemaObject] {
        try own(of: db, "")
    }

    private static func own(of db: Database, _ order: String) throws -> [SchemaObject] {
        let objects = try read(
            db,
            "main.sqlite_schema",
            "AND \(areOwn) \(order)"
        )
        guard objects.contains(where: \.isVirtualTable) else { return objects }
        let shadows = try shadowTables(of: db)
        return objects.filter { !shadows.contains($0.table) }
    }

    /// The tables in which virtual tables keep their content.
    /// <https://www.sqlite.org/vtab.html#xshadowname>
    static func shadowTables(of db: Database) throws -> Set<String> {
        let statement = try db.cachedStatement(
            sql: """
                SELECT name FROM pragma_table_list WHERE schema = 'main' AND type = 'shadow'
                """
        )
        return try String.fetchSet(statement)
    }

    /// The condition of those that aren't of SQLite or GRDB.
    private static let areOwn = """
        tbl_name NOT LIKE 'sqlite\\_%' ESCAPE '\\' AND tbl_name NOT LIKE 'grdb\\_%' ESCAPE '\\'
        """

    /// A table, by the name with which it was created.
    package static func table(_ name: String, in db: Database) throws -> SchemaObject? {
        try read(db, "main.sqlite_schema", "AND type = 'table' AND name = ?", [name]).first
    }

    private static func read(
        _ db: Database,
        _ schema: String,
        _ rest: String = "",
        _ arguments: StatementArguments = []
    ) throws -> [SchemaObject] {
        // SQLite reads its schema as text, so a number or a text may be stored in another form.
        let statement = try db.cachedStatement(
            sql: """
                SELECT CAST(type AS TEXT), CAST(name AS TEXT), CAST(tbl_name AS TEXT),
                    CAST(rootpage AS INTEGER), CAST(sql AS TEXT)
                FROM \(schema)
                WHERE sql IS NOT NULL \(rest)
                """
        )
        let rows = try Row.fetchCursor(statement, arguments: arguments)
        var objects: [SchemaObject] = []
        while let row = try rows.next() { objects.append(SchemaObject(row)) }
        return objects
    }
}

// MARK: - Fingerprint

extension [SchemaObject] {
    /// A hash of the objects and of the steps that gave them; `nil` if a step has no checksum, so
    /// that it may have been changed since.
    func fingerprint(of steps: some Sequence<MigrationStep<Database>>) -> String? {
        // The seed is the same everywhere, since databases keep the hash.
        var hash = SipHash(seed: (0, 0))
        for object in self {
            for text in [object.kind.rawValue, object.name, object.sql] { hash.add(text) }
        }
        for step in steps {
            guard let checksum = step.checksum else { return nil }
            hash.add(step.identifier)
            hash.add(checksum)
        }
        let (one, two) = hash.finish()
        return [one, two].map { word in
            let digits = String(word, radix: 16)
            return String(repeating: "0", count: 16 - digits.count) + digits
        }.joined()
    }
}
