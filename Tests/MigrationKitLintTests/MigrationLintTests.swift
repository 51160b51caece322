import MigrationKitLint
import Testing

@Suite struct MigrationLintTests {
    @Test func namesOfRulesAreUnique() {
        #expect(Set(LintRule.allCases.map(\.rawValue)).count == LintRule.allCases.count)
    }
}
