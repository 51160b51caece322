import Foundation
import TestSupport
import Testing

/// A folder in the form of each tool, given to ours as it is.
@Suite struct FormatTests {
    @Test(arguments: [
        ("dbmate", 5), ("goose", 5), ("golang-migrate", 4), ("sqlx/reversible", 5), ("diesel", 5),
        ("flyway", 4),
    ])
    func aFolderOfAnotherToolIsAppliedTakenBackAndApplied(folder: String, count: Int) throws {
        let tool = try Tool(isRawKey: true)
        let migrations = PackageFolder.path("Tests/MigrationKitSQLTests/Fixtures/\(folder)")
        func run(_ command: String, _ arguments: String...) throws -> ProcessResult {
            try tool.run([command] + tool.opening + ["--migrations", migrations] + arguments)
        }
        let schema = "SELECT name, sql FROM sqlite_schema WHERE name NOT LIKE '%grdb%' ORDER BY 1;"

        let applied = try run("migrate", "--json")
        #expect(applied.status == 0, "\(applied)")
        #expect((try applied.json()["applied"] as? [Any])?.count == count)
        let first = try tool.shell(schema)
        #expect(first.contains("recipes_changed"))

        let takenBack = try run("rollback", "--steps", "\(count)")
        #expect(takenBack.status == 0, "\(takenBack)")
        #expect(try tool.shell(schema).isEmpty)

        #expect(try run("migrate").status == 0)
        #expect(try tool.shell(schema) == first)
        #expect(try tool.shell("SELECT count(*) FROM recipes;") == "3")
    }
}
