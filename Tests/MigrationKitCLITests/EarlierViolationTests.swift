import TestSupport
import Testing

/// Rows that violated foreign keys before a run are told apart from those that a migration adds.
@Suite struct EarlierViolationTests {
    private let tool: Tool

    init() throws {
        tool = try Tool(isRawKey: true)
        try tool.write(
            "0001_tables",
            up: """
                CREATE TABLE list (id INTEGER PRIMARY KEY, name TEXT);
                CREATE TABLE item (id INTEGER PRIMARY KEY, list INTEGER REFERENCES list (id));
                CREATE TABLE other (id INTEGER PRIMARY KEY);
                """
        )
        #expect(try tool.onStore("migrate").status == 0)
        _ = try tool.shell("INSERT INTO item (list) VALUES (7), (8);")
        try tool.write(
            "0002_other",
            up: "ALTER TABLE other ADD COLUMN name TEXT;",
            down: "ALTER TABLE other DROP COLUMN name;"
        )
    }

    private func expectRefusal(sourceLocation: SourceLocation = #_sourceLocation) throws {
        let result = try tool.onStore("migrate")
        #expect(result.status == 1, "\(result)", sourceLocation: sourceLocation)
        #expect(result.stderr.contains("It was so before: "), sourceLocation: sourceLocation)
        #expect(result.stderr.contains("--allow-violations"), sourceLocation: sourceLocation)
    }

    @Test(arguments: [[], ["--all-or-nothing"]])
    func theyAreLeftOnRequest(_ more: [String]) throws {
        try expectRefusal()
        let result = try tool.run(
            ["migrate"] + tool.opening + ["--migrations", tool.migrations, "--allow-violations"]
                + more
        )
        #expect(result.status == 0, "\(result)")
        #expect(result.stdout.contains("as before: 2 rows violate foreign keys"), "\(result)")
        #expect(!result.stdout.contains("Verified"), "\(result)")
        #expect(try tool.onStore("verify").status == 2)

        let undone = try tool.onStore("rollback", "--allow-violations")
        #expect(undone.status == 0, "\(undone)")
        #expect(!undone.stdout.contains("Verified"), "\(undone)")
    }

    @Test func noneIsAdded() throws {
        try tool.write("0002_other", up: "INSERT INTO item (list) VALUES (9);")
        let result = try tool.onStore("migrate", "--allow-violations")
        #expect(result.status == 1, "\(result)")
        #expect(!result.stderr.contains("--allow-violations"), "\(result)")
        #expect(try tool.shell("SELECT count(*) FROM item;").hasPrefix("2"))
    }

    @Test func aMigrationThatRepairsThemIsVerified() throws {
        try tool.write(
            "0002_other",
            up: "UPDATE item SET list = NULL WHERE list NOT IN (SELECT id FROM list);"
        )
        let lint = try tool.onStore("lint", "--pending")
        #expect(lint.status == 0, "\(lint)")
        #expect(lint.stdout.contains("warning: in the database, 2 rows violate"), "\(lint)")
        let result = try tool.onStore("migrate")
        #expect(result.status == 0, "\(result)")
        #expect(result.stdout.contains("Verified."), "\(result)")
    }

    @Test func whatAMigrationAddsIsItsOwn() throws {
        _ = try tool.shell("DELETE FROM item;")
        try tool.write("0002_other", up: "INSERT INTO item (list) VALUES (9);")
        let result = try tool.onStore("migrate")
        #expect(result.status == 1, "\(result)")
        #expect(!result.stderr.contains("before"), "\(result)")
    }

    /// A parent without a unique key on its columns: SQLite can't check any row of the table.
    @Test func aMismatchFromBeforeIsLeftOnRequest() throws {
        _ = try tool.shell(
            """
            DELETE FROM item;
            CREATE TABLE tag (id INTEGER PRIMARY KEY, list TEXT REFERENCES list (name));
            INSERT INTO tag (list) VALUES ('a');
            """
        )
        try expectRefusal()
        let lint = try tool.onStore("lint", "--pending")
        #expect(lint.status == 3, "\(lint)")
        let result = try tool.onStore("migrate", "--allow-violations")
        #expect(result.status == 0, "\(result)")
        #expect(result.stdout.contains("the foreign keys of tag can't be checked"), "\(result)")
        #expect(!result.stdout.contains("Verified"), "\(result)")
    }

    @Test func lintSaysThatMigrateMustFail() throws {
        let lint = try tool.onStore("lint", "--pending")
        #expect(lint.status == 3, "\(lint)")
        #expect(lint.stdout.contains("in the database, 2 rows violate foreign keys"), "\(lint)")
    }
}
