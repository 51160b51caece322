import MigrationKitSQL
import TestSupport
import Testing

/// `BEGIN` and `COMMIT` in a migration that runs outside of a transaction.
@Suite struct OwnTransactionTests {
    private static let rebuild = """
        PRAGMA foreign_keys = OFF;
        BEGIN;
        DROP TABLE a;
        COMMIT;
        """

    /// Without them, an error in the middle would leave half of the rebuild.
    @Test(arguments: [
        ("1_a.sql", "-- migrate:up transaction:false\n"), ("1_a.sql", "-- no-transaction\n"),
        ("1_a.sql", "-- +goose NO TRANSACTION\n-- +goose Up\n"),
    ])
    func adviceKeepsThemTogether(name: String, beginning: String) throws {
        let error = try error(of: [name: beginning + Self.rebuild])
        #expect(
            error?.errorDescription?.hasSuffix(
                "a migration can't contain BEGIN, COMMIT or ROLLBACK: the runner begins and ends every "
                    + "transaction"
            ) == true
        )
        let advice = try #require(error?.recoverySuggestion)
        #expect(
            advice.contains("Put what stands between BEGIN and COMMIT into a migration of its own")
        )
        #expect(!advice.contains("Remove it."))
    }

    @Test func inATransactionTheyAreNeedless() throws {
        let error = try error(of: ["1_a.sql": "-- migrate:up\n" + Self.rebuild])
        #expect(error?.recoverySuggestion?.contains("Remove it.") == true)
    }
}
