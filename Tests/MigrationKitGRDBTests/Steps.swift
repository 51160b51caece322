import GRDB
import MigrationKit
import MigrationKitGRDB

struct PlannedFailure: Error, Equatable {}

/// Steps written as SQL, for tests.
func step(
    _ identifier: String,
    _ up: String,
    down: String? = nil
) -> MigrationStep<Database> {
    var rollback: (@Sendable (Database) throws -> Void)?
    if let down {
        rollback = { try $0.execute(sql: down) }
    }
    return MigrationStep(
        identifier: identifier,
        sourceFile: "\(identifier).sql",
        apply: { try $0.execute(sql: up) },
        rollback: rollback
    )
}

/// Items, tags of items, and an index: three steps that can all be undone.
func itemSteps() -> [MigrationStep<Database>] {
    [
        step(
            "0001_items",
            "CREATE TABLE item (id INTEGER PRIMARY KEY, name TEXT)",
            down: "DROP TABLE item"
        ),
        step(
            "0002_tags",
            """
            CREATE TABLE tag (
                id INTEGER PRIMARY KEY,
                itemId INTEGER NOT NULL REFERENCES item (id) ON DELETE CASCADE
            )
            """,
            down: "DROP TABLE tag"
        ),
        step(
            "0003_tag_index",
            "CREATE INDEX tag_itemId ON tag (itemId)",
            down: "DROP INDEX tag_itemId"
        ),
    ]
}

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
