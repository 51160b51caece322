import Foundation
import TestSupport
import Testing

/// Settings count as they are meant to: options before the environment, that before the file.
@Suite struct SettingsTests {
    var here: SettingsFolder

    init() throws {
        here = try SettingsFolder()
    }

    private static let secrets = ["--password-file", "password", "--raw-key"]

    private func migrate(_ arguments: String...) throws -> ProcessResult {
        try here.run(["migrate"] + Self.secrets + arguments)
    }

    private func pending(_ database: String = "notes.db") throws -> [String]? {
        let status = try here.run(["status", "--json", "--db-path", database] + Self.secrets)
        return try status.json()["pending"] as? [String]
    }

    /// The file may be a stranger's.
    @Test func valuesOfSettingsControlNoTerminal() throws {
        try here.write(#"keychain-service = "a\u001b]0;x\u0007\n::error::x""#)
        let shown = try here.run("status", "--show-settings")
        #expect(shown.stdout.contains("The key comes from: secret store"), "\(shown)")
        expectNoControls(in: shown.stdout)
    }

    // MARK: - What Wins

    @Test(arguments: [
        ("db-path", "", "MIGRATIONKIT_DB_PATH", nil),
        ("migrations", "", "MIGRATIONKIT_MIGRATIONS", "migrations"),
        ("checks", "", "MIGRATIONKIT_CHECKS", nil),
        ("keychain-service", "", "MIGRATIONKIT_KEYCHAIN_SERVICE", nil),
        ("keychain-account", "keychain-service = 's'", "MIGRATIONKIT_KEYCHAIN_ACCOUNT", nil),
        ("keychain-collection", "keychain-service = 's'", nil, nil),
        ("password-file", "", "MIGRATIONKIT_PASSWORD_FILE", nil),
    ])
    func optionWinsOverEnvironmentOverFileOverDefault(
        _ key: String,
        _ beside: String,
        _ variable: String?,
        _ standard: String?
    ) throws {
        var here = here
        #expect(
            try here.setting(key)
                == .init(value: standard, origin: standard == nil ? "unset" : "default")
        )
        try here.write(beside, "\(key) = 'of-file'")
        #expect(
            try here.setting(key)
                == .init(value: "of-file", origin: "file", at: "migrationkit.toml", line: 2)
        )
        if let variable {
            here.tool.environment[variable] = ""
            #expect(try here.setting(key).origin == "file", "empty counts as not set")
            here.tool.environment[variable] = "of-environment"
            #expect(
                try here.setting(key)
                    == .init(value: "of-environment", origin: "environment", at: variable)
            )
        }
        #expect(
            try here.setting(key, ["--\(key)", "of-option"])
                == .init(value: "of-option", origin: "option", at: "--\(key)")
        )
    }

    @Test func settingsWithoutAVariableOrAnOptionOfStatus() throws {
        #expect(try here.setting("keychain-timeout") == .init(value: "30", origin: "default"))
        #expect(try here.setting("lock-timeout") == .init(value: "30", origin: "default"))
        #expect(try here.setting("allow-out-of-order") == .init(value: "0", origin: "default"))
        #expect(try here.setting("require-index") == .init(origin: "unset"))
        try here.write(
            "keychain-timeout = 5",
            "lock-timeout = 0.5",
            "allow-out-of-order = true",
            "require-index = ['item.item_id']"
        )
        func inFile(_ value: String, _ line: Int) -> SettingsFolder.Setting {
            .init(value: value, origin: "file", at: "migrationkit.toml", line: line)
        }
        #expect(try here.setting("keychain-timeout") == inFile("5", 1))
        #expect(
            try here.setting("keychain-timeout", ["--keychain-timeout", "7"])
                == .init(value: "7", origin: "option", at: "--keychain-timeout")
        )
        #expect(try here.setting("lock-timeout") == inFile("0.5", 2))
        #expect(try here.setting("allow-out-of-order") == inFile("1", 3))
        #expect(try here.setting("require-index").line == 4)
    }

    @Test func databaseIsTheOneThatWins() throws {
        var here = here
        try here.write("db-path = 'file.db'", "password-file = 'password'")
        #expect(try here.run("migrate", "--raw-key").status == 0)
        #expect(here.exists("file.db"))
        here.tool.environment["MIGRATIONKIT_DB_PATH"] = "environment.db"
        #expect(try here.run("migrate", "--raw-key").status == 0)
        #expect(here.exists("environment.db"))
        #expect(try here.run("migrate", "--raw-key", "--db-path", "option.db").status == 0)
        #expect(here.exists("option.db"))
    }

    @Test func migrationsAreThoseOfTheFolderThatWins() throws {
        var here = here
        for name in ["file", "environment", "option"] {
            try here.folder.makeFolder(name)
            try here.folder.write(
                "\(name)/0001_\(name).sql",
                "-- migrate:up\nCREATE TABLE \(name) (id);\n".utf8
            )
        }
        #expect(try here.run("schema-dump").stdout.contains("CREATE TABLE item "))
        try here.write("migrations = 'file'")
        #expect(try here.run("schema-dump").stdout.contains("CREATE TABLE file "))
        here.tool.environment["MIGRATIONKIT_MIGRATIONS"] = "environment"
        #expect(try here.run("schema-dump").stdout.contains("CREATE TABLE environment "))
        let dump = try here.run("schema-dump", "--migrations", "option")
        #expect(dump.stdout.contains("CREATE TABLE option "))
    }

    @Test func timeLimitOfTheLockIsTheOneThatWins() throws {
        #expect(try migrate("--db-path", "notes.db", "--to", "0001_items").status == 0)
        let holder = try ChildProcess(
            "flock",
            [here.folder.path("notes.db-migration.lock"), "-c", "echo held; read line"]
        )
        #expect(holder.readLine() == "held")
        try here.write("db-path = 'notes.db'", "lock-timeout = 0.25")
        for command in [["migrate"], ["rollback"]] {
            let byFile = try here.run(command + Self.secrets)
            #expect(byFile.status == 75)
            #expect(byFile.stderr.contains("0.25 seconds"), "\(byFile)")
            let byOption = try here.run(command + Self.secrets + ["--lock-timeout", "0.125"])
            #expect(byOption.stderr.contains("0.125 seconds"), "\(byOption)")
        }
        holder.closeInput()
        _ = try holder.finish()
    }

    @Test func policyForLateMigrationsIsTheOneThatWins() throws {
        func expectRefusal(_ arguments: String...) throws {
            let refused = try here.run(["migrate", "--json"] + Self.secrets + arguments)
            #expect(refused.status == 65)
            #expect(try refused.jsonError()["code"] as? String == "pendingBeforeApplied")
        }
        try here.tool.write("0009_last", up: "CREATE TABLE last (id);")
        #expect(try migrate("--db-path", "notes.db").status == 0)
        try here.tool.write("0005_late", up: "CREATE TABLE late (id);")
        try here.write("db-path = 'notes.db'")
        try expectRefusal()
        try here.write("db-path = 'notes.db'", "allow-out-of-order = false")
        try expectRefusal()
        try here.write("db-path = 'notes.db'", "allow-out-of-order = true")
        try expectRefusal("--no-allow-out-of-order")
        #expect(try pending() == ["0005_late"])
        #expect(try migrate().status == 0)
        #expect(try pending() == [])

        try here.tool.write("0006_later", up: "CREATE TABLE later (id);")
        try here.write("db-path = 'notes.db'", "allow-out-of-order = false")
        #expect(try migrate("--allow-out-of-order").status == 0)
    }

    // MARK: - Required Indexes

    @Test func missingIndexFailsTheRunAndUndoesItsLastStep() throws {
        try here.write("db-path = 'notes.db'", "require-index = ['item.item_id']")
        // As long as something is pending, it may be what creates the index.
        #expect(try migrate("--to", "0001_items").status == 0)
        let failed = try migrate()
        #expect(failed.status == 2, "\(failed)")
        #expect(failed.stderr.contains("'item_id'"))
        #expect(try pending() == ["0003_tags"])

        try here.tool.write("0004_index", up: "CREATE INDEX item_id ON item (id);")
        #expect(try migrate().status == 0)
        #expect(try pending() == [])
    }

    @Test func verifyLooksForTheFilesIndexesAndItsOwn() throws {
        try here.write("db-path = 'notes.db'")
        #expect(try migrate().status == 0)
        try here.write("db-path = 'notes.db'", "require-index = ['item.item_id', 'item.other']")
        let arguments = ["verify", "--require-index", "item.own", "--require-index", "item.other"]
        let failed = try here.run(arguments + Self.secrets)
        #expect(failed.status == 2)
        let names = failed.stdout.split(separator: "\n").filter { $0.hasPrefix("FAILED") }
        #expect(
            names == [
                "FAILED  required_index item.item_id", "FAILED  required_index item.other",
                "FAILED  required_index item.own",
            ]
        )
    }

    // MARK: - Which File

    @Test func fileIsTheOneThatWins() throws {
        var here = here
        try here.folder.makeFolder("conf")
        try here.write("db-path = 'found.db'")
        try here.write("db-path = 'named.db'", to: "conf/a.toml")
        try here.write("db-path = '../environment.db'", to: "conf/b.toml")
        #expect(try here.setting("db-path").value == "found.db")
        #expect(try here.setting("config").origin == "workingFolder")
        here.tool.environment["MIGRATIONKIT_CONFIG"] = "conf/b.toml"
        #expect(
            try here.setting("db-path")
                == .init(
                    value: "conf/../environment.db",
                    origin: "file",
                    at: "conf/b.toml",
                    line: 1
                )
        )
        #expect(try here.setting("config").at == "MIGRATIONKIT_CONFIG")
        let arguments = ["--config", "conf/a.toml"]
        #expect(try here.setting("db-path", arguments).value == "conf/named.db")
        #expect(
            try here.setting("config", arguments)
                == .init(value: "conf/a.toml", origin: "option", at: "--config")
        )
        #expect(try here.setting("db-path", ["--config", "/dev/null"]).origin == "unset")
    }

    @Test func relativePathsAreSeenFromTheFilesFolder() throws {
        try here.folder.makeFolder("conf")
        try here.write(
            "db-path = 'notes.db'",
            "migrations = '../migrations'",
            "password-file = '../password'",
            to: "conf/mk.toml"
        )
        #expect(try here.run("migrate", "--raw-key", "--config", "conf/mk.toml").status == 0)
        #expect(here.exists("conf/notes.db"))
    }

    @Test func fileMayComeThroughAPipe() throws {
        let result = try here.run(
            "status",
            "--show-settings",
            "--config",
            "/dev/stdin",
            input: "db-path = '/piped.db'\n"
        )
        #expect(result.stdout.contains("/piped.db"), "\(result)")
    }

    @Test(arguments: [
        ["--help"], ["--version"], ["help", "migrate"], ["key", "--help"], ["status", "--help"],
    ])
    func helpReadsNoFile(_ arguments: [String]) throws {
        try here.write("this is no settings file")
        #expect(try here.run(arguments).status == 0)
        #expect(try here.run("status").status == 64)
    }

    // MARK: - Showing Them

    @Test func settingsAreShownWithoutOpeningAnything() throws {
        var here = here
        try here.write(
            "db-path = 'notes.db'",
            "require-index = ['item.a', 'item.b']",
            "keychain-service = 'com.example.Notes'"
        )
        here.tool.environment["MIGRATIONKIT_PASSWORD"] = here.tool.password
        let before = try here.folder.names
        let shown = try here.run("status", "--show-settings", "--migrations", "sql")
        #expect(shown.status == 0)
        #expect(shown.stderr.isEmpty)
        #expect(
            shown.stdout == """
                SETTING               VALUE              FROM
                config                migrationkit.toml  the working folder
                db-path               notes.db           migrationkit.toml:1
                migrations            sql                --migrations
                checks                -                  not set
                tests                 -                  not set
                name-pattern          -                  not set
                keychain-service      com.example.Notes  migrationkit.toml:3, not used
                keychain-account      -                  not set
                keychain-collection   -                  not set
                keychain-timeout      30 s               default
                password-file         -                  not set
                cipher-compatibility  4                  default
                cipher-page-size      -                  not set
                kdf-iterations        -                  not set
                kdf-algorithm         -                  not set
                hmac-algorithm        -                  not set
                cipher-plaintext-header-size  -                  not set
                cipher-salt           -                  not set
                lock-timeout          30 s               default
                require-index         item.a, item.b     migrationkit.toml:2
                ignore-table          -                  not set
                allow-out-of-order    false              default
                double-quoted-strings  false              default
                app-version           -                  not set
                name-from             -                  not set
                lint                  -                  not set
                password              set                MIGRATIONKIT_PASSWORD

                The key comes from: the environment variable MIGRATIONKIT_PASSWORD.

                """
        )
        #expect(try here.folder.names == before)

        let option = try here.run("status", "--show-settings", "--json", "--password", "hush-hush")
        #expect(option.status == 0)
        #expect(!option.description.contains("hush-hush"))
        #expect(!option.description.contains(here.tool.password))
        #expect(try option.json()["keySource"] as? String == "--password")
    }

    // MARK: - The Environment

    @Test func unknownVariableNamesTheNearest() throws {
        var here = here
        here.tool.environment["MIGRATIONKIT_DBPATH"] = "hush-hush"
        here.tool.environment["MIGRATIONKIT_COLOUR_OF_NOTHING"] = "hush-hush"
        here.tool.environment["MIGRATIONKIT_NIX"] = "hush-hush"
        let result = try here.run("status", "--show-settings")
        #expect(result.status == 0)
        #expect(
            result.stderr == """
                warning: the environment variable MIGRATIONKIT_COLOUR_OF_NOTHING is unknown
                warning: the environment variable MIGRATIONKIT_DBPATH is unknown; did you mean \
                MIGRATIONKIT_DB_PATH?
                warning: the environment variable MIGRATIONKIT_NIX is unknown

                """
        )
        #expect(!result.description.contains("hush-hush"))
    }

    @Test func knownVariablesAreNotWarnedAbout() throws {
        var here = here
        try here.write("", to: "other.toml")
        for name in [
            "DB_PATH", "MIGRATIONS", "KEYCHAIN_SERVICE", "KEYCHAIN_ACCOUNT", "PASSWORD",
            "PASSWORD_FILE",
        ] {
            here.tool.environment["MIGRATIONKIT_\(name)"] = "x"
        }
        here.tool.environment["MIGRATIONKIT_CONFIG"] = "other.toml"
        #expect(try here.run("status", "--show-settings").stderr.isEmpty)
    }
}
