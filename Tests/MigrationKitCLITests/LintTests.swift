import Foundation
import TestSupport
import Testing

/// What `lint` checks, how it ends, and that it opens nothing it wasn't asked to.
@Suite struct LintTests {
    private let tool: Tool

    init() throws {
        var tool = try Tool(isRawKey: true)
        try tool.useSettings()
        try tool.writeItems()
        self.tool = tool
    }

    private func lint(_ arguments: [String]) throws -> ProcessResult {
        try tool.run(["lint", "--migrations", tool.migrations] + arguments)
    }

    private func lint(_ arguments: String...) throws -> ProcessResult {
        try lint(arguments)
    }

    /// The findings that `lint --json` prints, as `rule migration line`.
    private func findings(_ arguments: String...) throws -> [String] {
        let findings = try #require(
            try lint(["--json"] + arguments).json()["findings"] as? [[String: Any]]
        )
        return findings.map {
            "\($0["rule"] ?? "") \($0["migration"] ?? "") \($0["line"] ?? "")"
        }
    }

    private func checked(_ arguments: String...) throws -> Int? {
        try lint(["--json"] + arguments).json()["checked"] as? Int
    }

    // MARK: - What It Opens

    @Test func neitherADatabaseNorAKeyIsNeeded() throws {
        var tool = tool
        tool.environment["MIGRATIONKIT_DB_PATH"] = tool.folder.path("notes.db")
        tool.environment["MIGRATIONKIT_PASSWORD_FILE"] = "missing"
        let result = try tool.run("lint", "--migrations", tool.migrations)
        #expect(result.status == 0, "\(result)")
        #expect(result.stdout.hasPrefix("Checked 3 migrations: "), "\(result)")
        #expect(try !tool.folder.names.contains("notes.db"))
    }

    @Test func anEncryptedDatabaseIsReadButNotWritten() throws {
        #expect(try tool.onStore("migrate", "--to", "0002").status == 0)
        let before = try tool.folder.data("store.db")
        let result = try lint(["--json"] + tool.opening)
        #expect(result.status == 0, "\(result)")
        #expect(try result.json()["checked"] as? Int == 3)
        let pending = try lint(["--pending", "--json"] + tool.opening)
        #expect(try pending.json()["checked"] as? Int == 1)
        #expect(try tool.folder.data("store.db") == before)
        #expect(!(result.stdout + result.stderr).contains(tool.password))
    }

    @Test func theKeyOfTheDatabaseIsProven() throws {
        #expect(try tool.onStore("migrate").status == 0)
        try tool.folder.write("other", ToolFolder.randomDigits(count: 64).utf8)
        let other = ["--password-file", tool.folder.path("other"), "--raw-key"]
        let result = try lint(["--db-path", tool.database] + other)
        #expect(result.status == 77, "\(result)")
        #expect(try lint("--db-path", tool.database).status == 64)
        let none = tool.folder.path("none.db")
        #expect(try lint("--db-path", none, "--no-encryption").status == 66)
    }

    @Test func nothingIsPendingInADatabaseThatDoesntExist() throws {
        let none = tool.folder.path("none.db")
        let result = try lint("--pending", "--db-path", none, "--no-encryption", "--json")
        #expect(result.status == 66, "\(result)")
        #expect(try !tool.folder.names.contains("none.db"))
    }

    @Test func whateverElseMakesAFolderUnusableIsAnError() throws {
        try tool.folder.write("migrations/0004_a.sql", "-- migrate:down\nSELECT 1;\n".utf8)
        let result = try lint("--json")
        #expect(result.status == 65, "\(result)")
        #expect(try result.jsonError()["code"] as? String == "unusableMigrations")
        let nowhere = tool.folder.path("nowhere")
        #expect(try tool.run("lint", "--migrations", nowhere).status == 66)
    }

    // MARK: - How It Ends

    @Test func aFindingThatReachesTheLevelGivesItsOwnExitCode() throws {
        try tool.write("0004_drop", up: "DROP TABLE tag;")
        try tool.writeSettings("[lint]", "drop-table = \"error\"")
        #expect(try lint().status == 3)
        #expect(try lint().stdout.contains("migrations/0004_drop.sql:2:1: error: "))
        try tool.writeSettings("[lint]", "drop-table = \"warning\"")
        #expect(try lint().status == 0)
        #expect(try lint().stdout.contains("warning: "))
        #expect(try lint("--level", "warning").status == 3)
        for format in [["--json"], ["--format", "json"], ["--format=json"]] {
            let result = try lint(["--level", "note"] + format)
            #expect(result.status == 3, "\(result)")
            #expect(try result.jsonError()["code"] as? String == "lintFindings")
            _ = try result.json()
        }
    }

    @Test func levelsOfRulesComeFromTheSettings() throws {
        try tool.write("0004_drop", up: "DROP TABLE tag;", down: "CREATE TABLE tag (id INTEGER);")
        #expect(try findings("--since", "3").contains { $0.hasPrefix("drop-table 0004_drop") })
        try tool.writeSettings("[lint]", "drop-table = \"off\"")
        #expect(try !findings("--since", "3").contains { $0.hasPrefix("drop-table") })
        try tool.writeSettings("[lint]", "drop-table = \"error\"")
        #expect(try lint("--since", "3").status == 3)
        try tool.writeSettings("[lint]", "drop-tabel = \"error\"")
        let result = try lint()
        #expect(result.status == 64)
        #expect(result.stderr.contains("Did you mean 'drop-table'?"))
    }

    @Test func aCommentSilencesARule() throws {
        try tool.write(
            "0004_drop",
            up: "-- migrationkit:allow drop-table never used\nDROP TABLE tag;"
        )
        #expect(try !findings().contains { $0.hasPrefix("drop-table") })
    }

    @Test func onlyLaterMigrationsAreCheckedWithSince() throws {
        #expect(try checked("--since", "0001") == 2)
        #expect(try checked("--since", "0003_tags") == 0)
        #expect(try lint("--since", "0009").status == 64)
    }

    // MARK: - When a Step Fails

    /// The errors that people look up most, each with the table, the way out and the rule's page.
    @Test(arguments: [
        (
            "CREATE TABLE child (item REFERENCES item (id)); INSERT INTO child VALUES (7), (8);",
            "from child(item) to item(id), in 2 rows", "may-violate-foreign-key"
        ),
        (
            "PRAGMA foreign_keys = ON;\nCREATE TABLE child (item REFERENCES item (id));\n"
                + "INSERT INTO child VALUES (7);",
            "Statement: INSERT INTO child", "may-violate-foreign-key"
        ),
        ("UPDATE item SET\n    title = 'a';", "Statement: UPDATE item", "migration-fails"),
        (
            "ALTER TABLE item ADD COLUMN name TEXT NOT NULL;", "Statement: ALTER TABLE item",
            "add-column-fails"
        ),
        ("CREATE TABLE item (id INTEGER);", "Statement: CREATE TABLE item", "migration-fails"),
        (
            "ALTER TABLE item ADD COLUMN id INTEGER;", "Statement: ALTER TABLE item",
            "add-column-fails"
        ),
        (
            "INSERT INTO item VALUES (1);\nCREATE UNIQUE INDEX item_id ON item (id);",
            "Statement: CREATE INDEX item_id ON item", "may-violate-unique"
        ),
    ])
    func aStepThatFailsShowsThePatternAndThePage(
        _ sql: String,
        _ subject: String,
        _ rule: String
    ) throws {
        try tool.write(
            "0001_items",
            up: "CREATE TABLE item (id INTEGER PRIMARY KEY AUTOINCREMENT);"
        )
        if sql.contains("UNIQUE") {
            try tool.write("0001_items", up: "CREATE TABLE item (id INTEGER);")
        }
        let isImmediate = sql.hasPrefix("PRAGMA")
        try tool.folder.write(
            "migrations/0004_fails.sql",
            "-- migrate:up\(isImmediate ? " transaction:false" : "")\n\(sql)\n".utf8
        )
        let result = try tool.onStore("migrate")
        #expect(result.status == 1, "\(result)")
        #expect(result.stderr.contains("error: the migration 0004_fails failed: "))
        #expect(result.stderr.contains(subject), "\(result)")
        let command = "migrationkit-cli lint --explain \(rule)"
        #expect(result.stderr.contains("\n  See '\(command)'\n"), "\(result)")
    }

    /// What reads a report must not find it empty: a number that is there twice is the commonest mistake of
    /// a merge.
    @Test(arguments: ["json", "sarif", "github"])
    func anUnusableFolderIsInTheReport(_ format: String) throws {
        try tool.write("0001_again", up: "CREATE TABLE again (id INTEGER);")
        let result = try tool.run("lint", "--migrations", tool.migrations, "--format", format)
        #expect(result.status == 65, "\(result)")
        #expect(result.stdout.contains("several migrations have the version 1"), "\(result)")
        #expect(result.stdout.contains("migration-fails"), "\(result)")
        #expect(!result.stderr.isEmpty)
    }

    @Test func unknownRuleNamesTheNearest() throws {
        let explained = try tool.run("lint", "--explain", "table-not-strict")
        #expect(explained.status == 0)
        #expect(
            explained.stdout.contains("fail ('migrationkit-cli lint --explain may-violate-strict')")
        )
        let unknown = try tool.run("lint", "--explain", "drop-tabel")
        #expect(unknown.status == 64)
        #expect(
            unknown.stderr.contains("There is no rule 'drop-tabel'. Did you mean 'drop-table'?")
        )
        #expect(try tool.run("lint", "--explain", "drop-table", "--json").status == 64)
    }
}
