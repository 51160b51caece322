import Foundation
import GRDB
import MigrationKitGRDB
import MigrationKitSQL

// The code of Sources/MigrationKitSQL/MigrationKitSQL.docc/GettingStarted.md.

func migrate(_ database: DatabaseQueue, withResourcesOf bundle: Bundle) throws {
    let folder = try MigrationFolder(
        path: bundle.bundleURL.appendingPathComponent("migrations").path
    )
    for note in folder.notes {
        print(note)
    }
    let runner = try GRDBMigrationRunner(steps: folder.steps, enforceLexicographicOrder: false)
    try runner.migrate(in: database)
}
