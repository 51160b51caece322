import GRDB
import MigrationKit
import MigrationKitGRDB
import TestSupport

typealias Step = GRDBMigrationRunner.Step

/// Steps that nothing is wrong with: items, tags of items, a rebuild of the parent, an index.
func soundSteps() -> [Step] {
    itemSteps().prefix(2) + [
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
