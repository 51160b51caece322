import Foundation
import TestSupport
import Testing

/// Checks of a migration, and of a folder beside the migrations.
@Suite struct CheckTests {
    private var tool: Tool

    init() throws {
        tool = try Tool(isRawKey: true)
        try tool.write(
            "0001_item",
            up: """
                CREATE TABLE item (id INTEGER PRIMARY KEY, name TEXT);
                INSERT INTO item (name) VALUES ('geheim'), (NULL);
                """
        )
    }

    private static let tag = "sqlite_schema WHERE name = 'tag'"
    private static let named = "-- each item has a name\nSELECT rowid FROM item WHERE name IS NULL;"

    private func writeChecks(_ text: String, in name: String = "checks") throws {
        if tool.folder.mode(name) == nil { try tool.folder.makeFolder(name) }
        try tool.folder.write("\(name)/item.sql", text.utf8)
    }

    // MARK: - Of a Migration

    @Test(arguments: [[], ["--all-or-nothing"], ["--dry-run"]])
    func aRequirementRefusesTheMigration(_ more: [String]) throws {
        #expect(try tool.onStore("migrate").status == 0)
        try tool.write(
            "0002_tag",
            up: "-- migrate:require\n\(Self.named)\n-- migrate:end\nCREATE TABLE tag (id);"
        )
        let arguments = ["migrate"] + tool.opening + ["--migrations", tool.migrations] + more
        let result = try tool.run(arguments)
        #expect(result.status == 2)
        #expect(
            result.stderr.hasPrefix(
                "error: 0002_tag needs: each item has a name; 1 row: rowid 2\n"
            ),
            "\(result)"
        )
        #expect(result.stderr.contains("Nothing has changed."))
        let document = try tool.run(arguments + ["--json"])
        #expect(try document.jsonError()["code"] as? String == "requirementFailed")
        #expect(try tool.shell("SELECT count(*) FROM \(Self.tag);").hasPrefix("0"))
    }

    @Test(arguments: [[], ["--all-or-nothing"], ["--dry-run"]])
    func aCheckUndoesTheMigration(_ more: [String]) throws {
        #expect(try tool.onStore("migrate").status == 0)
        try tool.write("0002_tag", up: "CREATE TABLE tag (id);\n-- migrate:check\n\(Self.named)")
        let arguments = ["migrate"] + tool.opening + ["--migrations", tool.migrations] + more
        let result = try tool.run(arguments)
        #expect(result.status == 2)
        let message = "the check 'each item has a name' found 1 row: rowid 2"
        #expect(
            result.stderr.hasPrefix("error: the migration 0002_tag failed: \(message)\n"),
            "\(result)"
        )
        #expect(result.stderr.contains("was rolled back"))
        #expect(!result.stderr.contains("geheim"))
        let document = try tool.run(arguments + ["--json"])
        #expect(try document.jsonError()["code"] as? String == "checkFailed")
        #expect(try tool.shell("SELECT count(*) FROM \(Self.tag);").hasPrefix("0"))
    }

    @Test func aMigrationWithoutATransactionIsNotUndone() throws {
        try tool.write("0002_vacuum", up: "")
        try tool.folder.write(
            "migrations/0002_vacuum.sql",
            """
            -- migrate:up transaction:false
            UPDATE item SET name = NULL;
            -- migrate:check
            \(Self.named)
            """.utf8
        )
        let result = try tool.onStore("migrate")
        #expect(result.status == 2)
        #expect(result.stderr.contains("found 2 rows: rowid 1, 2"), "\(result)")
        #expect(result.stderr.contains("what it did before the error"), "\(result)")
        #expect(try tool.onStore("status").stdout.contains("1 pending"))
        #expect(try tool.shell("SELECT count(*) FROM item WHERE name IS NULL;").hasPrefix("2"))
    }

    @Test func lintFindsWhatSQLiteWouldRefuse() throws {
        try tool.write(
            "0002_tag",
            up: """
                -- migrate:require
                SELECT nam FROM item;
                -- migrate:end
                CREATE TABLE tag (id);
                -- migrate:check
                SELECT id FROM tag;
                SELECT id FROM tagg;
                """
        )
        let result = try tool.run("lint", "--migrations", tool.migrations, "--since", "0001")
        #expect(result.status == 3)
        #expect(result.stdout.contains("0002_tag.sql:3:1: error: SQLite refuses"), "\(result)")
        #expect(result.stdout.contains("no such column: nam"))
        #expect(result.stdout.contains("0002_tag.sql:8:1: "), "\(result)")
        #expect(result.stdout.contains("1 error") || result.stdout.contains("2 errors"))
        try tool.write(
            "0002_tag",
            up: "CREATE TABLE tag (id);\n-- migrate:check\nSELECT id FROM tag;"
        )
        let fine = try tool.run("lint", "--migrations", tool.migrations, "--since", "0001")
        #expect(fine.status == 0, "\(fine)")
        #expect(fine.stdout.contains("Checked 1 migration:"))
    }

    // MARK: - Of a Folder

    @Test func aFolderIsCheckedBeforeTheLastCommitAndInVerify() throws {
        try writeChecks(Self.named)
        let result = try tool.onStore("migrate")
        #expect(result.status == 2, "\(result)")
        #expect(result.stderr.contains("the check 'each item has a name' found 1 row"))
        #expect(try tool.onStore("status").stdout.contains("1 pending"))
        try tool.write("0002_names", up: "UPDATE item SET name = 'x' WHERE name IS NULL;")
        #expect(try tool.onStore("migrate").status == 0)
        #expect(try tool.onStore("verify").stdout.contains("ok      check each item has a name\n"))
        _ = try tool.shell("UPDATE item SET name = NULL;")
        for arguments in [[], ["--full"]] {
            let verified = try tool.run(
                ["verify", "--json"] + arguments + tool.opening
                    + ["--migrations", tool.migrations]
            )
            #expect(verified.status == 2)
            let checks = try #require(try verified.json()["checks"] as? [[String: Any]])
            let name = "check each item has a name"
            let check = try #require(checks.first { $0["name"] as? String == name })
            #expect(check["detail"] as? String == "2 rows violate it")
            #expect((check["findings"] as? [[String: Any]])?.map { $0["rowid"] as? Int } == [1, 2])
        }
        // Nothing is pending, so nothing is checked.
        #expect(try tool.onStore("migrate").status == 0)
        #expect(try tool.onStore("migrate", "--verify").status == 2)
    }

    @Test func aCheckThatNeedsPendingMigrationsWaitsForThem() throws {
        #expect(try tool.onStore("migrate").status == 0)
        try tool.write("0002_tag", up: "CREATE TABLE tag (id);")
        try tool.write("0003_more", up: "CREATE TABLE more (id);")
        try writeChecks("-- no tag\nSELECT rowid FROM tag;")
        #expect(try tool.onStore("verify").stdout.contains("(not run: migrations are pending)"))
        #expect(try tool.onStore("migrate", "--to", "0002").status == 0)
        let plan = try tool.onStore("plan", "--steps", "1")
        #expect(plan.stdout.contains("-- check: no tag\nSELECT rowid FROM tag;\nCOMMIT;"))
    }

    @Test func lintCompilesThemAfterTheLastMigration() throws {
        try tool.write("0002_drop", up: "ALTER TABLE item RENAME COLUMN name TO title;")
        try writeChecks("-- none\n\(Self.named)")
        let result = try tool.run("lint", "--migrations", tool.migrations)
        #expect(result.status == 3)
        #expect(
            result.stdout.contains(
                "/checks/item.sql:3:1: error: SQLite refuses the check 'none each item has a name': "
                    + "no such column: name"
            ),
            "\(result)"
        )
    }

    @Test(arguments: [
        ("", "there is no query"), ("-- nothing", "there is no query"),
        ("DELETE FROM item;", "a check can only be a query"),
        ("PRAGMA key = 'geheim';", "a check can only be a query"),
        ("SELECT 'open", "missing '"),
    ])
    func aBrokenFileIsRefusedBeforeAnythingRuns(_ text: String, _ reason: String) throws {
        try writeChecks(text)
        for command in ["migrate", "plan", "verify", "lint"] {
            let result = try tool.onStore(command)
            #expect(result.status == 65, "\(command): \(result)")
            #expect(result.stderr.contains("/checks/item.sql:1:"), "\(command): \(result)")
            #expect(result.stderr.contains(reason), "\(command): \(result)")
            #expect(!result.stderr.contains("geheim"))
        }
        #expect(tool.folder.mode("store.db") == nil)
    }

    @Test func theFolderIsBesideTheMigrationsOrNamed() throws {
        var tool = tool
        try tool.useSettings()
        try writeChecks("-- beside\nSELECT 1 WHERE 0;")
        try writeChecks("-- of the file\nSELECT 1 WHERE 0;", in: "file")
        try writeChecks("-- of the environment\nSELECT 1 WHERE 0;", in: "environment")
        try writeChecks("-- of the option\nSELECT 1 WHERE 0;", in: "option")
        #expect(try tool.onStore("migrate").status == 0)
        func checks(_ arguments: String...) throws -> [String] {
            let result = try tool.run(
                ["verify"] + tool.opening + ["--migrations", tool.migrations] + arguments
            )
            return result.stdout.split(separator: "\n").filter { $0.contains("  check ") }
                .map { String($0.split(separator: "check ")[1]) }
        }
        #expect(try checks() == ["beside"])
        try tool.writeSettings("checks = 'file'")
        #expect(try checks() == ["of the file"])
        tool.environment["MIGRATIONKIT_CHECKS"] = tool.folder.path("environment")
        #expect(try checks() == ["of the environment"])
        #expect(try checks("--checks", tool.folder.path("option")) == ["of the option"])
    }

    /// A change that is checked may have them.
    @Test func noLinkLeavesTheRepository() throws {
        try tool.folder.makeFolder(".git")
        let other = try TemporaryFolder(["item.sql": "SELECT 'geheim' FROM nowhere;"])
        try tool.folder.makeFolder("checks")
        let file = tool.folder.path("checks/item.sql")
        try FileManager.default.createSymbolicLink(
            atPath: file,
            withDestinationPath: other.path("item.sql")
        )
        for (command, isRefused) in [("lint", true), ("plan", true), ("status", false)] {
            let result = try tool.onStore(command)
            #expect((result.status == 77) == isRefused, "\(command): \(result)")
            #expect(!"\(result)".contains("geheim"))
        }
        try FileManager.default.removeItem(atPath: tool.folder.path("checks"))
        try FileManager.default.createSymbolicLink(
            atPath: tool.folder.path("checks"),
            withDestinationPath: other.path
        )
        for command in ["lint", "plan"] {
            let result = try tool.onStore(command)
            #expect(result.status == 77, "\(command): \(result)")
        }
    }

    @Test func aNamedFolderMustHaveChecks() throws {
        try tool.folder.makeFolder("none")
        for (name, code) in [("none", "emptyFolder"), ("nowhere", "noSuchFolder")] {
            let result = try tool.onStore("plan", "--json", "--checks", tool.folder.path(name))
            #expect(result.status == 66)
            #expect(try result.jsonError()["code"] as? String == code)
        }
        // One that happens to be there has other files.
        try tool.folder.makeFolder("checks")
        try tool.folder.write("checks/readme.md", "".utf8)
        #expect(try tool.onStore("migrate").status == 0)
        // Checks that were meant, and are gone.
        let path = tool.folder.path("checks")
        try FileManager.default.removeItem(atPath: path)
        try FileManager.default.createSymbolicLink(atPath: path, withDestinationPath: "nowhere")
        #expect(try tool.onStore("verify").status == 66)
    }

    @Test func aFleetIsChecked() throws {
        try writeChecks(Self.named)
        try writeChecks("SELECT 1 WHERE 0;", in: "empty")
        #expect(try tool.onStore("migrate", "--checks", tool.folder.path("empty")).status == 0)
        try tool.folder.write("store.db.key", tool.password.utf8)
        let result = try tool.run(
            [
                "fleet", "verify", "--stores", tool.database, "--key-file-suffix", ".key",
                "--raw-key", "--migrations", tool.migrations,
            ]
        )
        #expect(result.status == 2, "\(result)")
        #expect("\(result)".contains("check each item has a name"), "\(result)")
    }
}
