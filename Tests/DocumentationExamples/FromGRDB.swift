import GRDB
import MigrationKitKeys
import MigrationKit
import MigrationKitGRDB
import MigrationKitSQLCipher

// The examples of Documentation/FromGRDB.md. `DocumentationExampleTests` compares the texts.

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

/// Copies the rows of another database.
public func copyNotes(into database: DatabaseQueue, key: DatabaseKey) throws {
    try database.writeWithoutTransaction { db in
        try EncryptedDatabase.attach("/home/me/old.db", as: "old", key: key, to: db)
        try db.execute(sql: "INSERT INTO notes (id, title) SELECT id, title FROM old.notes")
        try db.execute(sql: "DETACH DATABASE old")
    }
}
