import GRDB
import MigrationKit
import MigrationKitGRDB
import MigrationKitSQL

// The examples of Documentation/Correcting.md. `DocumentationExampleTests` compares the texts.

/// A step that failed where there were duplicates, as the next release has it.
public func correctedStep() -> MigrationStep<Database> {
    let uniqueEmail = MigrationStep<Database>(
        identifier: "0003_unique_email",
        apply: { db in
            try db.execute(
                sql: """
                    DELETE FROM account WHERE email IS NOT NULL
                        AND id NOT IN (SELECT min(id) FROM account GROUP BY email)
                    """
            )
            try db.execute(sql: "CREATE UNIQUE INDEX account_email ON account (email)")
        }
    )
    return uniqueEmail
}

/// Applies a folder that has got a migration before one that is applied.
public func migrateWithALateMigration(_ folder: String, in database: any DatabaseWriter) throws {
    let runner = try GRDBMigrationRunner(
        steps: MigrationFolder(path: folder).steps,
        enforceLexicographicOrder: false,
        allowsOutOfOrder: true
    )
    try runner.migrate(in: database)
}

/// Accepts the text of a migration that was changed after it was applied.
public func migrateAcceptingTheText(
    _ runner: GRDBMigrationRunner,
    in database: any DatabaseWriter
) throws {
    try runner.repairMigrations(["0003_unique_email"], in: database)
    try runner.migrate(in: database)
}

/// Changes the rows before the step that doesn't allow them.
public func migrateAfterADecision(
    _ runner: GRDBMigrationRunner,
    in database: any DatabaseWriter,
    mergeAccounts: (Database) throws -> Void
) throws {
    if try runner.pendingMigrationIdentifiers(in: database).contains("0003_unique_email") {
        try database.write(mergeAccounts)
    }
    try runner.migrate(in: database)
}
