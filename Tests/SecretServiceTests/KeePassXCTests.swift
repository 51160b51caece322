import TestSupport
import Testing

/// The same situations as with GNOME Keyring, and what KeePassXC does in its own way.
@Suite(.enabled(if: PrivateKeePassXC.isInstalled, "KeePassXC is not installed"))
struct KeePassXCTests {
    private let noPrompt = ["PROBE_NO_PROMPT": "1"]

    // MARK: The situations

    @Test(arguments: ["entry", "items", "delete", "store"])
    func noDatabaseIsNoDefaultCollection(command: String) throws {
        let keepass = try PrivateKeePassXC(databases: [])
        // It would ask whether to make one.
        let result = try keepass.bus.probe(
            command,
            "s",
            "u",
            input: "secret",
            settings: noPrompt
        )
        #expect(result.stdout == "noCollection(name: \"default\")\n")
        #expect(result.stderr == "")
    }

    @Test func aLockedDatabaseIsNotTakenForAMissingItemAndOpensNoPrompt() throws {
        let keepass = try PrivateKeePassXC()
        try keepass.bus.storeBySecretTool("service", "s", "username", "known", secret: "secret")
        try keepass.lock()
        for command in ["entry", "items", "delete", "store", "replace"] {
            for account in ["known", "unknown"] {
                let result = try keepass.bus.probe(
                    command,
                    "s",
                    account,
                    input: "secret",
                    settings: noPrompt
                )
                #expect(result.stdout == "locked(collection: \"keys\")\n", "\(command) \(account)")
                #expect(result.stderr == "")
            }
        }
    }

    @Test func dismissedQuestionIsSaid() throws {
        let keepass = try PrivateKeePassXC()
        try keepass.lock()
        let child = try ChildProcess(
            builtExecutable("SecretServiceProbe"),
            ["entry", "s", "u"],
            environment: keepass.bus.environment
        )
        try keepass.dismissQuestion()
        #expect(child.readLine() == "promptDismissed(collection: \"keys\")")
        #expect(try child.finish().status == 1)
    }

    @Test func questionThatNobodyAnswersEndsAtTheTimeLimit() throws {
        let keepass = try PrivateKeePassXC()
        try keepass.lock()
        let result = try keepass.bus.probe(
            "entry",
            "s",
            "u",
            settings: ["PROBE_QUESTION_TIMEOUT": "400"]
        )
        #expect(result.stdout == "timedOut(seconds: 0.4)\n")
        #expect(result.stderr == "")
    }

    @Test func missingItemIsNotFound() throws {
        let keepass = try PrivateKeePassXC()
        try keepass.bus.storeBySecretTool("service", "s", "username", "u", secret: "secret")
        for command in ["entry", "delete"] {
            #expect(
                try keepass.bus.probe(command, "s", "v").stdout
                    == "itemNotFound(service: \"s\", account: Optional(\"v\"))\n"
            )
        }
        #expect(try keepass.bus.probe("items", "t").stdout == "")
    }

    @Test func severalMatchesAreAmbiguousAndNoneIsTouched() throws {
        let keepass = try PrivateKeePassXC()
        try keepass.bus.storeBySecretTool("service", "s", "username", "u", secret: "one")
        try keepass.bus.storeBySecretTool("service", "s", "username", "v", secret: "two")
        for command in ["entry", "delete"] {
            let result = try keepass.bus.probe(command, "s")
            #expect(result.stdout.hasPrefix("ambiguous(service: \"s\", matches: ["))
            #expect(result.stdout.contains("username=\\\"u\\\""))
            #expect(result.stdout.contains("username=\\\"v\\\""))
        }
        #expect(try keepass.bus.probe("entry", "s", "v").stdout.contains("two".hexadecimal))
        #expect(try keepass.bus.probe("entry", "s", "u").stdout.contains("one".hexadecimal))
    }

    @Test func collectionIsCalledByItsLabelOrItsFile() throws {
        let keepass = try PrivateKeePassXC(databases: ["other", "keys"])
        let other = ["PROBE_COLLECTION": "other"]
        _ = try keepass.bus.probe("store", "s", "u", "passphrase", input: "1", settings: other)
        #expect(try keepass.bus.probe("entry", "s", settings: other).status == 0)
        let label = ["PROBE_COLLECTION": "the other database"]
        #expect(try keepass.bus.probe("entry", "s", settings: label).status == 0)
        #expect(
            try keepass.bus.probe("entry", "s", settings: ["PROBE_COLLECTION": "keys"]).stdout
                == "itemNotFound(service: \"s\", account: nil)\n"
        )
        #expect(
            try keepass.bus.probe("entry", "s", settings: ["PROBE_COLLECTION": "none"]).stdout
                == "noCollection(name: \"none\")\n"
        )
    }

    // MARK: The round trip

    @Test func itemIsStoredReplacedListedAndDeleted() throws {
        let keepass = try PrivateKeePassXC()
        let (first, second) = (PrivateSecretService.newSecret(), PrivateSecretService.newSecret())
        let stored = try keepass.bus.probe("store", "s", "u", "passphrase", input: first)
        #expect(stored.status == 0, "\(stored.stdout)")
        #expect(stored.stderr == "")
        let expected = "s u passphrase the keys database open dated s (u)\n"
        #expect(
            try keepass.bus.probe("entry", "s", "u").stdout
                == "passphrase \(first.hexadecimal)\n\(expected)"
        )
        #expect(
            try keepass.bus.probe("store", "s", "u", "passphrase", input: second).stdout
                == "itemExists(service: \"s\", account: \"u\")\n"
        )
        #expect(
            try keepass.bus.probe("replace", "s", "u", "passphrase", input: second).status == 0
        )
        #expect(try keepass.bus.probe("entry", "s").stdout.contains(second.hexadecimal))
        #expect(try keepass.bus.probe("items").stdout == expected)
        #expect(try keepass.bus.probe("delete", "s", "u").stdout == expected)
        #expect(
            try keepass.bus.probe("entry", "s").stdout
                == "itemNotFound(service: \"s\", account: nil)\n"
        )
        #expect(try keepass.bus.run("secret-tool", ["lookup", "service", "s"]).stdout == "")
    }

    @Test func itemsGoBothWaysBetweenSecretToolAndUs() throws {
        let keepass = try PrivateKeePassXC()
        let (ours, theirs) = (PrivateSecretService.newSecret(), PrivateSecretService.newSecret())
        _ = try keepass.bus.probe("store", "s", "ours", "passphrase", input: ours)
        let found = try keepass.bus.run(
            "secret-tool",
            ["lookup", "service", "s", "username", "ours"]
        )
        #expect(found.stdout == ours)
        try keepass.bus.storeBySecretTool("service", "s", "username", "theirs", secret: theirs)
        try keepass.bus.storeBySecretTool("service", "s", "account", "keytar", secret: theirs)
        for account in ["theirs", "keytar"] {
            #expect(
                try keepass.bus.probe("entry", "s", account).stdout
                    .hasPrefix("passphrase \(theirs.hexadecimal)\ns \(account) - ")
            )
        }
    }

    // MARK: What is its own

    /// KeePassXC takes words in braces for placeholders, and drops a byte order mark; the database's
    /// key would be another one.
    @Test func everyPassphraseComesBackByteForByteAlsoAfterARestart() throws {
        let keepass = try PrivateKeePassXC()
        let passphrases: [[UInt8]] = [
            Array("a{TITLE}b{USERNAME}c".utf8), Array("{S:service}".utf8),
            Array("\u{FEFF}mark".utf8), [0xFF, 0xFE, 0x80],
            Array("<&> ä \u{85} \u{1F600} ".utf8),
        ]
        for (index, passphrase) in passphrases.enumerated() {
            let result = try run(
                builtExecutable("SecretServiceProbe"),
                ["store", "s", "\(index)", "passphrase"],
                environment: keepass.bus.environment,
                input: passphrase
            )
            #expect(result.status == 0, "\(result.stdout)")
        }
        for _ in 0..<2 {
            for (index, passphrase) in passphrases.enumerated() {
                let digits = passphrase.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }
                let found = try keepass.bus.probe("entry", "s", "\(index)").stdout
                #expect(found.hasPrefix("passphrase \(digits.joined())\n"), "\(passphrase)")
            }
            try keepass.restart()
        }
    }

    /// A search answers nothing of a locked database, not even that there is something.
    @Test func itemInALockedDatabaseBesideTheDefaultIsNotTakenForMissing() throws {
        let keepass = try PrivateKeePassXC(databases: ["other", "keys"])
        let other = ["PROBE_COLLECTION": "other"]
        _ = try keepass.bus.probe("store", "s", "u", "passphrase", input: "1", settings: other)
        _ = try keepass.bus.probe("store", "s", "here", "passphrase", input: "2")
        try keepass.lock("other")
        for command in ["entry", "delete", "items", "store"] {
            #expect(
                try keepass.bus.probe(command, "s", "u", input: "3", settings: noPrompt).stdout
                    == "locked(collection: \"other\")\n",
                "\(command)"
            )
        }
        // What is found needs nothing else to be open, and a named collection is enough by itself.
        #expect(try keepass.bus.probe("entry", "s", "here", settings: noPrompt).status == 0)
        let named = noPrompt.merging(["PROBE_COLLECTION": "keys"]) { $1 }
        #expect(
            try keepass.bus.probe("entry", "s", "u", settings: named).stdout
                == "itemNotFound(service: \"s\", account: Optional(\"u\"))\n"
        )
    }

    /// KeePassXC hands out a whole entry as attributes, protected fields included.
    @Test func whatElseAnEntryHoldsIsNotShown() throws {
        func entry(_ title: String) -> String {
            let fields = [
                "Title": title, "UserName": "person", "Password": "a password",
                "Notes": "a private note", "URL": "https://example.com/?token=private",
                "service": "s", "PIN": "private 1234",
                "otp": "otpauth://totp/x?secret=PRIVATE",
            ]
            let strings = fields.map { name, value -> String in
                let protected = ["Password", "PIN", "otp"].contains(name) ? "True" : "False"
                return """
                    <String><Key>\(name)</Key>
                    <Value ProtectInMemory="\(protected)">\(value)</Value></String>
                    """
            }
            return "<Entry>\(strings.joined())</Entry>"
        }
        let keepass = try PrivateKeePassXC(entries: entry("first") + entry("second"))
        let ambiguous = try keepass.bus.probe("entry", "s").stdout
        #expect(ambiguous.hasPrefix("ambiguous(service: \"s\""))
        #expect(ambiguous.contains("Path=\\\"/first\\\""))
        #expect(ambiguous.contains("Path=\\\"/second\\\""))
        for word in ["rivate", "PRIVATE", "PIN", "otp", "TOTP", "Notes", "password"] {
            #expect(!ambiguous.contains(word), "\(word)")
        }
    }

    @Test func entryThatIsGivenOutOnlyAfterAQuestionIsNotTakenForMissing() throws {
        let keepass = try PrivateKeePassXC(confirms: true)
        let stored = try keepass.bus.probe("store", "s", "u", "passphrase", input: "secret")
        #expect(stored.stdout == "")
        let result = try keepass.bus.probe("entry", "s", "u", settings: noPrompt)
        #expect(result.stdout == "locked(collection: \"the keys database\")\n")
    }
}
