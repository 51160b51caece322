import Foundation
import TestSupport
import Testing

/// What a change of a stranger can bring along: it runs nothing, and hides nothing.
extension LintTests {
    // MARK: - A Repository Among the Files

    /// Puts what makes a bare repository into the folder of migrations.
    private func embedRepository(_ settings: String, commit: String) throws {
        for folder in ["objects/pack", "refs/heads", "refs/remotes/origin"] {
            try FileManager.default.createDirectory(
                atPath: tool.folder.path("migrations/\(folder)"),
                withIntermediateDirectories: true
            )
        }
        try tool.folder.write("migrations/HEAD", "ref: refs/heads/main\n".utf8)
        try tool.folder.write("migrations/config", settings.utf8)
        for branch in ["heads/main", "remotes/origin/main"] {
            try tool.folder.write("migrations/refs/\(branch)", "\(commit)\n".utf8)
        }
    }

    @Test(arguments: [".", "migrations"])
    func aRepositoryThatLiesInTheFolderRunsNothing(_ place: String) throws {
        try makeRepository()
        let trace = tool.folder.path("ran")
        try embedRepository(
            """
            [core]
                repositoryformatversion = 1
                bare = true
            [extensions]
                partialClone = origin
            [remote "origin"]
                promisor = true
                url = "ext::touch \(trace)"
            [protocol "ext"]
                allow = always
            """,
            commit: String(repeating: "1", count: 40)
        )
        let result = try TestSupport.run(
            "/usr/bin/env",
            [
                "-C", tool.folder.path(place), builtExecutable("migrationkit-cli"), "lint",
                "--migrations", tool.migrations, "--base", "origin/main", "--json",
            ],
            environment: tool.environment
        )
        #expect(result.status == 66, "\(result)")
        let expected = place == "." ? "noSuchReference" : "noRepository"
        #expect(try result.jsonError()["code"] as? String == expected)
        #expect(!settings.exists("ran"))
    }

    @Test func aRepositoryThatLiesInTheFolderHidesNoChange() throws {
        try makeRepository()
        try tool.write("0002_row", up: "INSERT INTO item VALUES (2);", down: "DELETE FROM item;")
        let changed = try tool.folder.makeFolder("changed")
        for file in ["0001_items", "0002_row", "0003_tags"].map({ "\($0).sql" }) {
            try FileManager.default.copyItem(
                atPath: tool.folder.path("migrations/\(file)"),
                toPath: "\(changed)/\(file)"
            )
        }
        try git("-C", "changed", "init", "--quiet")
        try git("-C", "changed", "add", ".")
        try git("-C", "changed", "commit", "--quiet", "--message", "x")
        for part in ["HEAD", "config", "objects", "refs"] {
            try FileManager.default.moveItem(
                atPath: "\(changed)/.git/\(part)",
                toPath: tool.folder.path("migrations/\(part)")
            )
        }
        try tool.folder.write("migrations/config", "[core]\n    bare = true\n".utf8)
        let findings = try findings("--base", "main", status: 3)
        #expect(findings.contains { $0.hasPrefix("migration-changed 0002_row") }, "\(findings)")
    }

    /// Git would fetch what is missing by a command of the repository's settings.
    @Test func nothingIsFetchedForAPartialClone() throws {
        try makeRepository()
        try tool.write("0002_row", up: "INSERT INTO item VALUES (2);", down: "DELETE FROM item;")
        try git("checkout", "--quiet", "-b", "feature")
        try commit()
        try git("config", "uploadpack.allowFilter", "true")
        try git(
            "clone",
            "--quiet",
            "--filter=blob:none",
            "file://\(tool.folder.path)",
            "clone"
        )
        func lint() throws -> ProcessResult {
            try TestSupport.run(
                "/usr/bin/env",
                [
                    "-C", tool.folder.path("clone"), builtExecutable("migrationkit-cli"), "lint",
                    "--base", "origin/main",
                ],
                environment: tool.environment
            )
        }
        let result = try lint()
        #expect(result.status == 74, "\(result)")
        #expect(result.stderr.contains("git fetch --refetch --no-filter"), "\(result)")
        try git("-C", "clone", "fetch", "--quiet", "--refetch", "--no-filter")
        #expect(try lint().stdout.contains("[migration-changed]"))
    }

    /// Otherwise a change could lead the folder to files of its own.
    @Test func theFolderIsComparedAtThePathThatIsWritten() throws {
        try makeRepository()
        try FileManager.default.moveItem(
            atPath: tool.migrations,
            toPath: tool.folder.path("elsewhere")
        )
        try FileManager.default.createSymbolicLink(
            atPath: tool.migrations,
            withDestinationPath: "elsewhere"
        )
        try tool.write("0001_items", up: "CREATE TABLE item (id TEXT);", down: "DROP TABLE item;")
        let findings = try findings("--base", "main", status: 3)
        #expect(findings.contains { $0.hasPrefix("migration-changed 0001_items") }, "\(findings)")
        // A link that is in the base is followed there.
        try git("add", ".")
        try git("commit", "--quiet", "--message", "x")
        #expect(try lint("--base", "HEAD").stdout.hasPrefix("Checked 0 migrations"))
    }

    @Test func aFolderOutsideOfTheRepositoryHasNoBase() throws {
        try makeRepository()
        let result = try TestSupport.run(
            "/usr/bin/env",
            [
                "-C", "/", builtExecutable("migrationkit-cli"), "lint", "--migrations",
                tool.migrations, "--base", "main", "--json",
            ],
            environment: tool.environment
        )
        #expect(try result.jsonError()["code"] as? String == "noRepository", "\(result)")
    }

    // MARK: - Files From Outside

    /// A folder with the migrations, and one beside it with a file that isn't the project's.
    private func makeProject() throws {
        for folder in ["project", "elsewhere"] { try tool.folder.makeFolder(folder) }
        try FileManager.default.moveItem(
            atPath: tool.migrations,
            toPath: tool.folder.path("project/migrations")
        )
        try tool.folder.write("elsewhere/0004_secret.sql", "geheim = 1;\n".utf8)
        try git("-C", "project", "init", "--quiet")
    }

    private func link(_ name: String, to target: String) throws {
        try FileManager.default.createSymbolicLink(
            atPath: tool.folder.path("project/\(name)"),
            withDestinationPath: target
        )
    }

    private func runInProject(
        _ arguments: [String],
        environment: [String: String] = [:]
    ) throws -> ProcessResult {
        try TestSupport.run(
            "/usr/bin/env",
            ["-C", tool.folder.path("project"), builtExecutable("migrationkit-cli")] + arguments,
            environment: tool.environment.merging(environment) { $1 }
        )
    }

    private func expectRefusal(
        _ arguments: String...,
        sourceLocation: SourceLocation = #_sourceLocation
    ) throws {
        let commands = [
            ["lint"], ["lint", "--format", "github"], ["schema-dump"],
            ["schema-diff", "--to", "/dev/null"], ["create", "next", "--to", "/dev/null"],
            ["plan", "--db-path", "new.db", "--no-encryption"],
        ]
        for command in commands {
            let result = try runInProject(command + arguments)
            #expect(result.status == 77, "\(result)", sourceLocation: sourceLocation)
            let text = result.stdout + result.stderr
            #expect(!text.contains("geheim"), sourceLocation: sourceLocation)
        }
    }

    @Test(arguments: ["elsewhere/0004_secret.sql", "project/.git/config"])
    func aMigrationThatIsALinkOutOfTheRepositoryIsNotShown(_ target: String) throws {
        try makeProject()
        try link("migrations/0004_secret.sql", to: tool.folder.path(target))
        try expectRefusal()
        // The folder is named, but where its links lead isn't.
        try expectRefusal("--migrations", "migrations")
        let result = try runInProject(["lint", "--json"])
        #expect(try result.jsonError()["code"] as? String == "leavesRepository", "\(result)")
    }

    @Test func aFolderThatIsALinkOutOfTheRepositoryIsNotRead() throws {
        try makeProject()
        try link("migrations/0004_linked", to: tool.folder.path("elsewhere"))
        let result = try runInProject(["lint"])
        #expect(result.status == 77, "\(result)")
        #expect(!result.stderr.contains("0004_secret"), "\(result)")
    }

    @Test func migrationsOutsideOfTheRepositoryMustBeNamed() throws {
        try makeProject()
        let elsewhere = tool.folder.path("elsewhere")
        try settings.write("migrations = \"../elsewhere\"", to: "project/migrationkit.toml")
        try expectRefusal()
        let named: [(arguments: [String], environment: [String: String])] = [
            (["--migrations", elsewhere], [:]), (["--config", "migrationkit.toml"], [:]),
            ([], ["MIGRATIONKIT_MIGRATIONS": elsewhere]),
            ([], ["MIGRATIONKIT_CONFIG": "migrationkit.toml"]),
        ]
        try tool.folder.write("elsewhere/0004_secret.sql", "SELECT 1;\n".utf8)
        for (arguments, environment) in named {
            let result = try runInProject(["lint"] + arguments, environment: environment)
            #expect(result.status == 0, "\(result)")
        }
        try FileManager.default.removeItem(atPath: tool.folder.path("project/migrationkit.toml"))
        try FileManager.default.removeItem(atPath: tool.folder.path("project/migrations"))
        try link("migrations", to: elsewhere)
        try expectRefusal()
    }

    @Test func linksAndFoldersInTheRepositoryAreRead() throws {
        try makeProject()
        for folder in ["project/shared", "project/app"] { try tool.folder.makeFolder(folder) }
        try tool.folder.write(
            "project/shared/0004_more.sql",
            "-- migrate:up\nCREATE TABLE more (id INTEGER);\n".utf8
        )
        try link("migrations/0004_more.sql", to: "../shared/0004_more.sql")
        try settings.write("migrations = \"app/../migrations\"", to: "project/migrationkit.toml")
        let result = try runInProject(["lint"])
        #expect(result.stdout.contains("Checked 4 migrations"), "\(result)")
    }

    @Test func aDumpThatIsALinkOutOfTheRepositoryIsNotShown() throws {
        try makeProject()
        try link("schema.sql", to: tool.folder.path("elsewhere/0004_secret.sql"))
        for command in [
            ["schema-dump", "--check", "schema.sql"], ["schema-diff", "--to", "schema.sql"],
            ["schema-diff", "--from", "schema.sql", "--to", "migrations"],
            ["create", "next", "--to", "schema.sql"],
        ] {
            let result = try runInProject(command)
            #expect(result.status == 77, "\(result)")
            #expect(!(result.stdout + result.stderr).contains("geheim"), "\(result)")
        }
    }

    /// An ignored file may be there that isn't part of any change.
    @Test(arguments: [".env", "backup.sql"])
    func aLinkToAFileOfAnotherNameIsNotShown(_ ignored: String) throws {
        try makeProject()
        try tool.folder.write("project/\(ignored)", "geheim = 1".utf8)
        try link("schema.sql", to: ignored)
        let compared = try runInProject(["schema-diff", "--to", "schema.sql"])
        #expect(compared.status == 77, "\(compared)")
        try link("migrations/0004_secret.sql", to: "../\(ignored)")
        try expectRefusal()
    }

    @Test func aFolderThatIsALinkIsNoWayOut() throws {
        try makeProject()
        try link("db", to: tool.folder.path("elsewhere"))
        for command in [
            ["schema-dump", "--check", "db/0004_secret.sql"],
            ["schema-dump", "--output", "db/new.sql"],
            ["schema-diff", "--to", "db/0004_secret.sql"], ["schema-diff", "--to", "./db"],
            ["create", "next", "--to", "db/0004_secret.sql"],
        ] {
            let result = try runInProject(command)
            #expect(result.status == 77, "\(result)")
            #expect(!(result.stdout + result.stderr).contains("geheim"), "\(result)")
        }
        try settings.write("migrations = \"../elsewhere\"", to: "project/migrationkit.toml")
        for folder in ["../elsewhere", "../elsewhere/new/deep", "db/new", ".git/hooks/new"] {
            try settings.write("migrations = \"\(folder)\"", to: "project/migrationkit.toml")
            for command in [["create", "next"], ["create", "--rebuild", "notes"], ["init"]] {
                #expect(try runInProject(command).status == 77, "\(command) \(folder)")
            }
        }
        let names = try FileManager.default.contentsOfDirectory(
            atPath: tool.folder.path("elsewhere")
        )
        #expect(names == ["0004_secret.sql"])
    }

    /// The commands that run migrations on a database in memory.
    @Test(arguments: [
        ["lint"], ["schema-dump"], ["schema-diff", "--to", "/dev/null"],
        ["create", "next", "--to", "/dev/null"], ["create", "next", "--rebuild", "a"],
    ])
    func migrationsOfStrangersWriteNoFile(_ command: [String]) throws {
        try makeProject()
        let written = tool.folder.path("written")
        for statement in ["VACUUM INTO", "VACUUM main INTO", "EXPLAIN VACUUM INTO"] {
            let sql = """
                -- migrate:up transaction:false
                CREATE TABLE a (b);
                \(statement) '\(written)';
                -- migrate:down transaction:false
                DROP TABLE a;

                """
            try tool.folder.write("project/migrations/0004_write.sql", sql.utf8)
            let result = try runInProject(command)
            #expect(result.status != 0, "\(result)")
            #expect(access(written, F_OK) != 0)
        }
    }

    /// For SQLite, `$x(')` is one token.
    @Test(arguments: [
        ["lint"], ["schema-dump"], ["schema-diff", "--to", "/dev/null"],
        ["create", "next", "--to", "/dev/null"], ["create", "next", "--rebuild", "a"],
    ])
    func noStatementHidesFromTheJudge(_ command: [String]) throws {
        try makeProject()
        let written = tool.folder.path("written")
        for statement in [
            "PRAGMA cipher_log_level = TRACE; PRAGMA cipher_log = '\(written)'",
            "ATTACH '\(written)' AS e; CREATE TABLE e.x (a)",
        ] {
            let sql = """
                -- migrate:up
                CREATE TABLE a (b);
                CREATE VIRTUAL TABLE t USING fts4(a, b $x(')); \(statement); -- '));
                -- migrate:down
                DROP TABLE t; DROP TABLE a;

                """
            try tool.folder.write("project/migrations/0004_write.sql", sql.utf8)
            let result = try runInProject(command)
            #expect(result.status != 0, "\(result)")
            #expect(access(written, F_OK) != 0)
        }
    }

    /// `sqlcipher_export` runs the texts of a schema, which a step may have written.
    @Test(arguments: [
        ["lint"], ["schema-dump"], ["schema-diff", "--to", "/dev/null"],
        ["create", "next", "--to", "/dev/null"],
    ])
    func textsOfASchemaAreNotRun(_ command: [String]) throws {
        try makeProject()
        let written = tool.folder.path("written")
        let sql = """
            -- migrate:up
            CREATE TABLE q (a);
            CREATE TEMP TABLE q (a);
            PRAGMA writable_schema = ON;
            UPDATE temp.sqlite_schema SET sql = 'ATTACH ''\(written)'' AS e' WHERE name = 'q';
            SELECT sqlcipher_export('main', 'temp');
            UPDATE temp.sqlite_schema SET sql = 'CREATE TABLE e.x (a)' WHERE name = 'q';
            SELECT sqlcipher_export('main', 'temp');
            -- migrate:down
            DROP TABLE q;

            """
        try tool.folder.write("project/migrations/0004_write.sql", sql.utf8)
        let result = try runInProject(command)
        #expect(result.status != 0, "\(result)")
        #expect(access(written, F_OK) != 0)
    }
    /// In a script, SQLite's shell takes a line `go` or `/` for a statement's end.
    @Test(arguments: ["schema-dump", "plan", "repair"])
    func whatIsPrintedIsNoCommandOfTheShell(_ command: String) throws {
        try OtherProgram.require("the sqlcipher shell")
        try makeProject()
        let written = tool.folder.path("written")
        let sql = """
            -- migrate:up
            CREATE TABLE a (once, "pragma");
            CREATE VIEW v AS SELECT once
            /
            PRAGMA LIKE
            go
            .once "|touch \(written)"
            FROM a AS go;
            -- migrate:down
            DROP VIEW v; DROP TABLE a;

            """
        try tool.folder.write("project/migrations/0004_view.sql", sql.utf8)
        let database = ["--db-path", "app.db", "--no-encryption"]
        let app = tool.folder.path("project/app.db")
        if command == "repair" {
            #expect(try runInProject(["migrate"] + database).status == 0)
            _ = try SQLCipherShell.run(app, key: nil, "DROP VIEW v;")
        }
        let options = ["schema-dump": [], "plan": database, "repair": ["--schema"] + database]
        let printed = try runInProject([command] + (options[command] ?? []))
        #expect(printed.status == 0, "\(printed)")
        let target = command == "repair" ? app : tool.folder.path("new.db")
        #expect(try SQLCipherShell.run(target, key: nil, printed.stdout) == "")
        #expect(access(written, F_OK) != 0)
        #expect(try SQLCipherShell.run(target, key: nil, "SELECT * FROM v;") == "")
    }

    /// In a script or a log it would be a line of its own.
    @Test(arguments: ["0004_a\n.shell touch ran\n.sql", "0004_a\n::error::\n.sql"])
    func aFileNameWithALineFeedIsRefused(_ name: String) throws {
        try makeProject()
        try tool.folder.write("project/migrations/\(name)", "SELECT 1;\n".utf8)
        for command in [
            ["lint"], ["plan", "--db-path", "new.db", "--no-encryption"],
            ["lint", "--format", "github"],
        ] {
            let result = try runInProject(command)
            #expect(result.status == 65, "\(result)")
            #expect(result.stderr.contains("not a migration's file name"), "\(result)")
            let lines = (result.stdout + result.stderr).split(separator: "\n")
            #expect(!lines.contains { $0.hasPrefix(".shell") || $0.hasPrefix("::error::\u{FFFD}") })
        }
    }

    /// GitHub's runner reads the tool's errors, and takes such lines for commands.
    @Test(arguments: [
        "DROP TABLE \"x\n ::error::of the change\n\"", "DROP TABLE \"x ##[error]of the change\"",
        "CREATE TABLE \"x\n::error::of the change\" (a REFERENCES \"x\n::error::of the change\")",
        "SELECT \"\(String(repeating: "long ", count: 15))::error::of the change\"(1)",
    ])
    func aNameInAnErrorIsNoCommandOfTheRunner(_ statement: String) throws {
        try makeProject()
        let sql = "-- migrate:up\n\(statement);\n-- migrate:down\nSELECT 1;\n"
        try tool.folder.write("project/migrations/0004_name.sql", sql.utf8)
        try tool.folder.write("project/schema.sql", "\(statement);\n".utf8)
        for command in [
            ["lint"], ["lint", "--level", "note"], ["schema-dump"],
            ["schema-diff", "--to", "schema.sql"],
            ["create", "next", "--to", "schema.sql"],
            ["migrate", "--db-path", "app.db", "--no-encryption"],
        ] {
            let result = try runInProject(command)
            let lines = result.stderr.split(separator: "\n") + result.stdout.split(separator: "\n")
            let isShown = lines.contains { $0.contains("of the change") }
            #expect(isShown || result.status != 1, "\(command): \(result)")
            for line in lines {
                let isCommand = line.drop { $0 == " " }.hasPrefix("::") || line.contains("##[")
                #expect(!isCommand, "\(command): \(line)")
            }
        }
    }

    /// A command on a line of its own is one that the tool suggests.
    @Test func aNameInAHazardLooksLikeNoSuggestion() throws {
        try makeProject()
        let name = "x are lost.\n  rm important\nRows"
        let sql = "-- migrate:up\nCREATE TABLE \"\(name)\" (a);\n-- migrate:down\nSELECT 1;\n"
        try tool.folder.write("project/migrations/0004_name.sql", sql.utf8)
        try tool.folder.write("project/schema.sql", "CREATE TABLE t (a);\n".utf8)
        let result = try runInProject(["create", "next", "--to", "schema.sql"])
        #expect(result.status == 65, "\(result)")
        #expect(result.stderr.contains("rm important"))
        let lines = result.stderr.split(separator: "\n")
        #expect(!lines.contains { $0.drop { $0 == " " }.hasPrefix("rm important") }, "\(result)")
    }
}
