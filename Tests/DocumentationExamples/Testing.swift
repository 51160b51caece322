import GRDB
import MigrationKitSQL
import MigrationKitTestSupport

// The examples of Documentation/Testing.md. `DocumentationExampleTests` compares the texts.

func checkFolder() throws {
    let steps = try MigrationFolder(path: "migrations").steps
    let check = MigrationCheck(steps: steps)
    try check.everything()
}

package func checkNotes(_ check: MigrationCheck) throws {
    try check.rows(
        plantedAt: "0001_create_notes",
        plant: { db in
            try db.execute(sql: "INSERT INTO notes (id, title) VALUES (1, 'Lisbon')")
        },
        survive: { db in
            let titles = try String.fetchAll(db, sql: "SELECT title FROM notes")
            guard titles == ["Lisbon"] else { throw DatabaseError(message: "a note is lost") }
        }
    )
}
