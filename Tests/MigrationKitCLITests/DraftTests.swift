import Foundation
import TestSupport
import Testing

/// A migration that was created and not written yet is in nobody's way; one without a statement is
/// a migration.
@Suite struct DraftTests {
    let tool: Tool

    init() throws {
        tool = try Tool(isRawKey: true)
        try tool.writeItems()
        #expect(try tool.onStore("migrate", "--to", "0002").status == 0)
        #expect(try tool.run("create", "later", "--migrations", tool.migrations).status == 0)
    }

    @Test func migrateRefusesADraftByNameBeforeAnythingChanges() throws {
        let before = try tool.folder.data("store.db")
        for command in [
            ["migrate"], ["migrate", "--dry-run"], ["plan"], ["migrate", "--to", "0004"],
            ["migrate", "--steps", "2"],
        ] {
            let refused = try tool.run(
                command + tool.opening + ["--migrations", tool.migrations, "--json"]
            )
            #expect(refused.status == 65, "\(command)")
            let error = try refused.jsonError()
            #expect(error["code"] as? String == "draftMigration")
            #expect((error["message"] as? String)?.hasPrefix("0004_later.sql:1:1: ") == true)
        }
        #expect(try tool.folder.data("store.db") == before)
    }

    @Test func otherCommandsGoOnWithADraft() throws {
        let status = try tool.onStore("status")
        #expect(status.status == 0)
        #expect(status.stdout.contains(/(?m)^draft .* 0004_later$/))
        #expect(!status.stdout.contains("'migrate' applies"))
        let rows = try #require(
            try tool.onStore("status", "--json").json()["migrations"] as? [[String: Any]]
        )
        #expect(rows.map { $0["draft"] as? Bool } == [false, false, false, true])
        #expect(try tool.onStore("status", "--exit-code").status == 3)

        #expect(try tool.onStore("verify").status == 0)
        #expect(try tool.onStore("verify", "--full").status == 0)
        let dump = try tool.run("schema-dump", "--migrations", tool.migrations)
        #expect(dump.status == 0)
        #expect(dump.stdout.contains("0003_tags") && !dump.stdout.contains("0004_later"))
        #expect(try tool.onStore("migrate", "--to", "0003").status == 0)
        #expect(try tool.onStore("migrate", "--steps", "0").status == 0)
        #expect(try tool.onStore("redo").status == 0)
        #expect(try tool.onStore("rollback", "--all").status == 0)
        #expect(try tool.run("create", "last", "--migrations", tool.migrations).status == 0)
    }

    @Test func migrationWithoutAStatementIsAppliedAndRecorded() throws {
        try tool.folder.write(
            "migrations/0004_later.sql",
            "-- migrate:up\n-- Only PostgreSQL needs it.\n-- migrate:down\n".utf8
        )
        let migrated = try tool.onStore("migrate")
        #expect(migrated.status == 0)
        #expect(
            migrated.stderr == """
                note: 0004_later.sql:1:1: there is no statement: the migration is recorded as \
                applied, and changes nothing

                """
        )
        #expect(try tool.onStore("status", "--exit-code").status == 0)
        #expect(try tool.shell("SELECT count(*) FROM grdb_migrations").contains("4"))
        #expect(try tool.onStore("rollback", "--all").status == 0)
        // With SQL in it, it is another migration than the one that was applied.
        #expect(try tool.onStore("migrate").status == 0)
        try tool.write("0004_later", up: "CREATE TABLE later (id);")
        #expect(try tool.onStore("migrate").status == 65)
    }
}
