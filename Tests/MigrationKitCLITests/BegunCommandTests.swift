import Foundation
import TestSupport
import Testing

/// What the commands say of a migration of which some batches are done, once its file is another.
@Suite struct BegunCommandTests {
    private var tool: Tool

    init() throws {
        tool = try Tool(isRawKey: true)
        try tool.useSettings()
        try tool.folder.write(
            "migrations/0001_t.sql",
            """
            -- migrate:up
            CREATE TABLE t (id INTEGER PRIMARY KEY, c INTEGER DEFAULT 0 CHECK (c < 1 OR id <> 50));
            WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 100)
            INSERT INTO t (id) SELECT i FROM n;
            -- migrate:down
            DROP TABLE t;

            """.utf8
        )
        try writeStep()
        #expect(try tool.onStore("migrate").status == 1)
    }

    private func writeStep(_ statement: String = "UPDATE t SET c = c + 1 WHERE c = 0") throws {
        try tool.folder.write(
            "migrations/0002_c.sql",
            """
            -- migrate:up
            -- migrate:batch rows=10
            \(statement);
            -- migrate:down
            UPDATE t SET c = c - 1 WHERE c > 0;

            """.utf8
        )
    }

    private var sum: String {
        get throws { try tool.shell("SELECT 'sum ' || sum(c) FROM t") }
    }

    @Test func editedFileIsRefusedByEveryCommandThatWouldGoOn() throws {
        try writeStep("UPDATE t SET c = c + 10 WHERE c < 10 AND id <> 50")
        for command in [
            ["migrate"], ["migrate", "--dry-run"], ["migrate", "--all-or-nothing"], ["plan"],
            ["rehearse"], ["status", "--exit-code"],
        ] {
            let refused = try tool.run(
                command + tool.opening + ["--migrations", tool.migrations, "--json"]
            )
            #expect(refused.status == 65, "\(command): \(refused)")
            let error = try refused.jsonError()
            #expect(error["code"] as? String == "migrationsChanged", "\(command): \(refused)")
            #expect((error["message"] as? String)?.contains("0002_c") == true)
            #expect((error["hint"] as? String)?.contains("'rollback'") == true)
        }
        let status = try tool.onStore("status").stdout
        #expect(status.contains(/changed +0002_c/), "\(status)")
        #expect(
            status.contains("Put its old text back, or take it back with 'rollback'."),
            "\(status)"
        )
        #expect(!status.contains("'migrate' applies"), "\(status)")
        #expect(!status.contains("'repair' accepts"), "\(status)")
        #expect(try tool.onStore("verify", "--full").stdout.contains("'0002_c' was changed"))
        let repair = try tool.onStore("repair", "0002_c", "--yes", "--json")
        #expect(try repair.jsonError()["code"] as? String == "migrationBegun")
        #expect(try !sum.contains("sum 0"))

        #expect(try tool.onStore("rollback", "--yes").status == 0)
        #expect(try sum.contains("sum 0"))
        #expect(try tool.onStore("migrate").status == 0)
        #expect(try sum.contains("sum 990"))
    }

    @Test func renamedFileIsToBePutBackAndNotRenamedInTheRecord() throws {
        let folder = tool.folder
        let (old, new) = (
            folder.path("migrations/0002_c.sql"), folder.path("migrations/0002_d.sql")
        )
        try FileManager.default.moveItem(atPath: old, toPath: new)
        let refused = try tool.onStore("migrate")
        #expect(refused.status == 65)
        #expect(!refused.stderr.contains("--rename"), "\(refused)")
        #expect(refused.stderr.contains("put it back under that"), "\(refused)")
        let status = try tool.onStore("status").stdout
        #expect(!status.contains("'migrate' applies"), "\(status)")
        #expect(status.contains("'migrate' goes on if its file is back"), "\(status)")
        let renaming = try tool.onStore("repair", "--rename", "0002_c=0002_d", "--yes", "--json")
        #expect(try renaming.jsonError()["code"] as? String == "migrationBegun")

        // Both ways out work.
        try FileManager.default.moveItem(atPath: new, toPath: old)
        #expect(try tool.onStore("status").stdout.contains("rows so far: 'migrate' goes on."))
        try FileManager.default.moveItem(atPath: old, toPath: new)
        #expect(try tool.onStore("downgrade", "--yes").status == 0)
        #expect(try sum.contains("sum 0"))
    }
}
