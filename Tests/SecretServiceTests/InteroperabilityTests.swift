import Foundation
import TestSupport
import Testing

@Suite struct InteroperabilityTests {
    @Test func whatWasStoredComesBack() throws {
        let service = try PrivateSecretService()
        let secret = PrivateSecretService.newSecret()
        let stored = try service.probe("store", "s", "u", "passphrase", input: secret)
        #expect(stored.status == 0, "\(stored.stdout)")
        #expect(stored.stderr == "")
        let lines = try service.probe("entry", "s", "u").stdout.split(separator: "\n")
        #expect(lines.first == "passphrase \(secret.hexadecimal)")
        #expect(lines.last?.hasPrefix("s u passphrase") == true)
        #expect(lines.last?.hasSuffix("open dated s (u)") == true)
    }

    @Test func rawKeyComesBackAsOneWithoutBeingAskedFor() throws {
        let service = try PrivateSecretService()
        let digits = (0..<64).map { _ in String(Int.random(in: 0..<16), radix: 16) }.joined()
        #expect(try service.probe("store", "s", "u", "raw-key", input: digits).status == 0)
        #expect(try service.probe("entry", "s").stdout.hasPrefix("raw-key \(digits)\n"))
        // Others see the digits.
        #expect(try service.run("secret-tool", ["lookup", "service", "s"]).stdout == digits)
    }

    @Test func newlineThatIsPartOfAPassphraseIsRefused() throws {
        let service = try PrivateSecretService()
        let result = try service.probe("store", "s", "u", "passphrase", input: "two\n\n")
        #expect(result.stdout.hasPrefix("unstorablePassphrase("))
        #expect(try service.probe("items", "s").stdout == "")
        // One at the end is a line's end, and no part of it.
        #expect(try service.probe("store", "s", "u", "passphrase", input: "one\n").status == 0)
        #expect(
            try service.probe("entry", "s").stdout.hasPrefix("passphrase \("one".hexadecimal)\n")
        )
    }

    @Test func existingItemIsReplacedOnlyOnRequest() throws {
        let service = try PrivateSecretService()
        #expect(try service.probe("store", "s", "u", "passphrase", input: "one").status == 0)
        let second = try service.probe("store", "s", "u", "passphrase", input: "two")
        #expect(second.stdout == "itemExists(service: \"s\", account: \"u\")\n")
        #expect(try service.probe("entry", "s").stdout.contains("one".hexadecimal))
        #expect(try service.probe("replace", "s", "u", "passphrase", input: "two").status == 0)
        #expect(try service.probe("entry", "s").stdout.contains("two".hexadecimal))
        #expect(try service.probe("items").stdout.split(separator: "\n").count == 1)
    }

    @Test func itemsWithoutAServiceAreOurOwn() throws {
        let service = try PrivateSecretService()
        try service.storeBySecretTool("service", "theirs", "username", "u", secret: "secret")
        _ = try service.probe("store", "ours", "a", "passphrase", input: "one")
        _ = try service.probe("store", "ours", "b", "passphrase", input: "two")
        let listed = try service.probe("items").stdout.split(separator: "\n")
        #expect(listed.map { $0.prefix(6) } == ["ours a", "ours b"])
        #expect(try service.probe("items", "theirs").stdout.hasPrefix("theirs u - "))
    }

    @Test func deletedItemIsGone() throws {
        let service = try PrivateSecretService()
        _ = try service.probe("store", "s", "u", "passphrase", input: "one")
        #expect(try service.probe("delete", "s", "u").stdout.hasPrefix("s u passphrase"))
        #expect(try service.run("secret-tool", ["lookup", "service", "s"]).status == 1)
    }

    @Test func secretToolFindsOurs() throws {
        let service = try PrivateSecretService()
        let secret = PrivateSecretService.newSecret()
        _ = try service.probe("store", "s", "u", "passphrase", input: secret)
        let found = try service.run("secret-tool", ["lookup", "service", "s", "username", "u"])
        #expect(found.stdout == secret)
    }

    /// What each program's items carry, beside what is looked for.
    private static let conventions: [(name: String, attributes: [String])] = [
        ("secret-tool", ["service", "s", "username", "u"]),
        (
            "python keyring",
            ["service", "s", "username", "u", "application", "Python keyring library"]
        ),
        ("go-keyring", ["service", "s", "username", "u"]),
        (
            "keyring-rs",
            ["service", "s", "username", "u", "target", "default", "application", "rust-keyring"]
        ),
        ("keytar", ["service", "s", "account", "u"]),
        ("another schema", ["service", "s", "username", "u", "xdg:schema", "com.example.Own"]),
    ]

    @Test(arguments: conventions.indices)
    func itemsOfOtherConventionsAreFound(index: Int) throws {
        let service = try PrivateSecretService()
        let convention = Self.conventions[index]
        let result = try service.run(
            "secret-tool",
            ["store", "--label=x"] + convention.attributes,
            input: "theirs\n"
        )
        #expect(result.status == 0, "\(result.stderr)")
        for account in [["u"], []] {
            let found = try service.run(
                builtExecutable("SecretServiceProbe"),
                ["entry", "s"] + account
            )
            // The newline is secret-tool's, not the passphrase's.
            #expect(
                found.stdout.hasPrefix("passphrase \("theirs".hexadecimal)\ns u - "),
                "\(convention.name): \(found.stdout)"
            )
        }
    }

    @Test func itemInAnotherOpenCollectionIsFound() throws {
        // Without a default collection there is still the session's, to which libsecret stores by
        // its alias.
        let service = try PrivateSecretService(.noCollection)
        let stored = try service.run(
            "secret-tool",
            ["store", "--collection=session", "--label=x", "service", "s", "username", "u"],
            input: "theirs"
        )
        #expect(stored.status == 0, "\(stored.stderr)")
        #expect(try service.probe("entry", "s").stdout.contains("theirs".hexadecimal))
        let named = try service.probe("entry", "s", settings: ["PROBE_COLLECTION": "session"])
        #expect(named.stdout.contains("theirs".hexadecimal))
    }

    @Test func namedCollectionAloneIsLookedIn() throws {
        let service = try PrivateSecretService()
        let other = ["PROBE_COLLECTION": "session"]
        _ = try service.probe("store", "s", "u", "passphrase", input: "default")
        #expect(try service.probe("entry", "s", settings: other).stdout.hasPrefix("itemNotFound"))
        _ = try service.probe("store", "s", "u", "passphrase", input: "session", settings: other)
        let found = try service.probe("entry", "s", settings: other)
        #expect(found.stdout.contains("session".hexadecimal))
        #expect(try service.probe("entry", "s").stdout.hasPrefix("ambiguous"))
        let login = try service.probe("entry", "s", settings: ["PROBE_COLLECTION": "login"])
        #expect(login.stdout.contains("default".hexadecimal))
    }

    /// Python's keyring, from the environment that the bootstrap makes.
    private static let python =
        FileManager.default.currentDirectoryPath + "/.build/python/bin/python"
    private static let hasKeyring =
        (try? run(python, ["-c", "import keyring, secretstorage"]).status) == 0

    @Test(.enabled(if: hasKeyring, "the bootstrap's Python with keyring is not there"))
    func pythonKeyringWorksBothWays() throws {
        let service = try PrivateSecretService()
        func python(_ line: String) throws -> ProcessResult {
            try service.run(
                Self.python,
                ["-c", "from keyring.backends.SecretService import Keyring as K; " + line]
            )
        }
        let (ours, theirs) = (PrivateSecretService.newSecret(), PrivateSecretService.newSecret())
        _ = try service.probe("store", "s", "ours", "passphrase", input: ours)
        let read = try python("print(K().get_password('s', 'ours'), end='')")
        #expect(read.stdout == ours, "\(read.stderr)")
        let written = try python("K().set_password('s', 'theirs', '\(theirs)')")
        #expect(written.status == 0, "\(written.stderr)")
        #expect(
            try service.probe("entry", "s", "theirs").stdout
                .hasPrefix("passphrase \(theirs.hexadecimal)\n")
        )
    }
}
