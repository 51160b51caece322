import GRDB
import MigrationKit
import MigrationKitGRDB

// The example of Documentation/FromGRDB.md. `DocumentationExampleTests` compares the texts.

/// Migrates a database that GRDB's own migrator may have begun.
public func migrateAsBefore(_ database: DatabaseQueue) throws {
    let runner = try GRDBMigrationRunner(
        steps: [
            MigrationStep(
                identifier: "v1",
                apply: { db in
                    try db.create(table: "notes") { table in
                        table.autoIncrementedPrimaryKey("id")
                        table.column("title", .text).notNull()
                    }
                }
            ),
            MigrationStep(
                identifier: "v2",
                apply: { db in
                    try db.alter(table: "notes") { $0.add(column: "pinned", .boolean) }
                },
                rollback: { db in
                    try db.alter(table: "notes") { $0.drop(column: "pinned") }
                }
            ),
        ],
        enforceLexicographicOrder: false
    )
    try runner.migrate(in: database)
}
