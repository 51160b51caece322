import Foundation
import GRDB
import MigrationKit
import MigrationKitCLI
import MigrationKitGRDB
import TestSupport
import Testing

/// `schema-diff` and `create --to`, without a database.
@Suite struct SchemaDiffTests {
    private let folder: TemporaryFolder
    private let tool = ToolInProcess()

    private static let notes = """
        CREATE TABLE notes (id INTEGER PRIMARY KEY, title TEXT NOT NULL, body TEXT);
        CREATE INDEX notes_title ON notes (title);
        """

    init() throws {
        folder = try TemporaryFolder(["schema.sql": Self.notes])
        try folder.makeFolder("migrations")
        try folder.write(
            "migrations/0001_notes.sql",
            "-- migrate:up\n\(Self.notes)\n-- migrate:down\nDROP TABLE notes;\n".utf8
        )
    }

    private var migrations: [String] { ["--migrations", folder.path("migrations")] }

    private func diff(to schema: String, _ arguments: String...) throws -> ProcessResult {
        let path = try folder.write("wanted.sql", schema.utf8)
        return tool.run(["schema-diff", "--to", path] + migrations + arguments)
    }

    private func create(to schema: String, _ arguments: String...) throws -> ProcessResult {
        let path = try folder.write("wanted.sql", schema.utf8)
        return tool.run(["create", "next", "--to", path] + migrations + arguments)
    }

    private func files() throws -> [String] {
        try FileManager.default.contentsOfDirectory(atPath: folder.path("migrations")).sorted()
    }

    // MARK: - Wrong usage

    @Test(arguments: [
        ["schema-diff"],
        ["schema-diff", "--to", "-", "--from", "-"],
        ["schema-diff", "--to", "-", "--password-file", "-"],
        ["schema-diff", "--to", "a.sql", "--json", "--format", "sql"],
        ["schema-diff", "--to", "a.sql", "--unified", "--json"],
        ["schema-diff", "--to", "a.sql", "--allow-hazard", "drop-table"],
        ["schema-diff", "--to", "a.sql", "--backfill", "notes.n=1"],
        ["schema-diff", "--to", "a.sql", "--format", "sql", "--backfill", "n=1"],
        ["schema-diff", "--to", "a.sql", "--format", "sql", "--backfill", "notes.n="],
        ["schema-diff", "--to", "a.sql", "--rename", "notes"],
        ["schema-diff", "--to", "a.sql", "--rename", "notes.body=text"],
        ["schema-diff", "--to", "a.sql", "--rename", "notes.body=other.text"],
        ["schema-diff", "--to", "a.sql", "--rename", "=notes"],
        ["create", "--to", "a.sql"],
        ["create", "next", "--to", "a.sql", "--rebuild", "notes"],
        ["create", "next", "--allow-hazard", "drop-table"],
        ["create", "next", "--to", "a.sql", "--allow-hazard", "everything"],
        ["create", "next", "--prove-on-copy"],
        ["create", "next", "--to", "a.sql", "--prove-on-copy"],
    ])
    func wrongUsageIsRefused(_ arguments: [String]) throws {
        let result = tool.run(arguments + migrations)
        #expect(result.status == 64, "\(result)")
        #expect(result.stdout.isEmpty)
        #expect(try files() == ["0001_notes.sql"])
    }

    @Test func schemaThatIsNotThereIsNamed() throws {
        let path = folder.path("none.sql")
        for command in [["schema-diff"], ["create", "next"]] {
            let result = tool.run(command + ["--to", path] + migrations)
            #expect(result.status == 66, "\(result)")
            #expect(result.stderr.contains("there is no file \(path)"))
        }
    }

    @Test func dumpMustBeUTF8() throws {
        let text = "CREATE TABLE t (a TEXT DEFAULT 'caf\u{E9}');"
        for encoding in [String.Encoding.isoLatin1, .utf16] {
            let path = try folder.write("wanted.sql", #require(text.data(using: encoding)))
            for command in [["schema-diff"], ["create", "next"]] {
                let result = tool.run(command + ["--to", path] + migrations)
                #expect(result.status == 65, "\(result)")
                #expect(result.stderr.contains("the text is not UTF-8"), "\(result)")
            }
        }
    }

    @Test func brokenInputIsNotAFailedMigration() throws {
        let dump = try diff(to: "CREATE TABLE t (a);\nCREAT TABLE u (a);", "--json")
        #expect(dump.status == 65, "\(dump)")
        #expect(try dump.jsonError()["code"] as? String == "unusableDump")
        #expect(dump.stderr.contains("wanted.sql:2:1: near"), "\(dump)")
        let backfill = try create(
            to: Self.notes.replacing("body TEXT", with: "body TEXT, n INTEGER"),
            "--backfill",
            "notes.n=length(titel)",
            "--json"
        )
        #expect(backfill.status == 65, "\(backfill)")
        #expect(try backfill.jsonError()["code"] as? String == "brokenSchema")
        #expect(try files() == ["0001_notes.sql"])
    }

    // MARK: - The difference

    @Test func spellingIsNoDifference() throws {
        let result = try diff(
            to: """
                create table "notes" (
                    id integer primary key, -- the number
                    title text not null, [body] text
                );
                create index notes_title on notes(title);
                """,
            "--exit-code"
        )
        #expect(result.status == 0, "\(result)")
        #expect(result.stdout == "No difference.\n")
    }

    @Test func differenceIsListedByTable() throws {
        let wanted = """
            CREATE TABLE notes (id INTEGER PRIMARY KEY, title TEXT NOT NULL, body TEXT, n INTEGER);
            CREATE TABLE tag (id INTEGER PRIMARY KEY);
            """
        let result = try diff(to: wanted, "--exit-code")
        #expect(result.status == 3, "\(result)")
        let lines = result.stdout.split(separator: "\n")
        #expect(lines.contains("notes") && lines.contains("tag"), "\(result)")
        #expect(lines.contains { $0.hasPrefix("  + column n") }, "\(result)")
        #expect(lines.contains { $0.hasPrefix("  - index notes_title") }, "\(result)")
        #expect(lines.contains { $0.hasPrefix("  + table") }, "\(result)")
        #expect(try diff(to: wanted).status == 0)
        let unified = try diff(to: wanted, "--unified")
        #expect(unified.stdout.hasPrefix("--- migrations\n+++ "), "\(unified)")
        #expect(unified.stdout.contains("\n+CREATE TABLE tag (id INTEGER PRIMARY KEY);"))
        let ignored = try diff(
            to: Self.notes + "CREATE TABLE tag (id INTEGER PRIMARY KEY);",
            "--ignore-table",
            "Tag"
        )
        #expect(ignored.stdout == "No difference.\n", "\(ignored)")
    }

    @Test func differenceForProgramsIsOneDocument() throws {
        let result = try diff(
            to: "CREATE TABLE notes (id INTEGER PRIMARY KEY, title TEXT NOT NULL, text TEXT);",
            "--json",
            "--exit-code"
        )
        #expect(result.status == 3, "\(result)")
        let document = try result.json()
        #expect(document["matches"] as? Bool == false)
        let changes = try #require(document["changes"] as? [[String: Any]])
        #expect(changes.contains { $0["kind"] as? String == "index" })
        let renames = try #require(document["possibleRenames"] as? [[String: Any]])
        #expect(renames.first?["newName"] as? String == "text")
        #expect(try result.jsonError()["code"] as? String == "schemaDiffers")
    }

    /// A rename is never guessed.
    @Test func possibleRenameIsNamedWhereNobodyCanBeAsked() throws {
        let wanted = Self.notes.replacing("body", with: "\"text\"")
        let result = try diff(to: wanted)
        #expect(
            result.stderr
                == "note: if notes.text is the new name of notes.body, add: "
                + "--rename notes.body=notes.text\n",
            "\(result)"
        )
        let renamed = try diff(to: wanted, "--rename", "notes.body=notes.text", "--format", "sql")
        #expect(renamed.status == 0 && renamed.stderr.isEmpty, "\(renamed)")
        #expect(renamed.stdout.contains("RENAME COLUMN"), "\(renamed)")
        let unknown = try diff(to: wanted, "--rename", "notes.nothing=notes.text")
        #expect(unknown.status == 64, "\(unknown)")
    }

    @Test func migrationIsPrintedInTheFormOfTheFolder() throws {
        let result = try diff(
            to: Self.notes + "CREATE TABLE tag (id INTEGER PRIMARY KEY);",
            "--format",
            "sql"
        )
        #expect(result.status == 0, "\(result)")
        #expect(result.stdout.hasPrefix("-- migrate:up\n"), "\(result)")
        #expect(result.stdout.contains("CREATE TABLE tag (id INTEGER PRIMARY KEY);"))
        #expect(result.stdout.contains("-- migrate:down\n"))
        #expect(result.stdout.contains("DROP TABLE"))
        #expect(try files() == ["0001_notes.sql"])
    }

    @Test func stepsInSwiftAreCompared() throws {
        let step = MigrationStep<Database>(
            identifier: "0001_notes",
            apply: { try $0.execute(sql: Self.notes) }
        )
        let host = MigrationCLIHost(
            runner: try GRDBMigrationRunner(steps: [step]),
            openWriter: MigrationCLIHost.openDatabase
        )
        func run(_ arguments: String...) throws -> String {
            let lines = Lines()
            try MigrationCLI.run(
                arguments: ["schema-diff", "--to", folder.path("schema.sql")] + arguments,
                host: host,
                output: lines.append,
                errorOutput: lines.append
            )
            return lines.text
        }
        #expect(try run() == "No difference.")
        try folder.write("schema.sql", (Self.notes + "CREATE VIEW v AS SELECT 1;").utf8)
        #expect(try run() == "v\n  + view: CREATE VIEW v AS SELECT 1")
        #expect(try run("--format", "sql").contains("CREATE VIEW v AS SELECT 1;"))
    }

    // MARK: - create --to

    @Test func hazardIsRefusedAndNothingIsWritten() throws {
        let wanted = "CREATE TABLE notes (id INTEGER PRIMARY KEY, title TEXT NOT NULL);"
        let refused = try create(to: wanted)
        #expect(refused.status == 65, "\(refused)")
        #expect(refused.stderr.contains("drop-column notes.body"), "\(refused)")
        #expect(refused.stderr.contains("--allow-hazard drop-column"))
        #expect(try create(to: wanted, "--json").jsonError()["code"] as? String == "hazard")
        #expect(try create(to: wanted, "--allow-hazard", "drop-table").status == 65)
        #expect(try files() == ["0001_notes.sql"])

        let allowed = try create(to: wanted, "--allow-hazard", "drop-column")
        #expect(allowed.status == 0, "\(allowed)")
        #expect(try files() == ["0001_notes.sql", "0002_next.sql"])
        let text = String(decoding: try folder.data("migrations/0002_next.sql"), as: UTF8.self)
        #expect(text.contains("allow drop-column --allow-hazard drop-column"), "\(text)")
        #expect(text.contains("-- The rollback can't bring back:\n--   "), "\(text)")
        let lint = tool.run(["lint", "--level", "error"] + migrations)
        #expect(lint.status == 0, "\(lint)")
        // Now there is nothing left to do.
        let again = try create(to: wanted)
        #expect(again.stdout == "No difference. Nothing was written.\n", "\(again)")
        #expect(try files().count == 2)
    }

    @Test func wayDownThatMayFailIsAnnounced() throws {
        let result = try create(
            to: Self.notes.replacing("title TEXT NOT NULL", with: "title TEXT"),
            "--allow-hazard",
            "rewrites-table"
        )
        #expect(result.status == 0, "\(result)")
        let reason = "rows with NULL in notes.title are refused"
        #expect(result.stdout.contains("The rollback may fail: \(reason).\n"), "\(result)")
        let text = String(decoding: try folder.data("migrations/0002_next.sql"), as: UTF8.self)
        let title = "The rollback fails, and changes nothing, if there are such rows by then:"
        #expect(text.contains("-- \(title)\n--   \(reason)\n"), "\(text)")
    }

    @Test func requiredColumnAsksForItsValues() throws {
        let wanted = Self.notes.replacing("body TEXT", with: "body TEXT, n INTEGER NOT NULL")
        let refused = try create(to: wanted)
        #expect(refused.status == 64, "\(refused)")
        #expect(refused.stderr.contains("--backfill notes.n="), "\(refused)")
        let filled = try create(
            to: wanted,
            "--backfill",
            "notes.n=length(title)",
            "--allow-hazard",
            "rewrites-table"
        )
        #expect(filled.status == 0, "\(filled)")
        #expect(try files().count == 2)
    }

    @Test func firstMigrationIsWrittenWithoutAFolder() throws {
        let path = folder.path("new")
        let result = tool.run(
            "create",
            "notes",
            "--to",
            folder.path("schema.sql"),
            "--migrations",
            path,
            "--json"
        )
        #expect(result.status == 0, "\(result)")
        #expect(try result.json()["identifier"] as? String == "0001_notes")
        let diff = tool.run(
            "schema-diff",
            "--from",
            path,
            "--to",
            folder.path("schema.sql"),
            "--exit-code"
        )
        #expect(diff.status == 0, "\(diff)")
    }
}
