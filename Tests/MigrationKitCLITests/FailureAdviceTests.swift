import GRDB
import MigrationKit
import MigrationKitGRDB
import Testing

@testable import MigrationKitCLI

/// A step in Swift that fails is reported with the table of its statement, the safe pattern and the
/// page of the rule, but without the statement's values.
@Suite struct FailureAdviceTests {
    private func text(failingWith sql: String) throws -> String {
        let error = try #require(
            throws: DatabaseError.self
        ) {
            try DatabaseQueue().write { db in
                try db.execute(sql: "CREATE TABLE item (id INTEGER UNIQUE, name TEXT)")
                try db.execute(sql: sql)
            }
        }
        let failure = MigrationStepFailure(
            identifier: "0002",
            isRollback: false,
            committed: 0,
            transaction: .own,
            ledger: .unchanged,
            wasUnmanaged: false,
            violationsBefore: nil,
            underlying: error
        )
        return Failure(failure, parser: RootCommand.self).text(keySource: nil)
    }

    @Test func theTableAndThePageAreNamed() throws {
        let text = try text(
            failingWith: "INSERT INTO item VALUES (1, 'geheim'), (1, 'geheim')"
        )
        #expect(
            text == """
                error: the migration 0002 failed: SQLite: UNIQUE constraint failed: item.id
                  Statement: INSERT INTO item
                  Merge or delete the duplicates in the same migration, before the index. If
                  other databases have it already, do that in a new migration before it.
                  See '\(Program.name) lint --explain may-violate-unique'
                  Its transaction was rolled back: nothing has changed.
                """
        )
    }

    @Test func otherErrorsGetNoAdvice() throws {
        let text = try text(failingWith: "INSERT INTO item VALUES (geheim('a'), 2)")
        #expect(!text.contains("See "))
        #expect(!text.contains("Statement: "))
    }
}
