import MigrationKit

// The code of Sources/MigrationKit/MigrationKit.docc/GettingStarted.md.

final class Connection: Sendable {
    func execute(_ sql: String) throws {
        print(sql)
    }
}

func notesSteps() throws -> MigrationRegistry<Connection> {
    try MigrationRegistry(
        steps: [
            MigrationStep(
                identifier: "0001_create_notes",
                apply: { try $0.execute("CREATE TABLE notes (id INTEGER PRIMARY KEY)") },
                rollback: { try $0.execute("DROP TABLE notes") }
            ),
            MigrationStep(
                identifier: "0002_add_titles",
                apply: { try $0.execute("ALTER TABLE notes ADD COLUMN title TEXT") }
            ),
        ]
    )
}
