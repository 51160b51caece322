import Foundation
import TestSupport
import Testing

@Suite struct MainJobTests {
    let tool: Tool

    init() throws {
        tool = try Tool(isRawKey: true)
    }

    @Test func migratesTheNotesExampleAndBack() throws {
        let notes = tool.opening + ["--migrations", PackageFolder.notesMigrations, "--json"]
        let migrated = try tool.run(["migrate"] + notes)
        #expect(migrated.status == 0)
        #expect(migrated.stderr.isEmpty)
        let document = try migrated.json()
        #expect(document["schemaVersion"] as? Int == 1)
        #expect(document["verified"] as? Bool == true)
        #expect((document["pending"] as? [String])?.isEmpty == true)
        let applied = try #require(document["applied"] as? [[String: Any]])
        #expect(applied.count >= 12)
        #expect(applied.allSatisfy { ($0["seconds"] as? Double ?? 0) > 0 })

        let rolledBack = try tool.run(["rollback", "--steps", "99"] + notes)
        #expect(rolledBack.status == 0)
        let undone = try #require(try rolledBack.json()["rolledBack"] as? [[String: Any]])
        #expect(
            undone.compactMap { $0["identifier"] as? String }
                == applied.compactMap { $0["identifier"] as? String }.reversed()
        )
        #expect(try tool.run(["migrate"] + notes).status == 0)
    }

    @Test func fileIsEncryptedAndItsOwnersAlone() throws {
        try tool.write("0001_marker", up: "CREATE TABLE marker_of_this_test (id INTEGER);")
        #expect(try tool.onStore("migrate").status == 0)
        #expect(tool.folder.mode("store.db") == 0o600)
        let bytes = try tool.folder.data("store.db")
        #expect(!bytes.isEmpty)
        #expect(bytes.range(of: Data("SQLite format 3".utf8)) == nil)
        #expect(bytes.range(of: Data("marker_of_this_test".utf8)) == nil)
        #expect(try tool.folder.names.filter { $0.hasPrefix("store.db-") }.isEmpty)
    }

    @Test func statusTellsUpDownAndUnknown() throws {
        try tool.writeItems()
        #expect(try tool.onStore("migrate", "--to", "0002_row").status == 0)

        let status = try tool.onStore("status")
        #expect(status.status == 0)
        let time = /\d{4}-\d\d-\d\d \d\d:\d\d [+-]\d{4}/
        #expect(
            status.stdout.replacing(time, with: "when").replacing(/\d+ ms/, with: "1 ms") == """
                STATE  APPLIED                 TOOK  MIGRATION
                up     when  1 ms  0001_items
                up     when  1 ms  0002_row
                down                                 0003_tags

                1 pending: 'migrate' applies it.

                """
        )
        let document = try tool.onStore("status", "--json").json()
        #expect(document["pending"] as? [String] == ["0003_tags"])
        #expect(document["database"] as? String == tool.database)

        try FileManager.default.removeItem(atPath: tool.folder.path("migrations/0002_row.sql"))
        let rows = try #require(
            try tool.onStore("status", "--json").json()["migrations"] as? [[String: Any]]
        )
        #expect(rows.map { $0["state"] as? String } == ["up", "down", "unknown"])
        #expect(rows.map { $0["missing"] as? Bool } == [false, false, true])
        #expect(
            rows.map { $0["identifier"] as? String } == ["0001_items", "0003_tags", "0002_row"]
        )
    }

    @Test func nothingPendingChangesNothing() throws {
        try tool.writeItems()
        #expect(try tool.onStore("migrate").status == 0)
        let before = try tool.folder.snapshot()
        let again = try tool.onStore("migrate")
        #expect(again.status == 0)
        #expect(
            again.stdout
                == "Nothing to apply.\nThe database is at 0003_tags; nothing is pending.\n"
        )
        #expect(try tool.folder.snapshot() == before)
        let verified = try tool.onStore("migrate", "--verify", "--json")
        #expect(try verified.json()["verified"] as? Bool == true)
    }

    @Test func verifyListsItsChecks() throws {
        try tool.write(
            "0001_items",
            up: "CREATE TABLE item (id INTEGER); CREATE INDEX item_id ON item (id);"
        )
        #expect(try tool.onStore("migrate").status == 0)
        let good = try tool.onStore("verify", "--require-index", "item.item_id")
        #expect(good.status == 0)
        #expect(
            good.stdout
                == """
                ok      quick_check
                ok      foreign_key_check
                ok      required_index item.item_id
                ok      schema
                The database is sound.

                """
        )
        let bad = try tool.onStore("verify", "--require-index", "item.nothing", "--json")
        #expect(bad.status == 2)
        #expect(try bad.json()["ok"] as? Bool == false)
        #expect(try bad.jsonError()["code"] as? String == "verificationFailed")
        let checks = try #require(try bad.json()["checks"] as? [[String: Any]])
        #expect(checks.map { $0["ok"] as? Bool } == [true, true, false, true])
    }

    @Test func rollbackAcceptsStepAsWell() throws {
        try tool.writeItems()
        #expect(try tool.onStore("migrate").status == 0)
        #expect(try tool.onStore("rollback", "--step", "2").status == 0)
        #expect(
            try tool.onStore("status", "--json").json()["pending"] as? [String]
                == ["0002_row", "0003_tags"]
        )
    }

    @Test func schemaDumpNeedsNoKeyAndCanBeLoaded() throws {
        let file = tool.folder.path("schema.sql")
        let written = try tool.run(
            ["schema-dump", "--migrations", PackageFolder.notesMigrations, "--output", file]
        )
        #expect(written.status == 0)
        let printed = try tool.run(["schema-dump", "--migrations", PackageFolder.notesMigrations])
        #expect(printed.status == 0)
        #expect(try String(contentsOfFile: file, encoding: .utf8) == printed.stdout)

        // The sqlcipher shell stands in for any other SQLite.
        let loaded = try SQLCipherShell.run(
            tool.folder.path("loaded.db"),
            key: nil,
            printed.stdout + "SELECT 'loaded', count(*) FROM sqlite_schema;"
        )
        #expect(loaded.hasPrefix("loaded|"))
    }

    @Test func plaintextDatabaseIsMigratedWhenAskedFor() throws {
        try tool.writeItems()
        let plain = [
            "--db-path", tool.database, "--no-encryption", "--migrations", tool.migrations,
        ]
        #expect(try tool.run(["migrate"] + plain).status == 0)
        let bytes = try tool.folder.data("store.db")
        #expect(bytes.starts(with: Data("SQLite format 3\0".utf8)))
    }

    @Test func rawKeyOpensWhatItMade() throws {
        try tool.writeItems()
        let digits = (0..<32).map { _ in String(format: "%02x", UInt8.random(in: 0...255)) }
        try tool.folder.write("key", digits.joined().utf8)
        let raw = [
            "--db-path", tool.database, "--password-file", tool.folder.path("key"), "--raw-key",
            "--migrations", tool.migrations,
        ]
        #expect(try tool.run(["migrate"] + raw).status == 0)
        #expect(try tool.run(["status"] + raw).status == 0)
        #expect(try tool.run(["status"] + raw.filter { $0 != "--raw-key" }).status == 77)
    }

    @Test func optionsMayComeFromTheEnvironment() throws {
        var tool = try Tool()
        try tool.writeItems()
        tool.environment["MIGRATIONKIT_DB_PATH"] = tool.database
        tool.environment["MIGRATIONKIT_MIGRATIONS"] = tool.migrations
        tool.environment["MIGRATIONKIT_PASSWORD_FILE"] = tool.folder.path("password")
        #expect(try tool.run("migrate").status == 0)
        #expect(try tool.run("status", "--json").json()["pending"] as? [String] == [])
    }
}
