import Foundation
import TestSupport
import Testing

/// What would be done to a database that doesn't exist yet is shown without creating it.
@Suite struct NewDatabasePreviewTests {
    let tool: Tool

    init() throws {
        tool = try Tool(isRawKey: true)
        try tool.writeItems()
    }

    @Test func planAndDryRunShowANewDatabase() throws {
        let before = try tool.folder.names
        let plan = try tool.onStore("plan")
        #expect(plan.status == 0)
        #expect(plan.stdout.hasPrefix("-- 3 migrations pending\n"))
        #expect(
            plan.stderr
                == "note: there is no database \(tool.database) yet; 'migrate' creates it\n"
        )
        #expect(try tool.onStore("plan", "--exit-code").status == 3)
        let document = try tool.onStore("plan", "--json").json()
        #expect(document["isNew"] as? Bool == true)
        #expect(document["database"] as? String == tool.database)

        let preview = try tool.onStore("migrate", "--dry-run")
        #expect(preview.status == 0)
        #expect(preview.stdout.hasPrefix("Would apply 3 migrations"))
        #expect(preview.stdout.contains("created table item"))
        #expect(preview.stderr == plan.stderr)
        let json = try tool.onStore("migrate", "--dry-run", "--json").json()
        #expect(json["isNew"] as? Bool == true)
        #expect(try tool.folder.names == before)
    }

    @Test func noKeyIsAskedFor() throws {
        for command in [["plan"], ["migrate", "--dry-run"]] {
            let shown = try tool.run(
                command + ["--db-path", tool.database, "--migrations", tool.migrations]
            )
            #expect(shown.status == 0)
        }
        // With the key in a file that isn't there, as well.
        let shown = try tool.run(
            ["plan", "--db-path", tool.database, "--migrations", tool.migrations]
                + ["--password-file", tool.folder.path("nowhere")]
        )
        #expect(shown.status == 0)
    }

    @Test func stepThatFailsIsFoundWithoutADatabase() throws {
        try tool.write("0004_wrong", up: "ALTER TABLE nothing ADD COLUMN x;")
        let failed = try tool.onStore("migrate", "--dry-run")
        #expect(failed.status == 1)
        #expect(failed.stderr.contains("0004_wrong"))
        #expect(!FileManager.default.fileExists(atPath: tool.database))
    }

    /// Where 'migrate' can't make a database, or would, they end alike.
    @Test(arguments: [
        ("nowhere/store.db", 73), ("new.db/", 73), ("dangling.db", 73), ("new.db-wal", 73),
        ("empty.db", 0), ("new.db", 0),
    ])
    func planAndDryRunEndAsMigrateDoes(_ name: String, _ status: Int32) throws {
        try tool.folder.write("empty.db", [])
        try #require(symlink("nowhere", tool.folder.path("dangling.db")) == 0)
        let before = try tool.folder.names
        for command in [["plan"], ["migrate", "--dry-run"], ["migrate"]] {
            if command == ["migrate"] { #expect(try tool.folder.names == before) }
            let result = try tool.run(
                command + [
                    "--db-path", tool.folder.path + "/" + name, "--migrations", tool.migrations,
                ]
                    + ["--password-file", tool.folder.path("password"), "--raw-key"]
            )
            #expect(result.status == status, "\(command) \(name): \(result)")
            if status == 0 { #expect(result.stdout.contains("3 migrations")) }
        }
    }

    @Test func anAdoptionIsOfADatabaseThatIsThere() throws {
        #expect(try tool.onStore("migrate", "--adopt", "dbmate", "--dry-run").status == 66)
    }

    @Test func missingFolderNamesTheCommandThatMakesIt() throws {
        try FileManager.default.removeItem(atPath: tool.migrations)
        let refused = try tool.onStore("migrate")
        #expect(refused.status == 66)
        #expect(refused.stderr.contains("'create <name>' creates it"))
        #expect(refused.stderr.contains("'init' also writes the settings"))
    }
}
