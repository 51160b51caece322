import Foundation
import TestSupport
import Testing

/// Folders that other tools' rules have made: strings in double quotes, names of their own, several
/// histories.
@Suite struct OldFolderTests {
    private let tool: Tool

    init() throws {
        var tool = try Tool(isRawKey: true)
        try tool.useSettings()
        self.tool = tool
        try tool.folder.makeFolder("old")
    }

    private var old: [String] { ["--migrations", tool.folder.path("old")] }

    private func onStore(_ command: String, _ more: [String] = []) throws -> ProcessResult {
        try tool.run([command] + tool.opening + more)
    }

    private func write(_ name: String, _ sql: String) throws {
        try tool.folder.write("old/\(name)", (sql + "\n").utf8)
    }

    // MARK: - Strings in Double Quotes

    /// In a row, a CHECK, an index, a view and a trigger.
    private func writeStrings() throws {
        try write(
            "0001_notes.up.sql",
            """
            CREATE TABLE note (id INTEGER PRIMARY KEY, state TEXT CHECK (state <> "bad"));
            CREATE INDEX note_open ON note (id) WHERE state = "open";
            CREATE VIEW open_note AS SELECT id FROM note WHERE state = "open";
            CREATE TABLE log (text TEXT);
            CREATE TRIGGER note_new AFTER INSERT ON note WHEN new.state = "open"
            BEGIN INSERT INTO log VALUES ("new"); END;
            INSERT INTO note (state) VALUES ("open");
            """
        )
        try write(
            "0001_notes.down.sql",
            "DELETE FROM note WHERE state = \"open\"; DROP TABLE note;"
        )
        try write("0002_more.up.sql", "INSERT INTO note (state) VALUES (\"closed\");")
        try write("0002_more.down.sql", "DELETE FROM note WHERE state = \"closed\";")
    }

    @Test func refusedStringNamesTheRuleAndTheSetting() throws {
        try writeStrings()
        let result = try onStore("migrate", old)
        #expect(result.status == 1, "\(result)")
        #expect(result.stderr.contains("double-quoted-strings = true"), "\(result)")
        #expect(result.stderr.contains("lint --explain double-quoted-string"), "\(result)")
        let lint = try tool.run(["lint"] + old)
        #expect(lint.status == 3, "\(lint)")
        #expect(lint.stdout.contains("double-quoted-strings = true"), "\(lint)")
    }

    @Test func settingHoldsForEveryCommand() throws {
        try writeStrings()
        try tool.writeSettings("migrations = \"old\"", "double-quoted-strings = true")
        try tool.folder.write("schema.sql", "CREATE TABLE other (id INTEGER PRIMARY KEY);\n".utf8)
        for command in [
            ["lint"], ["schema-dump"], ["schema-dump", "--format", "mermaid"],
            ["create", "--rebuild", "note"],
        ] {
            let result = try tool.run(command)
            #expect(result.status == 0, "\(command): \(result)")
        }
        try FileManager.default.removeItem(atPath: tool.folder.path("old/0003_rebuild_note.up.sql"))
        try FileManager.default.removeItem(
            atPath: tool.folder.path("old/0003_rebuild_note.down.sql")
        )
        let difference = try tool.run(["schema-diff", "--to", tool.folder.path("schema.sql")])
        #expect(difference.status == 0, "\(difference)")
        for (command, more) in [
            ("plan", []), ("migrate", ["--dry-run"]), ("migrate", []), ("status", ["--exit-code"]),
            ("verify", []), ("verify", ["--full"]), ("lint", ["--pending"]),
            ("rollback", ["--yes"]), ("migrate", ["--all-or-nothing"]), ("redo", ["--yes"]),
        ] {
            let result = try onStore(command, more)
            #expect(result.status == 0, "\(command) \(more): \(result)")
        }
        let row = try onStore("query", ["SELECT count(*) FROM open_note"])
        #expect(row.status == 0 && row.stdout.contains("1"), "\(row)")
        try tool.folder.write("new-key", ToolFolder.randomDigits(count: 64).utf8)
        let newKey = ["--new-password-file", tool.folder.path("new-key"), "--new-raw-key"]
        for (command, more) in [
            ("backup", []), ("decrypt", ["--yes"]), ("rekey", ["--page-size", "8192"] + newKey),
        ] {
            let output = ["--output", tool.folder.path("\(command).db")]
            let result = try onStore(command, more + output)
            #expect(result.status == 0, "\(command): \(result)")
        }
        try tool.folder.write("store.db.key", tool.password.utf8)
        let fleet = try tool.run(
            [
                "fleet", "verify", "--stores", tool.database, "--raw-key", "--key-file-suffix",
                ".key",
            ]
        )
        #expect(fleet.status == 0, "\(fleet)")
    }

    // MARK: - Names

    @Test func namesMayHaveAPattern() throws {
        try write("V0001.Initial_Schema.up.sql", "CREATE TABLE a (id INTEGER PRIMARY KEY);")
        try write("V0001.Initial_Schema.down.sql", "DROP TABLE a;")
        try tool.writeSettings(
            "migrations = \"old\"",
            "name-pattern = \"V{number}.{name}.{direction}.sql\""
        )
        let migrated = try onStore("migrate")
        #expect(migrated.status == 0, "\(migrated)")
        #expect(
            try tool.shell("SELECT * FROM grdb_migrations;").contains("V0001.Initial_Schema")
        )
        let created = try tool.run(["create", "add tags", "--json"])
        #expect(created.status == 0, "\(created)")
        let files = try created.json()["files"] as? [String]
        let names = ["old/V0002.add_tags.up.sql", "old/V0002.add_tags.down.sql"]
        #expect(files == names.map(tool.folder.path))
        #expect(try onStore("rollback", ["--yes"]).status == 0)

        try write("0003_other.up.sql", "SELECT 1;")
        let other = try onStore("status")
        #expect(other.status == 65, "\(other)")
        #expect(other.stderr.contains("0003_other.up.sql: the name doesn't match"), "\(other)")
    }

    @Test(arguments: [
        "V{name}.sql", "{number}{name}.sql", "{number}_{name}", "a/{number}_{name}.sql",
    ])
    func wrongPatternIsRefusedWithItsForm(pattern: String) throws {
        try tool.writeSettings("name-pattern = \"\(pattern)\"")
        let result = try onStore("status")
        #expect(result.status == 64, "\(result)")
        #expect(
            result.stderr.contains("migrationkit.toml:1: 'name-pattern' must be a pattern such as")
        )
    }

    @Test func whatGolangMigrateIgnoresIsIgnoredWithANote() throws {
        try write("1_a.up.db.sql", "CREATE TABLE a (id INTEGER PRIMARY KEY);")
        try write("2_b..up..sql", "CREATE TABLE b (id INTEGER PRIMARY KEY);")
        try write("notes.sql", "This is no SQL.")
        let result = try onStore("migrate", old)
        #expect(result.status == 0, "\(result)")
        #expect(result.stderr.contains("notes.sql is ignored"), "\(result)")
        #expect(
            try tool.shell("SELECT name FROM sqlite_schema WHERE name IN ('a', 'b');")
                == "a\nb"
        )
        let again = try onStore("migrate", old + ["--json"])
        #expect(again.stdout.contains("notes.sql is ignored"), "\(again)")

        // With these names, it can't be sqlx's.
        try write("3_c.sql", "CREATE TABLE c (id INTEGER PRIMARY KEY);")
        let third = try onStore("migrate", old)
        #expect(third.status == 0, "\(third)")
        #expect(third.stderr.contains("3_c.sql is ignored"), "\(third)")
        #expect(try tool.shell("SELECT count(*) FROM sqlite_schema WHERE name = 'c';") == "0")
    }

    // MARK: - Several Histories

    @Test func severalHistoriesAreRefusedWithTheReason() throws {
        for name in ["accounts", "messages"] {
            try tool.folder.makeFolder("old/\(name)")
            try tool.folder.write("old/\(name)/0001_a.sql", "CREATE TABLE \(name) (id);\n".utf8)
        }
        let result = try onStore("migrate", old)
        #expect(result.status == 66, "\(result)")
        #expect(result.stderr.contains("'accounts', 'messages'"), "\(result)")
        #expect(result.stderr.contains("one file are not supported"), "\(result)")
    }
}
