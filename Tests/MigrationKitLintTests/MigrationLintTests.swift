import GRDB
import MigrationKit
import MigrationKitLint
import MigrationKitSQL
import TestSupport
import Testing

@Suite struct MigrationLintTests {
    private static let note = "CREATE TABLE note (id INTEGER PRIMARY KEY, title TEXT);"

    @Test func namesOfRulesAreUnique() {
        #expect(Set(LintRule.allCases.map(\.rawValue)).count == LintRule.allCases.count)
    }

    @Test func aFindingHasItsPlace() throws {
        let report = try lint([
            "\(Self.note)\nCREATE TABLE tag (id INTEGER);", "SELECT 1;\n  DROP TABLE tag;",
        ])
        let finding = try #require(report.findings(of: .dropTable).first)
        #expect(finding.migration == "2_step")
        #expect(finding.file == "2_step.sql")
        #expect(finding.line == 2 && finding.column == 3)
        #expect(report.checked == 2)
    }

    @Test func stepsInSwiftAreCheckedLikeFiles() throws {
        let steps = [
            MigrationStep<Database>(identifier: "1") { db in
                try db.create(table: "note") { $0.primaryKey("id", .integer) }
                try db.execute(sql: "INSERT INTO note VALUES (?)", arguments: [1])
            },
            MigrationStep<Database>(identifier: "2") { try $0.drop(table: "note") },
        ]
        #expect(try MigrationLint(steps: steps).report().lines() == ["2 drop-table"])
    }
}
