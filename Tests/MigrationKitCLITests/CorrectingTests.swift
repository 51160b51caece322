import Foundation
import TestSupport
import Testing

/// A migration that is out, and fails for some, is corrected as `Correcting.md` says, with the SQL
/// that it prints.
@Suite struct CorrectingTests {
    private let tool: Tool
    private let merging: String
    private static let unique = "CREATE UNIQUE INDEX account_email ON account (email);"

    init() throws {
        tool = try Tool(isRawKey: true)
        merging = try DocumentationPage("Documentation/Correcting.md").code("sql")
        try tool.write(
            "0001_account",
            up: "CREATE TABLE account (id INTEGER PRIMARY KEY, email TEXT);"
        )
        try tool.write("0002_name", up: "ALTER TABLE account ADD COLUMN name TEXT;")
        try tool.write("0003_unique_email", up: Self.unique)
        #expect(try tool.onStore("migrate", "--to", "0002").status == 0)
    }

    /// - Parameter fails: Whether the store is one for which the migration fails.
    private func release(fails: Bool) throws {
        let emails = fails ? "('a'), ('a'), ('b')" : "('a'), ('b')"
        _ = try tool.shell("INSERT INTO account (email) VALUES (NULL), \(emails), (NULL), ('');")
        let before = try tool.folder.data("store.db")
        let released = try tool.onStore("migrate")
        #expect(released.status == (fails ? 1 : 0), "\(released)")
        guard fails else { return }
        #expect(try tool.folder.data("store.db") == before)
        // On standard error, lines are wrapped.
        let words = released.stderr.split { $0.isWhitespace }.joined(separator: " ")
        #expect(words.contains("in a new migration before it."), "\(released)")
    }

    private func expectCorrected(fails: Bool) throws {
        #expect(try tool.onStore("verify", "--full").status == 0)
        #expect(try tool.onStore("status", "--exit-code").status == 0)
        #expect(try tool.onStore("repair", "--schema").stdout.hasPrefix("The schema is that"))
        // Only the second account with the same email is gone.
        let left = try tool.shell("SELECT id, email FROM account ORDER BY id;")
        #expect(left == (fails ? "1|\n2|a\n4|b\n5|\n6|" : "1|\n2|a\n3|b\n4|\n5|"), "\(left)")
    }

    @Test(arguments: [true, false])
    func aRepairingMigrationComesBefore(fails: Bool) throws {
        try release(fails: fails)
        try tool.folder.write("migrations/0002.5_merge_accounts.sql", merging.utf8)
        #expect(try tool.onStore("migrate", "--dry-run", "--allow-out-of-order").status == 0)
        let migrated = try tool.onStore("migrate", "--allow-out-of-order")
        #expect(migrated.status == 0, "\(migrated)")
        #expect(migrated.stdout.contains("nothing is pending"), "\(migrated)")
        try expectCorrected(fails: fails)
    }

    @Test(arguments: [true, false])
    func aTextThatRepairsFirstIsAccepted(fails: Bool) throws {
        try release(fails: fails)
        let up = try #require(merging.components(separatedBy: "-- migrate:down").first)
        try tool.folder.write("migrations/0003_unique_email.sql", "\(up)\n\(Self.unique)\n".utf8)
        let repaired = try tool.onStore("repair", "0003", "--yes")
        #expect(repaired.status == 0)
        #expect(repaired.stdout.hasPrefix(fails ? "Nothing to accept" : "Accepted"))
        #expect(repaired.stderr.isEmpty)
        #expect(try tool.onStore("migrate").status == 0)
        try expectCorrected(fails: fails)
    }

    /// The query that lists the duplicates lists no rows without an email.
    @Test func theDuplicatesAreListed() throws {
        try release(fails: true)
        let page = try DocumentationPage("Documentation/Correcting.md").code("console")
        let query = try #require(page.firstMatch(of: /query '(.*)'/)?.1)
        let listed = try tool.run(["query"] + tool.opening + [String(query), "--format", "csv"])
        #expect(
            listed.stdout.split(whereSeparator: \.isNewline).dropFirst() == ["a,2"],
            "\(listed)"
        )
    }
}
