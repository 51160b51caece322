import GRDB
import MigrationKit
import MigrationKitGRDB

/// The content of a database: its schema and its rows.
struct DatabaseContents {
    private let schema: SchemaSnapshot
    private let rows: TableContents

    /// - Parameter names: The tables whose rows to read, by their names in lower case; `nil` for all,
    ///   including the ledger.
    init(of database: DatabaseQueue, _ names: Set<String>? = nil) throws {
        schema = try SchemaSnapshot(of: database)
        rows = try TableContents(of: database, names)
    }

    /// What has changed since other contents; empty if nothing has.
    func difference(from before: DatabaseContents) -> String {
        [schema.difference(from: before.schema), rows.difference(from: before.rows)]
            .filter { !$0.isEmpty }
            .joined(separator: "\n")
    }
}

/// The rows of tables.
struct TableContents {
    struct Table {
        let name: String
        /// In lower case. Generated ones, too: their values follow from the others.
        let columns: [String]
        let rows: [[DatabaseValue]]
        /// The columns whose values are computed.
        var generated: Set<String> = []
        /// The columns that hold texts.
        var texts: Set<String> = []
    }

    /// By name in lower case.
    let tables: [String: Table]

    /// - Parameter names: The tables, by their names in lower case; `nil` for all.
    init(of database: DatabaseQueue, _ names: Set<String>?) throws {
        tables = try database.read { db in
            // The rows of a virtual table are in its shadow tables.
            let tables = try String.fetchAll(
                db,
                sql: """
                    SELECT name FROM sqlite_master
                    WHERE type = 'table' AND sql NOT LIKE 'CREATE VIRTUAL%'
                    """
            )
            return try tables.reduce(into: [:]) { contents, table in
                guard names?.contains(table.foldedName) ?? true else { return }
                let sql = "SELECT * FROM main.\(GRDBMigrationSQLHelpers.quoted(table))"
                let statement = try db.makeStatement(sql: sql)
                let kinds = try Row.fetchAll(
                    db,
                    sql: "SELECT name, type, hidden FROM pragma_table_xinfo(?, 'main')",
                    arguments: [table]
                )
                func columns(where isMeant: (Row) -> Bool) -> Set<String> {
                    Set(kinds.filter(isMeant).map { ($0[0] as String).foldedName })
                }
                contents[table.foldedName] = Table(
                    name: table,
                    columns: statement.columnNames.map(\.foldedName),
                    rows: try Row.fetchAll(statement).map { Array($0.databaseValues) },
                    generated: columns { $0[2] as Int > 1 },
                    texts: columns { ColumnAffinity(of: $0[1]) == .text }
                )
            }
        }
    }

    /// What has changed since other contents; empty if nothing has.
    func difference(from before: TableContents) -> String {
        let names = Set(tables.keys).union(before.tables.keys).sorted()
        return names.compactMap { name -> String? in
            guard let old = before.tables[name]?.rows, let new = tables[name], old != new.rows
            else { return nil }
            return old.count == new.rows.count
                ? "  table \(new.name): its rows have other values"
                : Self.difference(of: new.name, old.count, new.rows.count)
        }.joined(separator: "\n")
    }

    /// The difference between the numbers of a table's rows.
    static func difference(of table: String, _ before: Int, _ after: Int) -> String {
        func count(_ rows: Int) -> String { "\(rows) \(rows == 1 ? "row" : "rows")" }
        return "- table \(table): \(count(before))\n+ table \(table): \(count(after))"
    }
}
