import GRDB
import MigrationKit
import MigrationKitGRDB
import MigrationKitSQL

// The example of Documentation/UserVersion.md. `DocumentationExampleTests` compares the texts.

/// Takes over a database whose version an app's code has counted, with the folder `migrations`.
public func migrateFromUserVersion(_ writer: any DatabaseWriter) throws {
    let folder = try MigrationFolder(path: "migrations")
    let runner = try GRDBMigrationRunner(steps: folder.steps)
    if try runner.appliedMigrationIdentifiers(in: writer).isEmpty {
        do {
            try runner.baseline(in: writer) { db in
                try folder.identifiersApplied(by: .userVersion, in: db)
            }
        } catch MigrationKitError.baselineOnMigratedDatabase {
            // Another process of the app was faster.
        }
    }
    try runner.migrate(in: writer)
}
