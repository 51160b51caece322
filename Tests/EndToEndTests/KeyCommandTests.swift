import Foundation
import TestSupport
import Testing

/// The `key` commands on a real Secret Service in a private home.
@Suite struct KeyCommandTests {
    let secrets: PrivateSecretService
    let tool: Tool
    private let service = "com.example.\(UInt32.random(in: 1...UInt32.max))"

    init() throws {
        secrets = try PrivateSecretService()
        tool = try Tool(environment: secrets.environment)
        try tool.writeItems()
    }

    private var item: [String] { ["--keychain-service", service, "--keychain-account", "main"] }

    private func key(_ command: String, _ arguments: String..., input: String = "") throws
        -> ProcessResult
    {
        try tool.run(["key", command] + item + arguments, input: input)
    }

    private func store(_ password: String, form: String = "--json") throws {
        let result = try key("set", "--password-file", "-", form, input: password)
        #expect(result.status == 0, "\(result)")
    }

    private func lookup() throws -> String {
        try secrets.run("secret-tool", ["lookup", "service", service, "username", "main"]).stdout
    }

    private func terminal(_ command: String, _ arguments: String...) throws -> TerminalProcess {
        try TerminalProcess(
            builtExecutable("migrationkit-cli"),
            ["key", command] + item + arguments,
            environment: tool.environment
        )
    }

    private func migrate(_ command: String, _ arguments: [String]) throws -> ProcessResult {
        try tool.run(
            [command, "--db-path", tool.database, "--migrations", tool.migrations] + arguments
        )
    }

    // MARK: - generate

    @Test func generatedKeyIsARawKeyThatOpensADatabase() throws {
        let made = try key("generate", "--json")
        #expect(made.status == 0, "\(made)")
        let description = try #require(try made.json()["item"] as? [String: Any])
        #expect(description["form"] as? String == "raw-key")
        #expect(description["service"] as? String == service)
        #expect(description["account"] as? String == "main")

        let digits = try lookup()
        #expect(digits.wholeMatch(of: /[0-9a-f]{64}/) != nil)
        #expect(!made.stdout.contains(digits))
        // The item says what it holds, so that nobody has to.
        #expect(try migrate("migrate", item).status == 0)
        let raw = try SQLCipherShell.run(
            tool.database,
            key: "x'\(digits)'",
            "SELECT count(*) FROM item;"
        )
        #expect(raw == "1")
    }

    @Test func generateReplacesNothing() throws {
        #expect(try key("generate").status == 0)
        let before = try lookup()
        let again = try key("generate", "--json")
        #expect(again.status == 73)
        #expect(try again.jsonError()["code"] as? String == "keyExists")
        #expect(try lookup() == before)
        let second = ["--keychain-service", service, "--keychain-account", "second"]
        #expect(try tool.run(["key", "generate"] + second).status == 0)
    }

    /// A new key would hide that the database's own is lost.
    @Test func noKeyIsMadeForADatabaseThatHasAnother() throws {
        #expect(try key("generate").status == 0)
        #expect(try migrate("migrate", item).status == 0)
        // The item of the database is there, and another one may be made.
        let second = ["key", "generate", "--keychain-service", service]
        let database = ["--db-path", tool.database]
        #expect(try tool.run(second + ["--keychain-account", "b"] + database).status == 0)

        let digits = try lookup()
        for account in ["main", "b"] {
            let delete = ["key", "delete", "--keychain-service", service, "--yes"]
            #expect(try tool.run(delete + ["--keychain-account", account]).status == 0)
        }
        for command in [["status", "--migrations", tool.migrations], ["key", "rotate"]] {
            let missing = try tool.run(command + item + database)
            #expect(missing.status == 69, "\(missing)")
            #expect(missing.stderr.contains("key doctor --db-path"), "\(missing)")
            #expect(!missing.stderr.contains("key generate"), "\(missing)")
        }
        let refused = try key("generate", "--db-path", tool.database, "--json")
        #expect(refused.status == 73, "\(refused)")
        #expect(try refused.jsonError()["code"] as? String == "databaseHasKey")
        // Named by the environment, as the item is.
        var other = tool
        other.environment["MIGRATIONKIT_DB_PATH"] = tool.database
        other.environment["MIGRATIONKIT_KEYCHAIN_SERVICE"] = service
        other.environment["MIGRATIONKIT_KEYCHAIN_ACCOUNT"] = "main"
        #expect(try other.run(["key", "generate"]).status == 73)
        #expect(try lookup() == "")

        // What is for another database isn't refused, nor what is meant.
        let elsewhere = ["key", "generate", "--keychain-service", "\(service).other"]
        #expect(try other.run(elsewhere + ["--keychain-account", "main"]).status == 0)
        #expect(try other.run(["key", "generate", "--new"]).status == 0)
        #expect(try lookup() != digits)

        let copy = tool.folder.path("copy")
        try tool.folder.write("phrase", "recovery \(digits.prefix(8))".utf8, mode: 0o600)
        let phrase = ["--recovery-password-file", tool.folder.path("phrase")]
        try tool.folder.write("key", digits.utf8, mode: 0o600)
        let exported = try tool.run(
            ["key", "export", "--output", copy, "--password-file", tool.folder.path("key")]
                + ["--raw-key"] + phrase
        )
        #expect(exported.status == 0, "\(exported)")
        let imported = try tool.run(["key", "import", copy] + item + database + phrase)
        #expect(imported.status == 73, "\(imported)")
        #expect(imported.stderr.contains("add --replace"))
        #expect(!imported.stderr.contains("key set"))
    }

    @Test func environmentNamesTheItem() throws {
        var tool = tool
        tool.environment["MIGRATIONKIT_KEYCHAIN_SERVICE"] = service
        tool.environment["MIGRATIONKIT_KEYCHAIN_ACCOUNT"] = "main"
        #expect(try tool.run("key", "generate", "--label", "My notes").status == 0)
        let shown = try tool.run("key", "show")
        #expect(shown.status == 0)
        #expect(shown.stdout.contains("\"My notes\""))
        #expect(try tool.run("key", "delete", "--yes").status == 0)
        #expect(try tool.run("key", "show").status == 69)
    }

    // MARK: - set

    @Test func setKeepsThePassphraseForEveryone() throws {
        let result = try key("set", "--password-file", "-", "--json", input: tool.password + "\n")
        #expect(result.status == 0, "\(result)")
        #expect(try result.json()["source"] as? String == "standard input")
        #expect(try result.json()["replaced"] as? Bool == false)
        #expect(try lookup() == tool.password)
        #expect(try migrate("migrate", item).status == 0)
        #expect(try tool.onStore("status").status == 0)
    }

    @Test func setTakesEverySource() throws {
        let file = tool.folder.path("password")
        for source in [
            ["--password-file", file], ["--password-command", "cat '\(file)'"],
            ["--password", tool.password],
        ] {
            let set = try tool.run(["key", "set"] + item + source)
            #expect(set.status == 0, "\(set)")
            #expect(set.stderr.hasPrefix(source[0] == "--password" ? "warning: " : ""))
            #expect(try lookup() == tool.password)
            #expect(try key("delete", "--yes").status == 0)
        }
        var withVariable = tool
        withVariable.environment["MIGRATIONKIT_PASSWORD"] = tool.password
        #expect(try withVariable.run(["key", "set"] + item).status == 0)
        #expect(try lookup() == tool.password)
    }

    @Test(arguments: [
        ("zwei\nZeilen", "a line break"), ("ein\tTabulator", "a control character"),
        ("Rück\\strich", "a backslash"), (" vorne", "a space at its start"),
    ])
    func passphraseThatAKeyringWithoutAPasswordCanNotHoldIsRefused(
        _ passphrase: String,
        _ flaw: String
    ) throws {
        try store("first")
        let result = try key(
            "set",
            "--replace",
            "--yes",
            "--password-file",
            "-",
            "--json",
            input: passphrase + "\n"
        )
        #expect(result.status == 77, "\(result)")
        let error = try result.jsonError()
        #expect(error["code"] as? String == "unstorablePassphrase")
        #expect((error["message"] as? String)?.contains(flaw) == true)
        #expect((error["hint"] as? String)?.contains("key generate") == true)
        #expect(!result.stderr.contains(passphrase))
        #expect(try lookup() == "first")
        // The database itself takes it, from a file.
        try tool.folder.write("password", Array((passphrase + "\n").utf8))
        #expect(try tool.onStore("migrate").status == 0)
    }

    @Test func setReplacesOnlyWhenItIsMeant() throws {
        try store("first")
        let plain = try key("set", "--password-file", "-", input: "second")
        #expect(plain.status == 73)
        #expect(plain.stderr.contains("--replace"))
        let unanswered = try key("set", "--password-file", "-", "--replace", input: "second")
        #expect(unanswered.status == 64)
        #expect(unanswered.stderr.contains("--yes"))
        #expect(try lookup() == "first")

        let replaced = try key(
            "set",
            "--password-file",
            "-",
            "--replace",
            "--yes",
            "--json",
            input: "second"
        )
        #expect(replaced.status == 0)
        #expect(try replaced.json()["replaced"] as? Bool == true)
        #expect(try lookup() == "second")
    }

    @Test func aReplacedKeyIsKept() throws {
        try store(tool.password)
        let opening = ["--db-path", tool.database, "--migrations", tool.migrations] + item
        let migrated = try tool.run(["migrate"] + opening)
        #expect(migrated.status == 0, "\(migrated)")

        let replaced = try key("set", "--password-file", "-", "--replace", "--yes", input: "second")
        #expect(replaced.status == 0, "\(replaced)")
        #expect(replaced.stdout.contains("The other key is kept as a previous one."))
        let found = try tool.run(["key", "find", "--db-path", tool.database, "--json"])
        #expect(found.status == 0, "\(found)")
        // The same key once more is no other key.
        let again = try key("set", "--password-file", "-", "--replace", "--yes", input: "second")
        #expect(!again.stdout.contains("previous"), "\(again)")
    }

    @Test func terminalIsAskedWhetherToReplaceAndThenTwice() throws {
        try store("first")
        let no = try terminal("set", "--replace")
        #expect(no.wait(for: "is kept as a previous key. [y/N] "))
        no.type("\n".utf8)
        #expect(no.finish().status == 77)
        #expect(try lookup() == "first")

        let slip = try terminal("set", "--replace")
        #expect(slip.wait(for: "[y/N] "))
        slip.type("y\n".utf8)
        #expect(slip.wait(for: "Passphrase for \(service) (main): "))
        slip.type("second\n".utf8)
        #expect(slip.wait(for: "Once more: "))
        slip.type("sedonc\n".utf8)
        let refused = slip.finish()
        #expect(refused.status == 64)
        #expect(refused.stdout.contains("not the same"))
        #expect(try lookup() == "first")

        let yes = try terminal("set", "--replace", "--yes")
        for question in ["Passphrase for", "Once more: "] {
            #expect(yes.wait(for: question))
            yes.type("second\n".utf8)
        }
        let result = yes.finish()
        #expect(result.status == 0, "\(result)")
        #expect(!result.stdout.contains("second\r\n"))
        #expect(try lookup() == "second")
    }

    @Test func rawKeyIsStoredAsOne() throws {
        let digits = String(repeating: "0A", count: 32)
        try store(digits, form: "--raw-key")
        let item = try #require(try key("show", "--json").json()["item"] as? [String: Any])
        #expect(item["form"] as? String == "raw-key")
        let short = try key(
            "set",
            "--raw-key",
            "--replace",
            "--yes",
            "--password-file",
            "-",
            "--json",
            input: "0a"
        )
        #expect(short.status == 77)
        #expect(try short.jsonError()["code"] as? String == "unusableKey")
        #expect(try lookup() == digits.lowercased())
    }

    // MARK: - show

    @Test func keyIsShownOnlyWhereItIsAskedFor() throws {
        try store(tool.password)
        for arguments in [[], ["--json"], ["--force"]] {
            let shown = try tool.run(["key", "show"] + item + arguments)
            #expect(shown.status == 0)
            #expect(shown.stdout.contains(service))
            #expect(!shown.stdout.contains(tool.password))
        }
        for arguments in [["--reveal"], ["--reveal", "--json"]] {
            let piped = try tool.run(["key", "show"] + item + arguments)
            #expect(piped.status == 64)
            #expect(piped.stdout.isEmpty)
            #expect(!piped.stderr.contains(tool.password))
            #expect(piped.stderr.contains("--force"))
        }
        let forced = try key("show", "--reveal", "--force")
        #expect(forced.stdout == tool.password + "\n")
        let onTerminal = try terminal("show", "--reveal").finish()
        #expect(onTerminal.status == 0)
        #expect(onTerminal.stdout == tool.password + "\r\n")
    }

    @Test func revealedDocumentGivesEveryCharacter() throws {
        // Another program may have stored what we refuse to.
        let odd = "quote \" backslash \\ tab \t escape \u{1B} — ü"
        let foreign = try secrets.run(
            "secret-tool",
            ["store", "--label=odd", "service", service, "username", "main"],
            input: odd
        )
        #expect(foreign.status == 0)
        let text = try key("show", "--reveal", "--force", "--json").json()
        #expect(text["secret"] as? String == odd)
        #expect(text["encoding"] as? String == "utf8")

        try tool.folder.write("bytes", [0xff, 0xfe, 0x41])
        let file = tool.folder.path("bytes")
        // A previous key with a control character can't be kept, so it isn't replaced.
        #expect(try key("set", "--password-file", file, "--replace", "--yes").status == 77)
        #expect(try key("delete", "--yes").status == 0)
        let set = try key("set", "--password-file", file)
        #expect(set.status == 0, "\(set)")
        let bytes = try key("show", "--reveal", "--force", "--json").json()
        #expect(bytes["secret"] as? String == "fffe41")
        #expect(bytes["encoding"] as? String == "hexadecimal")
        #expect(try key("show", "--reveal", "--force").outputBytes == [0xff, 0xfe, 0x41, 0x0a])
    }

    // MARK: - delete

    @Test func deleteAsksFirst() throws {
        try store(tool.password)
        let unanswered = try key("delete", "--json")
        #expect(unanswered.status == 64)
        #expect(try unanswered.jsonError()["code"] as? String == "needsConfirmation")

        let no = try terminal("delete")
        #expect(no.wait(for: "Databases that only it opens are lost. [y/N] "))
        no.type("no\n".utf8)
        #expect(no.finish().status == 77)
        let silent = try terminal("delete", "--no-prompt").finish()
        #expect(silent.status == 64)
        let interrupted = try terminal("delete")
        #expect(interrupted.wait(for: "[y/N] "))
        interrupted.type([0x03])
        #expect(interrupted.finish().signal == SIGINT)
        #expect(try lookup() == tool.password)

        let yes = try terminal("delete")
        #expect(yes.wait(for: "[y/N] "))
        yes.type("yes\n".utf8)
        #expect(yes.finish().status == 0)
        #expect(try lookup().isEmpty)
    }

    @Test func ofSeveralKeysNoneIsDeleted() throws {
        try store(tool.password)
        let second = ["--keychain-service", service, "--keychain-account", "second"]
        #expect(try tool.run(["key", "generate"] + second).status == 0)
        let result = try tool.run(
            "key",
            "delete",
            "--keychain-service",
            service,
            "--yes",
            "--json"
        )
        #expect(result.status == 69)
        #expect(try result.jsonError()["code"] as? String == "keyAmbiguous")
        #expect(try lookup() == tool.password)

        let deleted = try key("delete", "--yes", "--json")
        let description = try #require(try deleted.json()["deleted"] as? [String: Any])
        #expect(description["account"] as? String == "main")
        #expect(try key("delete", "--yes").status == 69)
    }

    // MARK: - list

    @Test func listCutsNothingForWhichThereIsRoom() throws {
        let long = "\(service).the-service-of-a-program"
        let item = ["--keychain-service", long, "--keychain-account", "someone@example.org"]
        let stored = try tool.run(["key", "set", "--password-file", "-"] + item, input: "secret")
        #expect(stored.status == 0, "\(stored)")
        var wide = tool
        wide.environment["COLUMNS"] = "200"
        let list = try wide.run("key", "list", "--all").stdout
        #expect(list.contains("\n\(long)  someone@example.org  "))
        #expect(!list.contains("…"))
        let narrow = try tool.run("key", "list", "--all").stdout
        let row = try #require(narrow.split(separator: "\n").dropFirst().first)
        #expect(row.contains("…"))
        // Eighty columns are used up.
        #expect(row.count == 80, "\(narrow)")
        #expect(narrow.contains("service=\"\(long)\""))
    }

    @Test func listTellsEverythingButTheKeys() throws {
        let empty = try tool.run("key", "list")
        #expect(empty.status == 0)
        #expect(empty.stdout == "No keys.\n")

        try store(tool.password)
        let other = ["service", "com.example.other", "username", "me", "colour", "blue"]
        let foreign = try secrets.run(
            "secret-tool",
            ["store", "--label=Of \u{1B}[31manother"] + other,
            input: "foreign"
        )
        #expect(foreign.status == 0)

        let list = try tool.run("key", "list")
        #expect(list.stdout.hasPrefix("SERVICE "))
        #expect(list.stdout.contains(service))
        #expect(!list.stdout.contains("com.example.other"))
        #expect(!list.stdout.contains(tool.password))
        #expect(list.stdout.split(separator: "\n").allSatisfy { $0.count <= 80 }, "\(list)")

        // The account that the environment names is one of several.
        var named = tool
        named.environment["MIGRATIONKIT_KEYCHAIN_SERVICE"] = service
        named.environment["MIGRATIONKIT_KEYCHAIN_ACCOUNT"] = "second"
        #expect(try named.run("key", "list").stdout.contains("main"))
        #expect(try named.run("key", "list", "--keychain-account", "x").stdout == "No keys.\n")

        // Of a service, whoever stored it; what another program wrote moves no cursor.
        let theirs = try tool.run("key", "list", "--keychain-service", "com.example.other")
        #expect(theirs.stdout.contains("colour=\"blue\""))
        #expect(!theirs.stdout.contains("\u{1B}"))
        #expect(!theirs.stdout.contains("foreign"))

        let document = try tool.run("key", "list", "--all", "--json").json()
        #expect(document["schemaVersion"] as? Int == 1)
        let items = try #require(document["items"] as? [[String: Any]])
        #expect(items.map { $0["service"] as? String } == [service])
        #expect(items[0]["form"] as? String == "passphrase")
        let created = try #require(items[0]["created"] as? String)
        #expect(try Date(created, strategy: .iso8601).timeIntervalSinceNow > -600)
        #expect((items[0]["attributes"] as? [String: String])?["username"] == "main")
    }

    // MARK: - check

    @Test func checkTellsWhetherTheKeyOpens() throws {
        #expect(try key("generate").status == 0)
        #expect(try migrate("migrate", item).status == 0)
        let before = try tool.folder.snapshot()
        let check = ["key", "check", "--db-path", tool.database]
        let human = try tool.run(check + item)
        #expect(human.status == 0)
        #expect(human.stdout.contains("The key opens \(tool.database)."))
        #expect(human.stdout.contains("SQLCipher 4"))
        let document = try tool.run(check + item + ["--json"]).json()
        #expect(document["cipherCompatibility"] as? Int == 4)
        #expect(document["form"] as? String == "raw-key")
        #expect((document["keySource"] as? String)?.contains(service) == true)

        let wrong = try tool.run(
            check + ["--password-file", tool.folder.path("password"), "--json"]
        )
        #expect(wrong.status == 77)
        #expect(try wrong.jsonError()["code"] as? String == "wrongKey")
        #expect(try tool.folder.snapshot() == before)

        let missing = try tool.run(
            ["key", "check", "--db-path", tool.folder.path("none.db")] + item
        )
        #expect(missing.status == 66)
    }

    @Test(arguments: [3, 2, 1]) func checkTellsOlderSettings(_ version: Int) throws {
        _ = try SQLCipherShell.run(
            tool.database,
            key: tool.password,
            compatibility: version,
            "CREATE TABLE item (id);"
        )
        let result = try tool.run(["key", "check", "--json"] + tool.opening)
        #expect(result.status == 0, "\(result)")
        #expect(try result.json()["cipherCompatibility"] as? Int == version)
        let human = try tool.run(["key", "check"] + tool.opening)
        #expect(
            human.stdout.split(separator: "\n").allSatisfy { $0.count <= 80 || $0.contains("/") }
        )
    }

    @Test func checkTellsPlaintext() throws {
        #expect(
            try migrate("migrate", ["--no-encryption"]).status == 0
        )
        let result = try tool.run(["key", "check", "--json"] + tool.opening)
        #expect(result.status == 77)
        #expect(try result.jsonError()["code"] as? String == "plaintext")
    }
}
