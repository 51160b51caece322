import GRDB
import MigrationKit
import MigrationKitGRDB

// The code of Sources/MigrationKitGRDB/MigrationKitGRDB.docc/GettingStarted.md.

func notesRunner() throws -> GRDBMigrationRunner {
    try GRDBMigrationRunner(
        steps: [
            .init(
                identifier: "0001_create_notes",
                apply: { db in
                    try db.create(table: "notes") { table in
                        table.autoIncrementedPrimaryKey("id")
                        table.column("title", .text).notNull()
                    }
                    try db.create(index: "notes_title", on: "notes", columns: ["title"])
                },
                rollback: { db in try db.drop(table: "notes") }
            )
        ],
        requiredIndexes: [RequiredIndexSpec(table: "notes", index: "notes_title")]
    )
}

func migrateNotes(at path: String) throws -> DatabaseQueue {
    let database = try DatabaseQueue(path: path)
    let report = try notesRunner().migrate(in: database)
    for step in report.steps {
        print("applied \(step.identifier) in \(step.seconds) s")
    }
    return database
}

func migrateAllOrNothing(_ database: DatabaseQueue) async throws {
    let options = MigrationOptions(
        transaction: .allOrNothing,
        lockTimeout: 60,
        observer: { event in
            if case .stepStarted(let identifier, _, let index, let count) = event {
                print("\(identifier) (\(index) of \(count))")
            }
        }
    )
    try await notesRunner().asyncMigrate(in: database, options: options)
}
