import Foundation
import TestSupport
import Testing

/// Settings files that are refused, before anything is opened.
@Suite struct SettingsRefusalTests {
    let here: SettingsFolder

    init() throws {
        here = try SettingsFolder()
    }

    private func expectRefusal(
        _ exit: Int32,
        _ code: String,
        _ text: String? = nil,
        commands: [[String]] = [["status"], ["migrate"], ["schema-dump"], ["key", "list"]],
        arguments: [String] = [],
        sourceLocation: SourceLocation = #_sourceLocation
    ) throws {
        let before = try here.folder.snapshot()
        for command in commands {
            let human = try here.run(command + arguments)
            #expect(human.status == exit, "\(human)", sourceLocation: sourceLocation)
            #expect(human.stdout.isEmpty, sourceLocation: sourceLocation)
            if let text {
                #expect(human.stderr == text + "\n", sourceLocation: sourceLocation)
            }
            let json = try here.run(command + arguments + ["--json"])
            #expect(json.status == exit, sourceLocation: sourceLocation)
            #expect(try json.jsonError()["code"] as? String == code, sourceLocation: sourceLocation)
            for result in [human, json] {
                #expect(!result.description.contains("hush"), sourceLocation: sourceLocation)
            }
        }
        #expect(try here.folder.snapshot() == before, sourceLocation: sourceLocation)
    }

    @Test(arguments: ["password", "passphrase", "key", "raw-key", "secret"])
    func secretIsRefusedAndNotShown(_ key: String) throws {
        try here.write("db-path = 'notes.db'", "\(key) = 'hush-hush'")
        try expectRefusal(
            64,
            "secretInSettings",
            """
            error: migrationkit.toml:2: '\(key)' is a secret, which a settings file must not \
            contain
              Files get copied, shared and committed. Delete the secret there, and name
              where it is kept: keychain-service for the desktop's secret store, or
              password-file for a file that only you can read.
            """
        )
    }

    @Test func commandIsRefused() throws {
        try here.write("password-command = 'touch hush'")
        try expectRefusal(
            64,
            "commandInSettings",
            """
            error: migrationkit.toml:1: a settings file can't name a command to run
              Anyone who runs the tool in a folder would run what its file says. Give
              --password-command on the command line.
            """
        )
        #expect(!here.exists("hush"))
    }

    @Test func unknownSettingNamesTheNearest() throws {
        try here.write("# ours", "keychain_servce = 'hush'")
        try expectRefusal(
            64,
            "unknownSetting",
            """
            error: migrationkit.toml:2: unknown setting 'keychain_servce'
              Did you mean 'keychain-service'?
            """
        )
    }

    @Test func wrongTypeSaysWhatIsExpected() throws {
        try here.write("db-path = ['hush']")
        try expectRefusal(
            64,
            "wrongSetting",
            "error: migrationkit.toml:1: 'db-path' must be a path, as a non-empty string"
        )
    }

    @Test func valueOutOfRangeSaysWhatIsExpected() throws {
        try here.write("keychain-timeout = 0")
        try expectRefusal(
            64,
            "wrongSetting",
            """
            error: migrationkit.toml:1: 'keychain-timeout' must be a number of seconds above 0 and \
            at most 86400
            """
        )
    }

    @Test(arguments: ["-1", "nan", "inf", "1e30", "86401", "3000000"])
    func aLockTimeoutOutsideOfItsRangeIsRefused(_ seconds: String) throws {
        try here.write("lock-timeout = \(seconds.contains("e") ? "1.0e30" : seconds)")
        try expectRefusal(
            64,
            "wrongSetting",
            """
            error: migrationkit.toml:1: 'lock-timeout' must be a number of seconds, at least 0 and \
            at most 86400
            """
        )
    }

    @Test func longestLockTimeoutIsTaken() throws {
        let result = try here.tool.onStore("migrate", "--lock-timeout", "86400")
        #expect(result.status == 0, "\(result)")
    }

    @Test func linkThatLeadsNowhereIsNoSettings() throws {
        try FileManager.default.createSymbolicLink(
            atPath: here.folder.path("migrationkit.toml"),
            withDestinationPath: "nowhere.toml"
        )
        try expectRefusal(
            66,
            "noSuchSettingsFile",
            """
            error: the settings file migrationkit.toml is a link to a file that doesn't exist
              Correct or remove the link. For no settings: --config /dev/null.
            """
        )
    }

    /// A change that is checked could have any file read, and its names printed.
    @Test(arguments: ["../outside/private.toml", "../outside/migrationkit.toml", ".env"])
    func linkOutOfTheRepositoryIsNotRead(target: String) throws {
        let secret = "HUSH_TOKEN = 'hush-hush'\n[hush-section]\nhush = 1\n"
        let inside = try SettingsFolder()
        try inside.folder.makeFolder("outside")
        try inside.folder.makeFolder("repository")
        try inside.git(["init", "--quiet", "repository"])
        for place in [
            "outside/private.toml", "outside/migrationkit.toml", "repository/.env",
        ] {
            try inside.folder.write(place, secret.utf8)
        }
        #expect(symlink(target, inside.folder.path("repository/migrationkit.toml")) == 0)
        for command in [
            ["status"], ["status", "--show-settings"], ["lint"], ["schema-dump"], ["test"],
            ["plan", "--json"],
        ] {
            let result = try TestSupport.run(
                "/usr/bin/env",
                ["-C", inside.folder.path("repository"), builtExecutable("migrationkit-cli")]
                    + command,
                environment: inside.tool.environment,
                newSession: true
            )
            #expect(result.status == 77, "\(result)")
            #expect(
                result.stderr.contains(
                    "migrationkit.toml is or passes a link that leads out of the repository"
                ),
                "\(result)"
            )
            #expect(!result.description.lowercased().contains("hush"), "\(result)")
        }
        // A person who names it has seen it.
        try inside.folder.write("outside/private.toml", "lock-timeout = 5\n".utf8)
        let named = try inside.run("status", "--show-settings", "--config", "outside/private.toml")
        #expect(named.status == 0, "\(named)")
    }

    @Test func linkToSettingsOfTheSameRepositoryIsRead() throws {
        try here.git(["init", "--quiet"])
        try here.folder.makeFolder("shared")
        try here.write("lock-timeout = 5", to: "shared/migrationkit.toml")
        #expect(symlink("shared/migrationkit.toml", here.folder.path("migrationkit.toml")) == 0)
        #expect(try here.setting("lock-timeout").value == "5")
    }

    @Test func brokenTextHasItsPlace() throws {
        try here.write("lock-timeout = 5", "db-path = hush")
        try expectRefusal(
            64,
            "malformedSettings",
            """
            error: migrationkit.toml:2:11: this is not TOML: value: could not determine value type
              The file is TOML: one setting on each line, such as db-path = "notes.db".
            """
        )
    }

    @Test func twoSourcesOfTheKeyAreRefused() throws {
        try here.write("keychain-service = 'hush'", "password-file = 'hush'")
        try expectRefusal(
            64,
            "severalKeySources",
            """
            error: migrationkit.toml: the key is given more than once: keychain-service, password-file
              Use only one.
            """
        )
    }

    // MARK: - Files

    @Test func fileThatIsNotThere() throws {
        let path = here.folder.path("nothing.toml")
        try expectRefusal(
            66,
            "noSuchSettingsFile",
            """
            error: there is no settings file \(path)
              Check the path of --config, or of the environment variable
              MIGRATIONKIT_CONFIG.
            """,
            arguments: ["--config", path]
        )
    }

    @Test func folderIsNoFile() throws {
        try here.folder.makeFolder("migrationkit.toml")
        try expectRefusal(66, "noSuchSettingsFile")
        try expectRefusal(66, "noSuchSettingsFile", arguments: ["--config", "migrations"])
    }

    @Test func pipeOfThatNameIsNotWaitedFor() throws {
        #expect(mkfifo(here.folder.path("migrationkit.toml"), 0o600) == 0)
        #expect(try here.run("status").status == 66)
    }

    @Test func endlessFileIsRefused() throws {
        try expectRefusal(64, "malformedSettings", arguments: ["--config", "/dev/zero"])
    }

    /// Commands that open a store, or its key. What opens none runs with such settings.
    private let opening = [["status"], ["migrate"], ["verify"], ["key", "list"]]

    @Test func fileThatOthersMayWriteCountsOnlyWhereItIsNamed() throws {
        for mode: mode_t in [0o666, 0o664, 0o602] {
            try here.write("db-path = 'notes.db'", mode: mode)
            try expectRefusal(77, "settingsOfAnother", commands: opening)
            #expect(
                try here.setting("db-path", ["--config", "migrationkit.toml"]).value == "notes.db"
            )
        }
        try here.write("db-path = 'notes.db'", mode: 0o644)
        #expect(try here.setting("db-path").value == "notes.db")
    }

    @Test(.enabled(if: geteuid() == 0, "only root can give a file away"))
    func fileOfAnotherUserCountsOnlyWhereItIsNamed() throws {
        try here.write("db-path = 'notes.db'")
        #expect(chown(here.folder.path("migrationkit.toml"), 12345, 12345) == 0)
        try expectRefusal(77, "settingsOfAnother", commands: opening)
        #expect(
            try here.setting("db-path", ["--config", "migrationkit.toml"]).value == "notes.db"
        )
    }

    @Test func unreadableFileIsRefused() throws {
        try here.write("db-path = 'notes.db'", mode: 0)
        #expect(chmod(here.folder.path, 0o755) == 0)
        let tool = try here.folder.copyOfTool()
        let result =
            if geteuid() == 0 {
                // Root may read everything: somebody else tries.
                try TestSupport.run(
                    "setpriv",
                    ["--reuid=65534", "--regid=65534", "--clear-groups"]
                        + ["env", "-C", here.folder.path, tool, "status"],
                    environment: here.tool.environment
                )
            } else {
                try here.run("status")
            }
        #expect(result.status == 77, "\(result)")
        #expect(
            result.stderr.hasPrefix(
                "error: the settings file migrationkit.toml can't be read: permission denied\n"
            )
        )
    }
}
