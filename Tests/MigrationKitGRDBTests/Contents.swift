import GRDB

struct PlannedFailure: Error, Equatable {}

/// Everything in a database that a migration can change.
struct Contents: Equatable {
    var schema: [String]
    var ledger: Set<String>

    init(of writer: any DatabaseWriter) throws {
        schema = try writer.read { db in
            try String.fetchAll(
                db,
                sql: "SELECT ifnull(sql, name) FROM sqlite_master"
                    + " WHERE tbl_name NOT LIKE 'grdb_migration%' ORDER BY name"
            )
        }
        ledger = try writer.read { db in
            guard try db.tableExists("grdb_migrations") else { return [] }
            return try String.fetchSet(db, sql: "SELECT identifier FROM grdb_migrations")
        }
    }
}
