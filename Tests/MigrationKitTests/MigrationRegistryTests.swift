import Foundation
import MigrationKit
import Testing

/// The core is generic: these steps change a dictionary.
private final class Box {
    var values: [String: String] = [:]
}

private func step(_ identifier: String, reversible: Bool = false) -> MigrationStep<Box> {
    let rollback: (@Sendable (Box) throws -> Void) = { $0.values[identifier] = nil }
    return MigrationStep(
        identifier: identifier,
        sourceFile: "\(identifier).swift",
        apply: { $0.values[identifier] = "applied" },
        rollback: reversible ? rollback : nil
    )
}

@Suite struct MigrationRegistryTests {
    @Test func keepsTheStepsInTheirOrder() throws {
        let registry = try MigrationRegistry(steps: [
            step("0001_a"), step("0002_b", reversible: true), step("0003_c"),
        ])
        #expect(registry.identifiers == ["0001_a", "0002_b", "0003_c"])
        #expect(registry.rollbackCapableIdentifiers == ["0002_b"])
        #expect(registry.manifest.map(\.identifier) == registry.identifiers)
        #expect(registry.manifest.map(\.sourceFile) == registry.identifiers.map { $0 + ".swift" })
    }

    @Test func carriesTheClosures() throws {
        let box = Box()
        let registry = try MigrationRegistry(steps: [step("0001_a", reversible: true)])
        try registry.steps[0].apply(box)
        #expect(box.values == ["0001_a": "applied"])
        try registry.steps[0].rollback?(box)
        #expect(box.values.isEmpty)
    }

    @Test func acceptsNoSteps() throws {
        #expect(try MigrationRegistry<Box>(steps: []).identifiers.isEmpty)
    }

    @Test func refusesDuplicatesAndNamesEachOnce() {
        #expect(throws: MigrationKitError.duplicateIdentifiers(["0001_a", "0002_b"])) {
            try MigrationRegistry(
                steps: ["0002_b", "0001_a", "0001_a", "0002_b", "0001_a"].map { step($0) }
            )
        }
    }

    @Test func refusesDuplicatesWithoutOrderToo() {
        #expect(throws: MigrationKitError.duplicateIdentifiers(["a"])) {
            try MigrationRegistry(
                steps: ["b", "a", "a"].map { step($0) },
                enforceLexicographicOrder: false
            )
        }
    }

    @Test func refusesDisorderAndTellsBothOrders() {
        let actual = ["0001_a", "0003_c", "0002_b"]
        #expect(
            throws: MigrationKitError.identifiersOutOfOrder(
                expected: ["0001_a", "0002_b", "0003_c"],
                actual: actual
            )
        ) {
            try MigrationRegistry(steps: actual.map { step($0) })
        }
    }

    @Test func acceptsAnyOrderWhereNoneIsEnforced() throws {
        let registry = try MigrationRegistry(
            steps: [step("b"), step("a")],
            enforceLexicographicOrder: false
        )
        #expect(registry.identifiers == ["b", "a"])
    }
}

@Suite struct MigrationKitErrorTests {
    static let all: [MigrationKitError] = [
        .duplicateIdentifiers(["0001_a"]),
        .identifiersOutOfOrder(expected: ["a", "b"], actual: ["b", "a"]),
        .unknownMigrationTarget("x"),
        .unknownMigrationIdentifier("x"),
        .rollbackNotDefined("x"),
        .rollbackStepCountMustBeNonNegative(-1),
        .rollbackMustTargetLatestApplied(latestApplied: "b", requested: "a"),
        .targetBehindDatabase(target: "a", latestApplied: "b"),
        .databaseIsNewer(unknown: ["z"]),
        .pendingBeforeApplied(pending: ["a"], latestApplied: "b"),
        .mergesRegisteredMigration(merged: "a", by: "b"),
        .notForAllOrNothing("a", .usesNoTransaction),
        .notForAllOrNothing("a", .mixedForeignKeyChecks),
        .locked(path: "/tmp/a.db", holder: 7, seconds: 30),
        .cannotLock(path: "/tmp/a.db-migration.lock", code: EACCES),
        .baselineOnMigratedDatabase(latestApplied: "a"),
        .stepEndedTransaction("x"),
    ]

    @Test(arguments: all) func saysWhatIsWrongAndWhatToDo(_ error: MigrationKitError) throws {
        let description = try #require(error.errorDescription)
        #expect(!description.contains("\n"))
        #expect(try #require(error.recoverySuggestion).hasSuffix("."))
    }

    @Test func disorderNamesTheFirstIdentifierOutOfPlace() {
        let error = MigrationKitError.identifiersOutOfOrder(
            expected: ["1", "2", "3"],
            actual: ["1", "3", "2"]
        )
        #expect(
            error.errorDescription
                == "the migrations are out of order: '3' comes before '2'"
        )
    }
}
