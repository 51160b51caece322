import GRDB
import MigrationKitGRDB
import MigrationKitLint

// The code of Sources/MigrationKitLint/MigrationKitLint.docc/GettingStarted.md.

func lintMigrations(_ steps: [GRDBMigrationRunner.Step]) throws {
    var lint = MigrationLint(steps: steps)
    lint.levels = [.tableNotStrict: nil as LintLevel?]
    let errors = try lint.report().findings.filter { $0.level == .error }
    for error in errors {
        print("\(error.migration): \(error.message)")
    }
    guard errors.isEmpty else {
        throw DatabaseError(message: "migrations lose data")
    }
}
