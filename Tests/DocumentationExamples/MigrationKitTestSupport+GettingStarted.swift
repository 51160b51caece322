import GRDB
import MigrationKitGRDB
import MigrationKitTestSupport

// The code of Sources/MigrationKitTestSupport/MigrationKitTestSupport.docc/GettingStarted.md.

func checkMigrations(_ steps: [GRDBMigrationRunner.Step]) throws {
    let check = MigrationCheck(steps: steps)
    try check.everything()
    try check.rows(
        plantedAt: "0001_create_notes",
        plant: { db in
            try db.execute(sql: "INSERT INTO notes (id, title) VALUES (1, 'Lisbon')")
        },
        survive: { db in
            guard try String.fetchOne(db, sql: "SELECT title FROM notes") == "Lisbon" else {
                throw DatabaseError(message: "the note is lost")
            }
        }
    )
}
