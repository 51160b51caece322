import Foundation
import TestSupport
import Testing

/// Two branches add a migration with the same number, and are merged as `TwoBranches.md` says.
@Suite struct TwoBranchTests {
    private let tool: Tool

    init() throws {
        tool = try Tool(isRawKey: true)
        try tool.write("0001_note", up: "CREATE TABLE note (id INTEGER PRIMARY KEY);")
        try tool.write("0002_colour", up: "ALTER TABLE note ADD COLUMN colour TEXT;")
        #expect(try tool.onStore("migrate").status == 0)
        _ = try tool.shell("INSERT INTO note (colour) VALUES ('red');")
        // What was merged first.
        try tool.write("0002_tags", up: "ALTER TABLE note ADD COLUMN tag TEXT;")
    }

    @Test func theRecipeLeadsToAVerifiedDatabase() throws {
        let refused = try tool.onStore("migrate")
        #expect(refused.status == 65, "\(refused)")
        #expect(refused.stderr.contains("several migrations have the version 2"), "\(refused)")
        #expect(refused.stderr.contains("repair --rename"), "\(refused)")

        try FileManager.default.moveItem(
            atPath: "\(tool.migrations)/0002_colour.sql",
            toPath: "\(tool.migrations)/0003_colour.sql"
        )
        let renamed = try tool.onStore("repair", "--rename", "0002_colour=0003_colour", "--yes")
        #expect(renamed.status == 0, "\(renamed)")
        let migrated = try tool.onStore("migrate", "--allow-out-of-order")
        #expect(migrated.status == 0, "\(migrated)")
        #expect(migrated.stdout.contains("Verified."), "\(migrated)")

        // The journal's record of the schema would hide how the next verification compares.
        _ = try tool.shell("DROP TABLE IF EXISTS grdb_migrationkit_schema;")
        for arguments in [[], ["--full"]] {
            let verified = try tool.run(
                ["verify"] + tool.opening + ["--migrations", tool.migrations] + arguments
            )
            #expect(verified.status == 0, "\(verified)")
        }
        let status = try tool.onStore("status", "--exit-code")
        #expect(status.status == 0, "\(status)")
        #expect(try tool.onStore("repair", "--schema").status == 0)
        #expect(try tool.shell("SELECT colour FROM note;").hasPrefix("red"))
        // A new migration goes on from here.
        try tool.write("0004_more", up: "CREATE TABLE more (id INTEGER PRIMARY KEY);")
        #expect(try tool.onStore("migrate").status == 0)
    }

    @Test func anotherOrderOfColumnsIsANote() throws {
        try FileManager.default.removeItem(atPath: "\(tool.migrations)/0002_tags.sql")
        try tool.write("0003_tags", up: "ALTER TABLE note ADD COLUMN tag TEXT;")
        #expect(try tool.onStore("migrate").status == 0)
        _ = try tool.shell(
            """
            CREATE TABLE new (id INTEGER PRIMARY KEY, tag TEXT, colour TEXT);
            INSERT INTO new (id, colour) SELECT id, colour FROM note;
            DROP TABLE note; ALTER TABLE new RENAME TO note;
            """
        )
        let verified = try tool.onStore("verify")
        #expect(verified.status == 0, "\(verified)")
        let note =
            "table note: order of columns: id, tag, colour, the migrations give id, colour, tag"
        #expect(verified.stdout.contains(note), "\(verified)")
        // With another difference, it is one of them.
        _ = try tool.shell("CREATE INDEX extra ON note (tag);")
        #expect(try tool.onStore("verify").status == 2)
    }
}
