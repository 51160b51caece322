import GRDB
import MigrationKitGRDB

/// The content of a database: its schema and its rows, including the ledger.
struct DatabaseContents {
    private let schema: SchemaSnapshot
    private var rows: [String: [[DatabaseValue]]] = [:]

    init(of database: DatabaseQueue) throws {
        schema = try SchemaSnapshot(of: database)
        rows = try database.read { db in
            // The rows of a virtual table are in its shadow tables.
            let tables = try String.fetchAll(
                db,
                sql: """
                    SELECT name FROM sqlite_master
                    WHERE type = 'table' AND sql NOT LIKE 'CREATE VIRTUAL%'
                    """
            )
            return try tables.reduce(into: [:]) { rows, table in
                let name = GRDBMigrationSQLHelpers.quoted(table)
                rows[table] = try Row.fetchAll(db, sql: "SELECT * FROM \(name)")
                    .map { Array($0.databaseValues) }
            }
        }
    }

    /// What has changed since other contents; empty if nothing has.
    func difference(from before: DatabaseContents) -> String {
        let tables = Set(rows.keys).union(before.rows.keys).sorted()
        let changes = tables.compactMap { table -> String? in
            guard let old = before.rows[table], let new = rows[table], old != new else {
                return nil
            }
            return old.count == new.count
                ? "  table \(table): its rows have other values"
                : "- table \(table): \(count(old))\n+ table \(table): \(count(new))"
        }
        return ([schema.difference(from: before.schema)] + changes)
            .filter { !$0.isEmpty }
            .joined(separator: "\n")
    }

    private func count(_ rows: [[DatabaseValue]]) -> String {
        "\(rows.count) \(rows.count == 1 ? "row" : "rows")"
    }
}
