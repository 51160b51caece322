import MigrationKitLint
import MigrationKitSQL
import MigrationKitSchema
import TestSupport
import Testing

/// Random pairs of schemas: the migration between them is proved as `create --to` does, with all
/// hazards allowed, and the linter finds nothing in what is written.
@Suite struct RandomPairProofTests {
    @Test func everyPairIsProvedAndLintClean() throws {
        let numbers = RandomPair.numbers(20)
        var failures = 0
        for number in numbers {
            let pair = RandomPair(number: number)
            do {
                let findings = try findings(in: pair)
                guard !findings.isEmpty else { continue }
                Issue.record("\(findings.joined(separator: "\n"))\n\(pair)")
            } catch {
                Issue.record(
                    "\((error as? SchemaMigrationProofError)?.errorDescription ?? "\(error)")\n\(pair)"
                )
            }
            failures += 1
        }
        if numbers.count > 1000 { print("\(numbers): \(failures) failures") }
    }

    private func findings(in pair: RandomPair) throws -> [String] {
        let from = try DatabaseSchema(sql: pair.fromStatements.joined(separator: ";\n"))
        let difference = try SchemaDifference(
            from: from,
            to: DatabaseSchema(sql: pair.toStatements.joined(separator: ";\n")),
            renames: pair.schemaRenames
        )
        guard !difference.isEmpty else { return [] }
        let migration = try SchemaMigration(difference, backfills: pair.backfills)
        let proof = SchemaMigrationProof(
            of: migration,
            between: difference,
            backfilling: pair.backfills.keys
        )
        try proof.run()
        let written = try proof.sql(as: .dbmate)
        let folder = try MigrationFolder.inMemory(
            [("present", NewMigrationSQL(up: from.statements)), ("wanted", written)],
            format: .dbmate
        )
        var lint = MigrationLint(folder: folder)
        lint.selection = folder.steps.last.map { [$0.identifier] }
        return try lint.report().lines()
    }
}
