import GRDB
import MigrationKit
import MigrationKitGRDB

typealias Step = GRDBMigrationRunner.Step

/// A step written as SQL.
func step(_ identifier: String, _ up: String, down: String? = nil) -> Step {
    var rollback: (@Sendable (Database) throws -> Void)?
    if let down {
        rollback = { try $0.execute(sql: down) }
    }
    return Step(
        identifier: identifier,
        sourceFile: "\(identifier).sql",
        apply: { try $0.execute(sql: up) },
        rollback: rollback
    )
}

/// Steps that nothing is wrong with: items, tags of items, a rebuild of the parent, an index.
func soundSteps() -> [Step] {
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
        step("0003_names", rebuild("name TEXT NOT NULL"), down: rebuild("name TEXT")),
        step("0004_seed", "INSERT INTO item VALUES (-1, 'example')"),
        step(
            "0005_index",
            "CREATE INDEX tag_itemId ON tag (itemId)",
            down: "DROP INDEX tag_itemId"
        ),
    ]
}

/// SQLite's procedure for a change that `ALTER TABLE` can't make.
private func rebuild(_ column: String) -> String {
    """
    CREATE TABLE item_new (id INTEGER PRIMARY KEY, \(column));
    INSERT INTO item_new SELECT id, ifnull(name, '') FROM item;
    DROP TABLE item;
    ALTER TABLE item_new RENAME TO item;
    """
}
