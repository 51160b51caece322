import GRDB
import MigrationKit
import MigrationKitGRDB
import MigrationKitLint

// The examples of Documentation/lint. `DocumentationRunTests` compares the texts, and runs them.

/// cascade-deletes: the step in which the rule finds something, and the one in which it doesn't.
public func stepsThatRebuildLists(
    _ rebuildLists: @escaping @Sendable (Database) throws -> Void
) -> (found: MigrationStep<Database>, safe: MigrationStep<Database>) {
    (
        MigrationStep(identifier: "0002_lists", foreignKeyChecks: .immediate, apply: rebuildLists),
        MigrationStep(identifier: "0002_lists", apply: rebuildLists)
    )
}

/// check-incomplete: a step that brings its function along.
public func stepWithItsFunction(_ stem: DatabaseFunction) -> MigrationStep<Database> {
    MigrationStep(identifier: "0002_stems") { db in
        db.add(function: stem)
        try db.execute(sql: "UPDATE notes SET stem = stem(title)")
    }
}

/// Linting.md: what the linter finds in steps.
public func lintSteps(_ steps: [MigrationStep<Database>]) throws -> LintReport {
    let report = try MigrationLint(steps: steps).report()
    return report
}
