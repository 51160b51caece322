import GRDB
import MigrationKit
import MigrationKitGRDB
import MigrationKitSQLCipher
import SecretService

// The example of Documentation/Embedding.md, compiled as it stands there: in a blocking function, in
// an asynchronous one, and with the asynchronous forms. `DocumentationExampleTests` compares the texts.

package func launch(path: String) throws -> DatabaseQueue {
    let runner = try GRDBMigrationRunner(
        steps: [
            .init(
                identifier: "0001_create_notes",
                apply: { db in
                    try db.create(table: "notes") { table in
                        table.primaryKey("id", .text).notNull().defaults(sql: "(uuid())")
                        table.column("title", .text).notNull()
                    }
                },
                rollback: { db in try db.drop(table: "notes") }
            )
        ]
    )

    let store = EncryptedStore(
        path: path,
        keyStore: SecretServiceKeyStore(),
        service: "com.example.Notes",
        account: "main"
    )
    let database = try store.open()
    try runner.migrate(in: database)
    return database
}

package func blockingLaunch(path: String) async throws -> DatabaseQueue {
    let runner = try GRDBMigrationRunner(
        steps: [
            .init(
                identifier: "0001_create_notes",
                apply: { db in
                    try db.create(table: "notes") { table in
                        table.primaryKey("id", .text).notNull().defaults(sql: "(uuid())")
                        table.column("title", .text).notNull()
                    }
                },
                rollback: { db in try db.drop(table: "notes") }
            )
        ]
    )

    let store = EncryptedStore(
        path: path,
        keyStore: SecretServiceKeyStore(),
        service: "com.example.Notes",
        account: "main"
    )
    let database = try store.open()
    try runner.migrate(in: database)
    return database
}

package func asyncLaunch(path: String) async throws -> DatabaseQueue {
    let runner = try GRDBMigrationRunner(
        steps: [
            .init(
                identifier: "0001_create_notes",
                apply: { db in
                    try db.create(table: "notes") { table in
                        table.primaryKey("id", .text).notNull().defaults(sql: "(uuid())")
                        table.column("title", .text).notNull()
                    }
                },
                rollback: { db in try db.drop(table: "notes") }
            )
        ]
    )

    let store = EncryptedStore(
        path: path,
        keyStore: SecretServiceKeyStore(),
        service: "com.example.Notes",
        account: "main"
    )
    let database = try await store.asyncOpen()
    try await runner.asyncMigrate(in: database)
    return database
}

func preview(
    of database: DatabaseQueue,
    _ runner: GRDBMigrationRunner
) async throws -> MigrationPreview {
    let preview = try await asyncRun { try runner.dryRun(in: database) }
    return preview
}
