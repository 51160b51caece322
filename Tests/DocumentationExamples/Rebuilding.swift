import GRDB
import MigrationKitSchema

// The examples of Documentation/Rebuilding.md. `DocumentationExampleTests` compares the texts.

package func renameAndRequire(in db: Database) throws {
    try db.rebuild("notes", columns: ["body": "text"]) { table in
        table.autoIncrementedPrimaryKey("id")
        table.column("body", .text).notNull()
        table.column("stars", .integer).notNull().defaults(to: 0)
    }
}

package func dropAndRequire(in db: Database) throws {
    try db.rebuild(
        "notes",
        as: "CREATE TABLE notes (id INTEGER PRIMARY KEY, title TEXT NOT NULL) STRICT",
        columns: ["title": "coalesce(title, '')"],
        dropping: [.column("color"), .index("notes_color")]
    )
}

package func smallerChanges(in db: Database) throws {
    try GRDBMigrationSQLHelpers.addColumnIfMissing("slug", "TEXT", to: "notes", in: db)
    try db.execute(sql: "UPDATE notes SET slug = lower(title) WHERE slug IS NULL")
    try GRDBMigrationSQLHelpers.requireValue(of: "slug", in: "notes", in: db)
    try GRDBMigrationSQLHelpers.changeType(of: "stars", in: "notes", to: "INTEGER", in: db)
}
