import Foundation
import TestSupport
import Testing

/// What the tool itself completes, as the scripts for the shells ask it to.
@Suite struct CompletedNameTests {
    /// What is offered for an option behind these words.
    private func offers(
        _ words: [String],
        for option: String,
        in project: Project
    ) throws -> [String] {
        let typed = ["migrationkit-cli"] + words + [option, ""]
        let result = try TestSupport.run(
            "/usr/bin/env",
            [
                "-C", project.folder.path, builtExecutable("migrationkit-cli"), "---completion",
            ] + words.prefix { !$0.hasPrefix("-") } + ["--", option, "\(typed.count - 1)", "0"]
                + typed,
            environment: project.environment,
            newSession: true
        )
        #expect(result.status == 0, "\(result)")
        #expect(result.stderr.isEmpty, "\(result)")
        return result.stdout.split(separator: "\n").map(String.init)
    }

    @Test func migrationsAreThoseOfTheFolder() throws {
        let project = try Project()
        #expect(try offers(["migrate"], for: "--to", in: project) == [], "no folder")
        for folder in ["sql", "other sql"] {
            try project.folder.makeFolder(folder)
            for name in ["0001_a", "0002_b"] {
                try project.folder.write(
                    "\(folder)/\(name)_\(folder.count).sql",
                    "-- migrate:up\nSELECT 1;\n".utf8
                )
            }
        }
        try project.folder.write("migrationkit.toml", "migrations = 'sql'\n".utf8)
        for command in ["migrate", "plan", "rollback"] {
            #expect(try offers([command], for: "--to", in: project) == ["0001_a_3", "0002_b_3"])
        }
        #expect(try offers(["lint"], for: "--since", in: project) == ["0001_a_3", "0002_b_3"])
        #expect(
            try offers(["rollback", "--migrations", "'other sql'"], for: "--to", in: project)
                == ["0001_a_9", "0002_b_9"]
        )
        try project.folder.write("sql/0003_c.sql", "no migration".utf8)
        #expect(try offers(["migrate"], for: "--to", in: project) == [], "an unusable folder")
        try project.folder.write("migrationkit.toml", "no settings".utf8)
        #expect(try offers(["migrate"], for: "--to", in: project) == [], "unusable settings")
    }

    @Test func keysAreThoseOfTheSecretStore() throws {
        let secrets = try PrivateSecretService()
        let project = try Project(secrets.environment)
        for (service, account) in [("org.a", "main"), ("org.a", "old"), ("org.b", "other")] {
            let made = try project.run(
                "key",
                "generate",
                "--keychain-service",
                service,
                "--keychain-account",
                account
            )
            #expect(made.status == 0, "\(made)")
        }
        #expect(
            try offers(["key", "show"], for: "--keychain-service", in: project)
                == ["org.a", "org.b"]
        )
        let accounts = try offers(
            ["migrate", "--keychain-service", "org.a"],
            for: "--keychain-account",
            in: project
        )
        #expect(accounts == ["main", "old"])
    }

    /// Neither a question nor a message, and no wait: somebody is typing.
    @Test func withoutAStoreThereIsNothingAndNoWait() throws {
        let nobody = try Project()
        let silent = try PrivateSecretService(.noDaemon)
        let empty = try PrivateSecretService(.noCollection)
        for environment in [nobody.environment, silent.environment, empty.environment] {
            let project = try Project(environment)
            let start = ContinuousClock.now
            #expect(try offers(["migrate"], for: "--keychain-service", in: project) == [])
            #expect(ContinuousClock.now - start < .seconds(5))
        }
    }

    @Test func storeThatDoesNotAnswerIsNotWaitedFor() throws {
        let secrets = try PrivateSecretService()
        let project = try Project(secrets.environment)
        secrets.suspend()
        defer { secrets.resume() }
        let start = ContinuousClock.now
        #expect(try offers(["migrate"], for: "--keychain-service", in: project) == [])
        #expect(ContinuousClock.now - start < .seconds(5))
    }

    @Test func lockedStoreIsNotAskedFor() throws {
        let secrets = try PrivateSecretService()
        let project = try Project(secrets.environment)
        let made = try project.run(
            "key",
            "generate",
            "--keychain-service",
            "org.a",
            "--keychain-account",
            "main"
        )
        #expect(made.status == 0)
        try secrets.lock()
        let start = ContinuousClock.now
        #expect(try offers(["migrate"], for: "--keychain-service", in: project) == [])
        #expect(ContinuousClock.now - start < .seconds(5))
    }

    /// The script asks the tool, and bash takes its answer.
    @Test func bashCompletesAMigration() throws {
        let project = try Project()
        try project.folder.makeFolder("migrations")
        try project.folder.write(
            "migrations/0001_create_notes.sql",
            "-- migrate:up\nSELECT 1;\n".utf8
        )
        let tool = (try builtExecutable("migrationkit-cli") as NSString).deletingLastPathComponent
        let shell = try TerminalProcess(
            "bash",
            ["--norc", "--noprofile", "-i"],
            environment: project.environment.merging(
                ["PATH": "\(tool):/usr/bin:/bin", "TERM": "dumb", "LC_ALL": "C.UTF-8"]
            ) { $1 }
        )
        shell.type(
            "cd '\(project.folder.path)'; source <(migrationkit-cli completions bash)\n".utf8
        )
        shell.type("echo re''ady\n".utf8)
        #expect(shell.wait(for: "ready"), "\(shell.text)")
        shell.type("echo got: $(migrationkit-cli --version | head -1)\n".utf8)
        #expect(shell.wait(for: "got: 0"), "\(shell.text)")
        shell.type(
            "migrationkit-cli plan --db-path none --to 0001\t\u{01}echo \"got:\u{05}:\"\n".utf8
        )
        #expect(
            shell.wait(for: "got:migrationkit-cli plan --db-path none --to 0001_create_notes"),
            "\(shell.text)"
        )
        shell.type("exit\n".utf8)
        _ = shell.finish()
    }

    // MARK: - Names of Strangers

    /// Names in which a shell finds a command, each with another beginning.
    private static let strangeNames = [
        "0001_$(touch ran)", "0002_`touch ran`", "0003_a b'c\"d", "0004_$((1+1))${HOME}~*[a]{b,c}",
        "0005_a;touch ran;b", "0006_\\$(touch ran)", "0007_<(touch ran)|&!x", "0008_ä",
    ]

    /// A project whose migrations have these names, and a tool that prints what it was given.
    private func strangeProject() throws -> Project {
        let project = try Project()
        try project.folder.makeFolder("migrations")
        for name in Self.strangeNames {
            try project.folder.write("migrations/\(name).sql", "SELECT 1;\n".utf8)
        }
        try project.folder.makeFolder("bin")
        try project.folder.write(
            "bin/migrationkit-cli",
            """
            #!/bin/sh
            case "$1" in lint) printf 'got:%s:\\n' "$3";; *) exec '\(
                try builtExecutable("migrationkit-cli")
            )' "$@";; esac

            """.utf8,
            mode: 0o700
        )
        return project
    }

    private func environment(of project: Project) -> [String: String] {
        project.environment.merging(
            [
                "PATH": project.folder.path("bin") + ":/usr/bin:/bin", "TERM": "dumb",
                "LC_ALL": "C.UTF-8", "XDG_CONFIG_HOME": project.folder.path,
                "XDG_DATA_HOME": project.folder.path,
            ]
        ) { $1 }
    }

    @Test(arguments: ["bash", "zsh"])
    func namesOfStrangersRunNothing(_ name: String) throws {
        let project = try strangeProject()
        let shell = try TerminalProcess(
            name,
            name == "bash" ? ["--norc", "--noprofile", "-i"] : ["-f", "-i"],
            environment: environment(of: project)
        )
        let preparation =
            name == "bash"
            ? ["source <(migrationkit-cli completions bash)"]
            : [
                "mkdir functions; migrationkit-cli completions zsh >functions/_migrationkit-cli",
                "fpath=(\"$PWD/functions\" $fpath)", "autoload -Uz compinit", "compinit -u -D",
                "unsetopt list_beep",
            ]
        for line in ["cd '\(project.folder.path)'"] + preparation + ["echo re''ady"] {
            shell.type("\(line)\n".utf8)
        }
        #expect(shell.wait(for: "ready"), "\(shell.text)")
        // All of them, then each: what is inserted is the name, whatever is in it.
        shell.type("migrationkit-cli lint --since \t\t\u{15}".utf8)
        for strange in Self.strangeNames {
            // What the shell wouldn't quote isn't offered.
            let isOffered = !strange.contains(name == "zsh" ? /[!]/ : /[$`]/)
            shell.type("migrationkit-cli lint --since \(strange.prefix(4))\t\n".utf8)
            let result = "got:\(isOffered ? strange : String(strange.prefix(4))):"
            #expect(shell.wait(for: result), "\(strange): \(shell.text)")
        }
        shell.type("exit\n".utf8)
        _ = shell.finish()
        #expect(!FileManager.default.fileExists(atPath: project.folder.path("ran")))
    }

    /// As the script of bash asks for them.
    @Test func servicesAndAccountsOfStrangersAreQuotedForBash() throws {
        let secrets = try PrivateSecretService()
        let project = try Project(secrets.environment.merging(["SAP_SHELL": "bash"]) { $1 })
        let made = try project.run(
            "key",
            "generate",
            "--keychain-service",
            "a (b)",
            "--keychain-account",
            "c$(d)"
        )
        #expect(made.status == 0, "\(made)")
        let quoted = [[#"a\ \(b\)"#], []]
        for (option, name) in zip(["--keychain-service", "--keychain-account"], quoted) {
            #expect(try offers(["key", "show"], for: option, in: project) == name)
        }
    }
}
