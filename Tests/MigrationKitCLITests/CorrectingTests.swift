import Foundation
import TestSupport
import Testing

/// A migration that is out, and fails for some, is corrected as `Correcting.md` says.
@Suite struct CorrectingTests {
    private let tool: Tool
    private static let unique = "CREATE UNIQUE INDEX account_email ON account (email);"
    private static let merging =
        "DELETE FROM account WHERE id NOT IN (SELECT min(id) FROM account GROUP BY email);"

    init() throws {
        tool = try Tool(isRawKey: true)
        try tool.write(
            "0001_account",
            up: "CREATE TABLE account (id INTEGER PRIMARY KEY, email TEXT NOT NULL);"
        )
        try tool.write("0002_name", up: "ALTER TABLE account ADD COLUMN name TEXT;")
        try tool.write("0003_unique_email", up: Self.unique)
        #expect(try tool.onStore("migrate", "--to", "0002").status == 0)
    }

    /// - Parameter fails: Whether the store is one for which the migration fails.
    private func release(fails: Bool) throws {
        let emails = fails ? "('a'), ('a')" : "('a'), ('b')"
        _ = try tool.shell("INSERT INTO account (email) VALUES \(emails);")
        let before = try tool.folder.data("store.db")
        let released = try tool.onStore("migrate")
        #expect(released.status == (fails ? 1 : 0), "\(released)")
        guard fails else { return }
        #expect(try tool.folder.data("store.db") == before)
        // On standard error, lines are wrapped.
        let words = released.stderr.split { $0.isWhitespace }.joined(separator: " ")
        #expect(words.contains("in a new migration before it."), "\(released)")
    }

    private func expectCorrected() throws {
        #expect(try tool.onStore("verify", "--full").status == 0)
        #expect(try tool.onStore("status", "--exit-code").status == 0)
        #expect(try tool.onStore("repair", "--schema").stdout.hasPrefix("The schema is that"))
    }

    @Test(arguments: [true, false])
    func aRepairingMigrationComesBefore(fails: Bool) throws {
        try release(fails: fails)
        try tool.write("0002.5_merge_accounts", up: Self.merging, down: "SELECT 1;")
        #expect(try tool.onStore("migrate", "--dry-run", "--allow-out-of-order").status == 0)
        let migrated = try tool.onStore("migrate", "--allow-out-of-order")
        #expect(migrated.status == 0, "\(migrated)")
        #expect(migrated.stdout.contains("nothing is pending"), "\(migrated)")
        try expectCorrected()
    }

    @Test(arguments: [true, false])
    func aTextThatRepairsFirstIsAccepted(fails: Bool) throws {
        try release(fails: fails)
        try tool.write("0003_unique_email", up: "\(Self.merging)\n\(Self.unique)")
        let repaired = try tool.onStore("repair", "0003", "--yes")
        #expect(repaired.status == 0)
        #expect(repaired.stdout.hasPrefix(fails ? "Nothing to accept" : "Accepted"))
        #expect(repaired.stderr.isEmpty)
        #expect(try tool.onStore("migrate").status == 0)
        try expectCorrected()
    }
}
