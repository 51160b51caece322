import MigrationKitLint
import MigrationKitSchema

// The example of Documentation/SchemaDifference.md. `DocumentationExampleTests` compares the texts.

func migrate(from installed: DatabaseSchema, to wanted: DatabaseSchema) throws {
    let difference = try SchemaDifference(from: installed, to: wanted)
    let migration = try SchemaMigration(difference)
    guard migration.hazards.isEmpty else { return }
    try SchemaMigrationProof(of: migration, between: difference).run()
}
