import MigrationKit
import Testing

@Suite struct MigrationStepTests {
    @Test func sourceFileIsTheOneThatMakesTheStepUnlessItIsNamed() {
        let step = MigrationStep<Int>(identifier: "a", apply: { _ in })
        #expect(step.sourceFile == #fileID)
        let trailing = MigrationStep<Int>(identifier: "a") { _ in }
        #expect(trailing.sourceFile == #fileID)
        let merging = MigrationStep<Int>(identifier: "b", merging: ["a"]) { _, _ in }
        #expect(merging.sourceFile == #fileID)
        let named = MigrationStep<Int>(identifier: "a", sourceFile: "a.swift") { _ in }
        #expect(named.sourceFile == "a.swift")
    }

    @Test func mergingStepHasAChecksumUnlessItKeepsTheNameOfAMergedOne() {
        func checksum(_ identifier: String) -> String? {
            MigrationStep<Int>(identifier: identifier, merging: ["a", "b"], checksum: "sum") {
                _,
                _ in
            }.checksum
        }
        #expect(checksum("c") == "sum")
        #expect(checksum("b") == nil)
    }
}
