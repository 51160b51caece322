import Foundation
import TestSupport
import Testing

/// `init`, and what it says comes next.
@Suite struct InitTests {
    /// SQL for the file that `create` has made.
    private static let sql = """
        cat >migrations/0001_first_table.sql <<'END'
        -- migrate:up
        CREATE TABLE note (id INTEGER PRIMARY KEY, title TEXT NOT NULL) STRICT;
        -- migrate:down
        DROP TABLE note;
        END
        """

    private func next(_ result: ProcessResult) throws -> [String] {
        try #require(try result.json()["nextCommands"] as? [String])
    }

    @Test func everythingIsWrittenAndSaid() throws {
        let project = try Project()
        let name = URL(filePath: project.folder.path).lastPathComponent
        let result = try project.run("init")
        #expect(result.status == 0)
        #expect(result.stderr.isEmpty)
        #expect(
            result.stdout == """
                Created migrationkit.toml
                Created migrations
                Created .gitignore
                Next:
                  migrationkit-cli key generate
                  migrationkit-cli create first_table
                  migrationkit-cli migrate
                Before 'migrate', write the SQL into the file that 'create' names.

                """
        )
        #expect(
            try project.text("migrationkit.toml") == """
                # Settings of migrationkit-cli. Paths start at this file's folder.
                db-path = "\(name).db"
                migrations = "migrations"
                keychain-service = "\(name)"
                keychain-account = "main"

                """
        )
        #expect(try project.text(".gitignore") == "/\(name).db*\n")
        #expect(try project.folder.names == [".gitignore", "migrationkit.toml", "migrations"])
    }

    /// A project in which another tool has a migration.
    private func projectOfOtherTool(in folder: String) throws -> Project {
        let project = try Project()
        try FileManager.default.createDirectory(
            atPath: project.folder.path(folder),
            withIntermediateDirectories: true
        )
        try project.folder.write(
            "\(folder)/20260101000000_note.sql",
            "-- migrate:up\nCREATE TABLE note (id INTEGER PRIMARY KEY);\n".utf8
        )
        return project
    }

    @Test(arguments: ["db/migrations", "sql"])
    func aFolderOfAnotherToolIsUsed(_ folder: String) throws {
        let project = try projectOfOtherTool(in: folder)
        let result = try project.run("init", "--password-file", "key")
        #expect(result.status == 0)
        #expect(result.stderr.hasPrefix("note: there are migrations in \(folder): "), "\(result)")
        #expect(result.stdout.contains("\(folder) exists already"), "\(result)")
        #expect(!result.stdout.contains("create first_table"), "\(result)")
        #expect(try project.text("migrationkit.toml").contains("migrations = \"\(folder)\"\n"))
        #expect(try !project.folder.names.contains("migrations"))
        let lint = try project.run("lint")
        #expect(lint.stdout.contains("Checked 1 migration"), "\(lint)")
    }

    @Test(arguments: [true, false])
    func aFolderOfAnotherToolIsAskedForOnTheTerminal(isWanted: Bool) throws {
        let project = try projectOfOtherTool(in: "db/migrations")
        let terminal = try TerminalProcess(
            "/usr/bin/env",
            ["-C", project.folder.path, builtExecutable("migrationkit-cli"), "init"],
            environment: project.environment
        )
        #expect(terminal.wait(for: "There are migrations in db/migrations. Use that folder? [y/N]"))
        terminal.type("\(isWanted ? "y" : "n")\n".utf8)
        #expect(terminal.finish().status == 0)
        let folder = isWanted ? "db/migrations" : "migrations"
        #expect(try project.text("migrationkit.toml").contains("migrations = \"\(folder)\"\n"))
    }

    @Test func aFolderOfAnotherToolIsLeftIfItHasNoMigrationsOrAnotherIsNamed() throws {
        let project = try projectOfOtherTool(in: "db/migrations")
        #expect(try project.run("init", "--migrations", "mine").stderr.isEmpty)
        #expect(try project.text("migrationkit.toml").contains("migrations = \"mine\"\n"))
        let queries = try Project()
        try queries.folder.makeFolder("sql")
        try queries.folder.write("sql/report.sql", "SELECT 1;".utf8)
        #expect(try queries.run("init").stderr.isEmpty)
        #expect(try queries.text("migrationkit.toml").contains("migrations = \"migrations\"\n"))
    }

    /// A lost key is no reason to make another one.
    @Test func noNewKeyIsProposedForADatabaseThatIsThere() throws {
        let project = try Project()
        try project.folder.write("notes.db", Array(repeating: 7, count: 4096))
        let result = try project.run("init", "--db-path", "notes.db", "--json")
        #expect(try next(result) == ["migrationkit-cli status"])
        let text = try project.run("init")
        #expect(!text.stdout.contains("key generate"), "\(text)")
        #expect(text.stderr.contains("only its own key opens it"), "\(text)")
    }

    @Test func nextCommandsWorkWhenPasted() throws {
        let secrets = try PrivateSecretService()
        let project = try Project(secrets.environment)
        let commands = try next(project.run("init", "--json"))
        try #require(commands.count == 3)
        let result = try project.paste([commands[0], commands[1], Self.sql, commands[2]])
        #expect(result.status == 0, "\(result)")
        let name = URL(filePath: project.folder.path).lastPathComponent
        #expect(result.stdout.contains("Created \(project.folder.path)/\(name).db."), "\(result)")
        #expect(result.stdout.contains("nothing is pending"))
    }

    @Test func nextCommandsWorkWithAKeyInAFile() throws {
        let project = try Project()
        let commands = try next(
            project.run("init", "--password-file", "my key", "--db-path", "./a b.db", "--json")
        )
        let result = try project.paste([commands[0], commands[1], Self.sql, commands[2]])
        #expect(result.status == 0, "\(result)")
        #expect(project.folder.mode("my key") == 0o600)
        #expect(project.folder.mode("a b.db") == 0o600)
        #expect(try project.text(".gitignore") == "/a\\ b.db*\n/my\\ key\n")

        let key = try project.folder.data("my key")
        #expect(try project.paste([commands[0]]).status != 0)
        #expect(try project.folder.data("my key") == key, "a second key replaced the first")
    }

    /// git itself says what its file means.
    @Test(arguments: ["notes.db", "./data/a[1] *?.db", "#x.db", "!x.db", "a\\b.db"])
    func gitIgnoresTheDatabaseAndWhatLiesBesideIt(_ path: String) throws {
        let project = try Project()
        #expect(try project.run("init", "--db-path", path).status == 0)
        let git = try project.paste([
            "git init -q .",
            "for s in '' -wal -shm -journal -migration.lock; do git check-ignore -q '\(path)'$s; done",
            "if git check-ignore migrationkit.toml other.db; then exit 1; fi",
        ])
        #expect(git.status == 0, "\(git)")
    }

    @Test func whatExistsIsLeftAsItIs() throws {
        let project = try Project()
        try project.folder.write("migrationkit.toml", "db-path = 'my.db'\n".utf8)
        try project.folder.write(".gitignore", "*.o".utf8, mode: 0o640)
        try project.folder.makeFolder("migrations")
        try project.folder.write("migrations/0001_a.sql", "-- migrate:up\nSELECT 1;\n".utf8)
        let result = try project.run("init")
        #expect(result.status == 0)
        #expect(
            result.stdout
                == """
                Added /my.db* to .gitignore
                migrationkit.toml exists already, and is left as it is
                migrations exists already, and is left as it is
                Next:
                  migrationkit-cli key generate --keychain-service SERVICE --keychain-account main
                  migrationkit-cli migrate --keychain-service SERVICE --keychain-account main

                """.replacing(
                    "SERVICE",
                    with: URL(filePath: project.folder.path).lastPathComponent
                )
        )
        #expect(try project.text("migrationkit.toml") == "db-path = 'my.db'\n")
        #expect(try project.text(".gitignore") == "*.o\n/my.db*\n")
        #expect(project.folder.mode(".gitignore") == 0o640)

        let before = try project.folder.snapshot()
        let again = try project.run("init", "--json").json()
        #expect(again["created"] as? [String] == [])
        #expect(again["changed"] as? [String] == [])
        #expect(
            again["existing"] as? [String] == ["migrationkit.toml", "migrations", ".gitignore"]
        )
        #expect(try project.folder.snapshot() == before)
    }

    @Test func anOptionAgainstTheSettingsThatExistIsRefused() throws {
        let project = try Project()
        try project.folder.write("migrationkit.toml", "db-path = 'my.db'\n".utf8)
        let before = try project.folder.snapshot()
        for option in [["--db-path", "other.db"], ["--migrations", "sql"]] {
            let result = try project.run("init", option[0], option[1], "--json")
            #expect(result.status == 64)
            #expect(try result.jsonError()["code"] as? String == "settingsExist")
        }
        #expect(try project.folder.snapshot() == before)
        #expect(try project.run("init", "--db-path", "my.db").status == 0)
    }

    @Test func aDryRunWritesNothing() throws {
        let project = try Project()
        let result = try project.run("init", "-n")
        #expect(result.stdout.hasPrefix("Would create migrationkit.toml\n"), "\(result)")
        #expect(try project.run("init", "-nq").stdout == result.stdout)
        #expect(try project.run("init", "--dry-run", "--json").json()["dryRun"] as? Bool == true)
        #expect(try project.folder.names == [])
    }

    @Test func valuesAreReadBackAsTheyWereGiven() throws {
        let project = try Project()
        let odd = #"a "b" \ 'c' # ü"#
        let result = try project.run(
            "init",
            "--db-path",
            odd,
            "--migrations",
            "x/y",
            "--keychain-service",
            odd,
            "--keychain-account",
            "="
        )
        #expect(result.status == 0, "\(result)")
        let shown = try project.run("status", "--show-settings", "--json").json()
        let rows = try #require(shown["settings"] as? [[String: Any]])
        let values = Dictionary(
            uniqueKeysWithValues: rows.compactMap { row in
                (row["name"] as? String).map { ($0, row["value"] as? String) }
            }
        )
        #expect(values["db-path"] == odd)
        #expect(values["keychain-service"] == odd)
        #expect(values["keychain-account"] == "=")
        #expect(values["migrations"] == "x/y")
        #expect(FileManager.default.fileExists(atPath: project.folder.path("x/y")))
    }

    /// With this umask, new files are the group's to write. Such settings would not be read.
    @Test func settingsAreTheUsersAloneToWrite() throws {
        let project = try Project()
        #expect(try project.paste(["umask 000", "migrationkit-cli init -q"]).stdout.isEmpty)
        #expect(project.folder.mode("migrationkit.toml") == 0o644)
        #expect(try project.run("status", "--show-settings").status == 0)
    }

    @Test func whatCannotBeWrittenIsToldAndARepeatedRunGoesOn() throws {
        let project = try Project()
        try project.folder.makeFolder(".gitignore")
        let refused = try project.run("init", "--json")
        #expect(refused.status == 73)
        #expect(try refused.jsonError()["code"] as? String == "cannotWrite")
        #expect(try project.folder.names == [".gitignore"])

        try FileManager.default.removeItem(atPath: project.folder.path(".gitignore"))
        try project.folder.write("migrations", [])
        #expect(try project.run("init").status == 66)
        #expect(try project.folder.names == ["migrations"])

        try FileManager.default.removeItem(atPath: project.folder.path("migrations"))
        #expect(try project.run("init", "--migrations", "/proc/none").status == 73)
        #expect(try project.run("init").status == 0)
    }

    @Test func variablesThatOverrideTheSettingsAreTold() throws {
        var project = try Project()
        project.environment["MIGRATIONKIT_DB_PATH"] = "other.db"
        let result = try project.run("init")
        #expect(
            result.stderr == "note: MIGRATIONKIT_DB_PATH is set, and overrides the settings\n"
        )
        #expect(try project.run("init", "--quiet").stderr.isEmpty)
    }
}
