import GRDB
import MigrationKit

/// A step written as SQL.
public func step(
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
public func itemSteps() -> [MigrationStep<Database>] {
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
