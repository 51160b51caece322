import MigrationKit
import MigrationKitCommon
import MigrationKitLint
import MigrationKitSQL

/// What the tests of a folder have found.
package struct FolderTestReport: Sendable {
    /// What is tested.
    package enum Kind: String, CaseIterable, Sendable {
        /// A new database gets all migrations.
        case install
        /// A database of each version gets the next migration, with and without rows.
        case upgrade
        /// Applying what is applied changes nothing.
        case again
        /// What takes a migration back restores the schema and the rows.
        case rollback
        /// Rows that were there are there after a migration.
        case rows
        /// The version before works with a migration that says so.
        case older
        /// The author's own tests.
        case tests
    }

    package struct Case: Sendable {
        package let kind: Kind
        /// The migration, or the file with a test.
        package let name: String
        /// The file in its folder; `nil` for a case of the whole folder.
        package internal(set) var file: String?
        /// From 1.
        package internal(set) var line: Int?
        /// In characters, from 1.
        package internal(set) var column: Int?
        package internal(set) var outcome = Outcome.passed

        package var failure: Failure? {
            if case .failed(let failure) = outcome { failure } else { nil }
        }
    }

    package enum Outcome: Sendable {
        case passed
        /// It couldn't be judged, for this reason.
        case skipped(String)
        case failed(Failure)
    }

    package struct Failure: Sendable {
        /// What is wrong, in one line. Without values of rows, unless the author has written them.
        package let message: String
        /// What was expected (`-`) and what was found (`+`), line by line; may be empty.
        package let difference: String
        /// What to do about it.
        package let advice: String
    }

    /// How many migrations were tested.
    package let migrations: Int

    /// In the order of the migrations; then the author's tests, in the order of their files.
    package let cases: [Case]

    package init(migrations: Int, cases: [Case]) {
        (self.migrations, self.cases) = (migrations, cases)
    }

    /// An error for which nothing could be tested. If it is of no file, it is the folder's: code hosts
    /// don't show what has no place.
    package init(_ error: any CodedError) {
        let place = (error as? MigrationFolderError)?.place ?? (error as? UnusableTest)?.place
        var test = Case(
            kind: .install,
            name: "the folder",
            file: place?.file ?? (error as? MigrationFolderError)?.file ?? ".",
            line: place?.line,
            column: place?.column
        )
        test.outcome = .failed(
            Failure(
                message: error.localizedDescription,
                difference: "",
                advice: error.recoverySuggestion ?? ""
            )
        )
        self.init(migrations: 0, cases: [test])
    }
}

extension FolderTestReport.Failure {
    init(_ failure: CheckFailure) {
        message = failure.finding.localizedDescription
        difference = failure.finding.difference ?? ""
        // The runner knows better what to do about what it refuses, and 'migrate' says the same about an
        // error on a new database.
        let refusal = (failure.cause as? MigrationKitError)?.recoverySuggestion
        var hint: LintAdvice?
        if case .freshInstallFailed = failure.finding {
            hint = (failure.cause as? SQLStatementError).flatMap {
                LintAdvice(sqliteMessage: $0.sqliteMessage)
            }
        }
        advice = refusal ?? hint?.text ?? failure.finding.advice
    }
}
