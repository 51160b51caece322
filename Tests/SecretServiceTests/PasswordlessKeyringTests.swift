import Foundation
import TestSupport
import Testing

/// A GNOME keyring without a password is a text file, which doesn't hold every text.
@Suite struct PasswordlessKeyringTests {
    private let service: PrivateSecretService

    init() throws {
        service = try PrivateSecretService(.withoutPassword)
        try service.storeBySecretTool("service", "other", "username", "u", secret: "another's")
    }

    private func store(_ passphrase: [UInt8], account: String) throws -> ProcessResult {
        try run(
            builtExecutable("SecretServiceProbe"),
            ["store", "s", account, "passphrase"],
            environment: service.environment,
            input: passphrase
        )
    }

    private var otherSecret: String {
        get throws { try service.run("secret-tool", ["lookup", "service", "other"]).stdout }
    }

    /// What the daemon itself makes of it, which is why such passphrases are refused.
    @Test func daemonLosesTheWholeKeyringByALineBreak() throws {
        try service.storeBySecretTool("service", "s", "username", "u", secret: "two\nlines")
        #expect(try service.run("secret-tool", ["lookup", "service", "s"]).stdout == "two\nlines")
        try service.restart()
        #expect(try otherSecret == "")
        #expect(try service.probe("entry", "s").stdout == "noCollection(name: \"default\")\n")
    }

    /// With Debian 12's GLib it changes `a\` as well.
    @Test(arguments: [("a\\nb", "a\nb"), (" a", "a")])
    func daemonChangesOtherPassphrases(_ passphrase: String, _ changed: String) throws {
        try service.storeBySecretTool("service", "s", "username", "u", secret: passphrase)
        try service.restart()
        #expect(try service.run("secret-tool", ["lookup", "service", "s"]).stdout == changed)
    }

    @Test func passphrasesThatTheFileCanNotHoldAreRefused() throws {
        for (passphrase, flaw) in [
            ("two\nlines", "lineBreak"), ("a\rb", "lineBreak"), ("end\n\n", "lineBreak"),
            ("a\tb", "controlCharacter"), ("a\u{1B}b", "controlCharacter"),
            ("a\u{7F}", "controlCharacter"), ("a\0b", "controlCharacter"),
            ("a\\nb", "backslash"), ("a\\", "backslash"), (" a", "leadingSpace"),
        ] {
            let result = try store(Array(passphrase.utf8), account: "u")
            #expect(result.status == 1)
            #expect(result.stdout.hasPrefix("unstorablePassphrase("), "\(result.stdout)")
            #expect(result.stdout.contains(flaw), "\(result.stdout)")
        }
        #expect(try service.probe("items", "s").stdout == "")
        try service.restart()
        #expect(try otherSecret == "another's")
    }

    @Test func everyOtherKeySurvivesARestart() throws {
        let passphrases: [[UInt8]] = [
            Array("correct horse  battery ".utf8), Array("\u{A0}ä \u{1F600} \u{2028}".utf8),
            Array("[x]=y;z # \"q\" '{TITLE}' %41 $HOME /".utf8), [0x61, 0xFF, 0xFE],
            [UInt8](repeating: 0x78, count: 60_000),
        ]
        for (index, passphrase) in passphrases.enumerated() {
            let result = try store(passphrase, account: "\(index)")
            #expect(result.status == 0, "\(result.stdout)")
        }
        let digits = (0..<64).map { _ in String(Int.random(in: 0..<16), radix: 16) }.joined()
        #expect(try service.probe("store", "raw", "u", "raw-key", input: digits).status == 0)
        for _ in 0..<2 {
            try service.restart()
            for (index, passphrase) in passphrases.enumerated() {
                let expected = passphrase.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }
                let found = try service.probe("entry", "s", "\(index)").stdout
                #expect(found.hasPrefix("passphrase \(expected.joined())\n"), "\(index)")
            }
            #expect(try service.probe("entry", "raw").stdout.hasPrefix("raw-key \(digits)\n"))
            #expect(try otherSecret == "another's")
            // The file is written anew.
            try service.storeBySecretTool("service", "more", "username", "u", secret: "more")
        }
    }

    /// Labels and attributes are escaped, so nothing needs to be refused of them.
    @Test func labelsAndAttributesWithLineBreaksSurviveARestart() throws {
        #expect(try service.probe("store", "s\nt", "u\nv", "passphrase", input: "p").status == 0)
        try service.restart()
        #expect(try service.probe("entry", "s\nt", "u\nv").stdout.hasPrefix("passphrase 70\n"))
        #expect(try otherSecret == "another's")
    }
}
