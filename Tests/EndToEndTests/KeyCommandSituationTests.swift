import Foundation
import TestSupport
import Testing

/// What can be wrong with the Secret Service, as the `key` commands tell it.
@Suite struct KeyCommandSituationTests {
    private static let item = ["--keychain-service", "s", "--keychain-account", "a"]

    /// Every command that asks the Secret Service, with what it needs to get there.
    private static let commands = [
        ["generate"] + item, ["set", "--password", "p"] + item, ["show"] + item,
        ["show", "--reveal", "--force"] + item, ["delete", "--yes"] + item, ["list"],
        ["check", "--db-path", "store.db"] + item,
    ]

    private func expectFailure(
        _ exit: Int32,
        _ code: String,
        saying word: String,
        in environment: [String: String],
        running commands: [[String]] = commands,
        _ options: String...,
        sourceLocation: SourceLocation = #_sourceLocation
    ) throws {
        let tool = try Tool(environment: environment)
        // It may be encrypted, as far as can be seen without a key.
        try tool.folder.write("store.db", (0..<4096).map { _ in UInt8.random(in: 1...255) })
        for command in commands.map({ $0.map { $0 == "store.db" ? tool.database : $0 } }) {
            let result = try tool.run(["key"] + command + options + ["--json"])
            #expect(result.status == exit, "\(command) \(result)", sourceLocation: sourceLocation)
            #expect(result.stdout.isEmpty, sourceLocation: sourceLocation)
            #expect(
                result.stderr.contains("\"code\":\"\(code)\""),
                "\(command) \(result)",
                sourceLocation: sourceLocation
            )
            #expect(result.stderr.contains(word), "\(result)", sourceLocation: sourceLocation)
        }
    }

    /// As two programs leave them that stored at once. The error names the identifiers.
    @Test func oneOfTwoItemsThatMatchCanBeDeleted() throws {
        let secrets = try PrivateSecretService()
        for number in ["1", "2"] {
            let attributes = ["service", "s", "username", "a", "other", number]
            let stored = try secrets.run(
                "secret-tool",
                ["store", "--label=x"] + attributes,
                input: "secret \(number)"
            )
            try #require(stored.status == 0)
        }
        let tool = try Tool(environment: secrets.environment)
        let refused = try tool.run(["key", "delete", "--yes"] + Self.item)
        #expect(refused.status == 69)
        let identifiers = refused.stderr.matches(of: /other="(.)".* item (\S+)/)
            .reduce(into: [:]) { $0[$1.1] = String($1.2) }
        let unknown = try tool.run(["key", "delete", "--yes", "--item", "/nowhere"] + Self.item)
        #expect(unknown.status == 69 && unknown.stderr.contains("holds no item"))
        let first = try #require(identifiers["1"])
        let deleted = try tool.run(["key", "delete", "--yes", "--item", first] + Self.item)
        #expect(deleted.status == 0, "\(deleted)")
        let shown = try tool.run(["key", "show", "--reveal", "--force"] + Self.item)
        #expect(shown.stdout.contains("secret 2"), "\(shown)")
    }

    @Test func noBus() throws {
        let folder = try TemporaryFolder()
        let address = ["DBUS_SESSION_BUS_ADDRESS": "unix:path=\(folder.path("none"))"]
        try expectFailure(69, "noBus", saying: "--password-file", in: address)
    }

    @Test func noDaemon() throws {
        let secrets = try PrivateSecretService(.noDaemon)
        try expectFailure(69, "noSecretService", saying: "KeePassXC", in: secrets.environment)
    }

    @Test func noCollection() throws {
        let secrets = try PrivateSecretService(.noCollection)
        try expectFailure(69, "noCollection", saying: "collection", in: secrets.environment)
        // One that was named and isn't there.
        let others = try PrivateSecretService()
        try expectFailure(
            69,
            "noCollection",
            saying: "--keychain-collection",
            in: others.environment,
            "--keychain-collection",
            "none"
        )
    }

    @Test func lockedCollectionWithoutAndWithAQuestion() throws {
        let secrets = try PrivateSecretService()
        try secrets.lock()
        try expectFailure(
            77,
            "collectionLocked",
            saying: "leave out --no-prompt",
            in: secrets.environment,
            "--no-prompt"
        )
        try expectFailure(77, "promptDismissed", saying: "nlock", in: secrets.environment)
    }

    @Test func questionThatNobodyAnswers() throws {
        let secrets = try PrivateSecretService()
        try secrets.makeQuestionsWait()
        try secrets.lock()
        let start = Date()
        try expectFailure(
            69,
            "secretServiceTimedOut",
            saying: "--keychain-timeout",
            in: secrets.environment,
            running: [["list"]],
            "--keychain-timeout",
            "0.5"
        )
        #expect(Date().timeIntervalSince(start) < 15)
    }

    @Test func daemonThatNeverAnswers() throws {
        let secrets = try PrivateSecretService()
        secrets.suspend()
        defer { secrets.resume() }
        try expectFailure(
            69,
            "secretServiceTimedOut",
            saying: "0.5 seconds",
            in: secrets.environment,
            running: [["list"], ["generate"] + Self.item],
            "--keychain-timeout",
            "0.5"
        )
    }

    @Test func missingItemAndHowToMakeOne() throws {
        let secrets = try PrivateSecretService()
        let commands = [["show"] + Self.item, ["delete", "--yes"] + Self.item]
        for word in [
            "key set --keychain-service s --keychain-account a", "key list", "key generate",
        ] {
            try expectFailure(
                69,
                "keyNotFound",
                saying: word,
                in: secrets.environment,
                running: commands
            )
        }
    }

    @Test func interruptEndsTheToolDuringAQuestion() throws {
        let secrets = try PrivateSecretService()
        // Instead of a window, a program that notes that it was asked for, and then waits.
        let asked = secrets.folder.path("asked")
        try secrets.folder.write(
            "services/org.gnome.keyring.SystemPrompter.service",
            """
            [D-BUS Service]
            Name=org.gnome.keyring.SystemPrompter
            Exec=/bin/sh -c 'touch \(asked); exec sleep 20 >/dev/null 2>&1'
            """.utf8
        )
        try secrets.lock()
        let process = try ChildProcess(
            builtExecutable("migrationkit-cli"),
            ["key", "show"] + Self.item,
            environment: secrets.environment,
            newSession: true
        )
        try wait(for: "the question") { access(asked, F_OK) == 0 }
        process.send(SIGINT)
        let result = try process.finish(within: 10)
        #expect(result.signal == SIGINT, "\(result)")
    }
}
