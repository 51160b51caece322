import Foundation
import TestSupport
import Testing

/// `schema-diff` and `create --to` with an encrypted database.
@Suite struct SchemaDiffCommandTests {
    private let tool: Tool

    private static let notes = """
        CREATE TABLE notes (id INTEGER PRIMARY KEY, title TEXT NOT NULL, body TEXT);
        CREATE INDEX notes_title ON notes (title);
        """

    init() throws {
        tool = try Tool(isRawKey: true)
        try tool.write("0001_notes", up: Self.notes, down: "DROP TABLE notes;")
        #expect(try tool.onStore("migrate").status == 0)
        _ = try tool.shell(
            "INSERT INTO notes (title, body) VALUES ('a', 'secret one'), ('b', NULL), ('a', 'x');"
        )
    }

    private var key: [String] { Array(tool.opening.dropFirst(2)) }
    private var migrations: [String] { ["--migrations", tool.migrations] }

    private func create(to schema: String, _ arguments: [String] = []) throws -> ProcessResult {
        let path = try tool.folder.write("schema.sql", schema.utf8)
        return try tool.run(["create", "next", "--to", path] + migrations + arguments)
    }

    private func names() throws -> [String] {
        try FileManager.default.contentsOfDirectory(atPath: tool.folder.path).sorted()
    }

    @Test func databaseIsComparedWithTheMigrations() throws {
        let command = ["schema-diff", "--to", tool.database, "--exit-code"] + key + migrations
        let before = try Data(contentsOf: URL(filePath: tool.database))
        let same = try tool.run(command)
        #expect(same.status == 0 && same.stdout == "No difference.\n", "\(same)")
        #expect(try Data(contentsOf: URL(filePath: tool.database)) == before)

        _ = try tool.shell("CREATE TABLE tag (id INTEGER); DROP INDEX notes_title;")
        let other = try tool.run(command)
        #expect(other.status == 3, "\(other)")
        #expect(other.stdout.contains("tag\n  + table"), "\(other)")
        #expect(other.stdout.contains("  - index notes_title"), "\(other)")
        let back = try tool.run(
            ["schema-diff", "--from", tool.database, "--to", tool.migrations, "--json"] + key
        )
        #expect(try back.json()["matches"] as? Bool == false, "\(back)")

        let wrong = try tool.folder.write("wrong", ToolFolder.randomDigits(count: 64).utf8)
        let refused = try tool.run(
            ["schema-diff", "--to", tool.database, "--password-file", wrong, "--raw-key"]
                + migrations
        )
        #expect(refused.status == 77, "\(refused)")
    }

    @Test func theSettingsThatTheOptionNamesAreRead() throws {
        let text = "migrations = \"\(tool.migrations)\"\n"
        let settings = try tool.folder.write("other.toml", text.utf8)
        let same = try tool.run(["schema-diff", "--to", tool.database, "--config", settings] + key)
        #expect(same.status == 0 && same.stdout == "No difference.\n", "\(same)")
    }

    @Test func writtenMigrationIsAppliedAndTakenBack() throws {
        let wanted = """
            CREATE TABLE notes (
                id INTEGER PRIMARY KEY, title TEXT NOT NULL, n INTEGER NOT NULL CHECK (n >= 0)
            );
            CREATE INDEX notes_title ON notes (title DESC);
            """
        let backfill = ["--backfill", "notes.n=length(coalesce(body, ''))"]
        let refused = try create(to: wanted, backfill + tool.opening)
        #expect(refused.status == 65, "\(refused)")
        // With a database at hand, those that have something to lose are counted.
        #expect(refused.stderr.contains("drop-column notes.body, 2 rows: "), "\(refused)")
        #expect(!refused.stderr.contains("secret"))
        #expect(try names().contains("migrations"))
        #expect(try FileManager.default.contentsOfDirectory(atPath: tool.migrations).count == 1)

        let files = try names()
        var allowed = ["--allow-hazard", "drop-column"]
        for kind in ["may-violate-check", "rewrites-table", "may-violate-not-null"]
        where refused.stderr.contains(kind) {
            allowed += ["--allow-hazard", kind]
        }
        let created = try create(
            to: wanted,
            backfill + tool.opening + allowed + ["--prove-on-copy"]
        )
        #expect(created.status == 0, "\(created)")
        #expect(created.stdout.contains("Proved on a copy of \(tool.database) with 3 rows."))
        #expect(try names() == files)

        let before = try tool.shell("SELECT id, title FROM notes ORDER BY 1")
        let migrated = try tool.onStore("migrate")
        #expect(migrated.status == 0, "\(migrated)")
        #expect(try tool.shell("SELECT id, title FROM notes ORDER BY 1") == before)
        #expect(try tool.shell("SELECT n FROM notes ORDER BY id") == "10\n0\n1")
        let command =
            ["schema-diff", "--from", tool.database, "--to", tool.folder.path("schema.sql")]
            + key + ["--exit-code"]
        #expect(try tool.run(command).status == 0)
        #expect(try tool.onStore("lint").status == 0)

        let back = try tool.onStore("rollback", "--steps", "1")
        #expect(back.status == 0, "\(back)")
        #expect(try tool.shell("SELECT id, title FROM notes ORDER BY 1") == before)
        #expect(try tool.run(command).status == 3)
    }

    @Test func rowsThatTheCopyRefusesKeepItFromBeingWritten() throws {
        let wanted = Self.notes.replacing("CREATE INDEX", with: "CREATE UNIQUE INDEX")
        let allowed = ["--allow-hazard", "may-violate-unique"]
        let files = try names()
        let refused = try create(to: wanted, allowed + tool.opening + ["--prove-on-copy"])
        #expect(refused.status == 65, "\(refused)")
        #expect(refused.stderr.contains("UNIQUE constraint failed"), "\(refused)")
        #expect(try FileManager.default.contentsOfDirectory(atPath: tool.migrations).count == 1)
        #expect(try Set(names()) == Set(files + ["schema.sql"]))
        #expect(try create(to: wanted, allowed).status == 0)
    }

    @Test func databaseOfTheEnvironmentIsCopied() throws {
        let path = try tool.folder.write("schema.sql", "\(Self.notes)CREATE TABLE t (a);".utf8)
        let command = ["create", "next", "--to", path, "--prove-on-copy"] + migrations
        let unnamed = try tool.run(command)
        #expect(unnamed.status == 64, "\(unnamed)")
        var named = tool
        named.environment["MIGRATIONKIT_DB_PATH"] = tool.database
        let created = try named.run(command + key)
        #expect(created.status == 0, "\(created)")
        #expect(created.stdout.contains("Proved on a copy of \(tool.database) with 3 rows."))
    }

    @Test func driftOfTheDatabaseIsNamed() throws {
        _ = try tool.shell("CREATE TABLE other (a);")
        let wanted = "\(Self.notes)CREATE TABLE t (a);"
        let drifted = try create(to: wanted, tool.opening + ["--prove-on-copy"])
        #expect(drifted.status == 65, "\(drifted)")
        #expect(drifted.stderr.contains("this change is missing: table other: dropped"))
        #expect(drifted.stderr.contains("The database has drifted"), "\(drifted)")
        #expect(drifted.stderr.contains("repair --schema"), "\(drifted)")
        let ignored = try create(
            to: wanted,
            tool.opening + ["--prove-on-copy", "--ignore-table", "other"]
        )
        #expect(ignored.status == 0, "\(ignored)")
    }
}
