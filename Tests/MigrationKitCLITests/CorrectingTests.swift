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

    // MARK: - Rows That Are Allowed

    /// Corrects a store of two tables with a recipe of the page, then makes the constraint.
    ///
    /// - Parameters:
    ///   - number: The recipe's number on the page.
    ///   - constraint: What fails without the recipe.
    /// - Returns: What `query` finds afterwards.
    private func correct(
        _ schema: String,
        _ rows: String,
        recipe number: Int,
        _ constraint: String,
        _ query: String
    ) throws -> String {
        let tool = try Tool(isRawKey: true)
        let recipe = try DocumentationPage("Documentation/Correcting.md").code("sql", number)
        try tool.write("0001_tables", up: schema)
        #expect(try tool.onStore("migrate").status == 0)
        _ = try tool.shell(rows)
        try tool.write("0003_constraint", up: constraint)
        try tool.write("0002.5_rows", up: recipe)
        let migrated = try tool.onStore("migrate")
        #expect(migrated.status == 0, "\(migrated)")
        #expect(try tool.onStore("verify", "--full").status == 0)
        return try tool.shell(query)
    }

    /// A row needs no parent if its reference is NULL, and the parent's collation decides which it has.
    @Test(arguments: [
        ("INTEGER PRIMARY KEY", "INTEGER", "", "(1, NULL), (2, 7)", "1"),
        ("INTEGER PRIMARY KEY", "INTEGER", "(5)", "(1, NULL), (2, 7), (3, 5)", "1\n3"),
        ("TEXT PRIMARY KEY COLLATE NOCASE", "TEXT", "('Ann')", "(1, 'ann'), (2, 'Bob')", "1"),
        (
            "TEXT PRIMARY KEY", "TEXT", "(NULL), ('Ann')", "(1, NULL), (2, 'Bob'), (3, 'Ann')",
            "1\n3"
        ),
    ])
    func onlyRowsWithoutTheirParentAreDeleted(
        _ parent: String,
        _ child: String,
        _ parents: String,
        _ children: String,
        _ left: String
    ) throws {
        let found = try correct(
            """
            CREATE TABLE account (id \(parent));
            CREATE TABLE note (id INTEGER PRIMARY KEY, account \(child));
            """,
            (parents.isEmpty ? "" : "INSERT INTO account VALUES \(parents);")
                + "INSERT INTO note VALUES \(children);",
            recipe: 3,
            """
            CREATE TABLE new_note (
                id INTEGER PRIMARY KEY, account \(child) REFERENCES account (id)
            );
            INSERT INTO new_note (id, account) SELECT id, account FROM note;
            DROP TABLE note;
            ALTER TABLE new_note RENAME TO note;
            """,
            "SELECT id FROM note ORDER BY id;"
        )
        #expect(found == left)
    }

    /// An index with a condition and a collation of its own allows rows that look like duplicates.
    @Test func onlyDuplicatesOfTheIndexAreDeleted() throws {
        let page = try String(
            contentsOfFile: PackageFolder.path("Documentation/Correcting.md"),
            encoding: .utf8
        )
        let index = try #require(page.firstMatch(of: /`(CREATE UNIQUE INDEX [^`]+)`/)?.1)
        let found = try correct(
            """
            CREATE TABLE account (
                id INTEGER PRIMARY KEY, email TEXT COLLATE NOCASE, deleted INTEGER
            );
            """,
            """
            INSERT INTO account VALUES (1, 'a', 1), (2, 'a', 0), (3, 'A', 0), (4, 'a', 0),
                (5, 'b', 1), (6, 'b', 1), (7, NULL, 0), (8, NULL, 0), (9, 'b', NULL);
            """,
            recipe: 2,
            index + ";",
            "SELECT group_concat(id, ' ') FROM account;"
        )
        #expect(found == "1 2 3 5 6 7 8 9")
    }
}
