import Foundation
import TestSupport
import Testing

/// `key doctor` in the situations in which a key isn't found.
@Suite struct KeyDoctorTests {
    private func findings(
        _ bus: PrivateSecretService,
        status: Int32,
        _ arguments: [String] = [],
        environment: [String: String] = [:],
        sourceLocation: SourceLocation = #_sourceLocation
    ) throws -> [String] {
        var tool = try Tool(environment: bus.environment)
        tool.environment["HOME"] = bus.environment["HOME"]
        tool.environment.merge(environment) { $1 }
        let result = try tool.run(["key", "doctor", "--json"] + arguments)
        #expect(result.status == status, "\(result)", sourceLocation: sourceLocation)
        let found = try #require(try result.json()["findings"] as? [[String: Any]])
        for finding in found where finding["state"] as? String != "ok" {
            let hasStep = finding["nextStep"] is String
            #expect(hasStep, "\(finding)", sourceLocation: sourceLocation)
        }
        return found.map { "\($0["subject"] ?? "") \($0["state"] ?? "")" }
    }

    @Test func allIsWell() throws {
        let bus = try PrivateSecretService()
        #expect(try findings(bus, status: 0) == ["bus ok", "service ok", "collection ok"])
    }

    @Test func noBusNoServiceAndNoCollection() throws {
        let bus = try PrivateSecretService(.noDaemon)
        let nowhere = ["DBUS_SESSION_BUS_ADDRESS": "unix:path=/nonexistent"]
        #expect(try findings(bus, status: 69, environment: nowhere).first == "bus problem")
        let cut = ["SSH_CONNECTION": "x", "SUDO_USER": "x", "DISPLAY": ":1"]
        let found = try findings(bus, status: 69, environment: cut)
        #expect(found.first == "service problem")
        #expect(found.count { $0 == "session warning" } >= 2)
        // In a sandbox the portal is asked.
        #expect(
            try findings(bus, status: 69, environment: ["SNAP": "x"]).prefix(3)
                == ["portal problem", "file note", "session warning"]
        )
        // A key may be in another store.
        try bus.folder.makeFolder("data/kwalletd")
        try bus.folder.write("data/kwalletd/kdewallet.kwl", [])
        #expect(try findings(bus, status: 69).last == "otherStore note")

        let empty = try PrivateSecretService(.noCollection)
        #expect(
            try findings(empty, status: 69).prefix(4)
                == ["bus ok", "service ok", "collection problem", "dialog warning"]
        )
    }

    /// A keyring without a password is text, into which the daemon writes a line break as it is.
    @Test func aKeyringThatIsNotRead() throws {
        let bus = try PrivateSecretService(.noDaemon)
        try bus.folder.makeFolder("data/keyrings")
        let secret = UUID().uuidString
        let lines = [
            "", "[keyring]", "display-name=Login", "lock-on-idle=false", "", "[1]", "item-type=0",
            "display-name=Notes", "secret=\(secret)", "second line", "", "[1:attribute0]",
            "name=service", "type=string", "value=com.example.Notes", "",
        ]
        let file = "data/keyrings/my own.keyring"
        try bus.folder.write(file, lines.joined(separator: "\n").utf8)
        try bus.folder.write("data/keyrings/default", "my own".utf8)
        try bus.restart()
        var tool = try Tool(environment: bus.environment)
        tool.environment["HOME"] = bus.environment["HOME"]
        let result = try tool.run(["key", "doctor"])
        let text = result.stdout.split(separator: " ", omittingEmptySubsequences: true)
            .joined(separator: " ").replacing("\n ", with: " ")
        #expect(text.contains("doesn't read its file"), "\(result)")
        #expect(text.contains("line 10 of it isn't of its form"), "\(result)")
        #expect(!result.stdout.contains(secret) && !result.stderr.contains(secret))

        // What it says to do.
        let mended = lines[..<8] + ["\(lines[8])\\n\(lines[9])"] + lines[10...]
        try bus.folder.write(file, mended.joined(separator: "\n").utf8)
        try bus.restart()
        let again = try tool.run(["key", "doctor"])
        #expect(again.status == 0 && !again.stdout.contains("doesn't read"), "\(again)")
        let found = try bus.run("secret-tool", ["lookup", "service", "com.example.Notes"])
        #expect(found.stdout == "\(secret)\nsecond line")
    }

    /// What is suggested without a default collection, typed as it stands.
    @Test func theDaemonIsStartedAsSuggested() throws {
        let bus = try PrivateSecretService(.noCollection)
        var tool = try Tool(environment: bus.environment)
        tool.environment["HOME"] = bus.environment["HOME"]
        let item = ["--keychain-service", "s", "--keychain-account", "a"]
        let refused = try tool.run(["key", "generate", "--no-prompt", "--json"] + item)
        let hint = try #require(try refused.jsonError()["hint"] as? String, "\(refused)")
        let line = try #require(hint.split(separator: "\n").first { $0.contains("--unlock") })
        let started = try bus.run("/bin/sh", ["-c", String(line)], input: "a password\n")
        #expect(started.status == 0, "\(started)")
        // It answers a moment after the command has ended.
        try bus.awaitDaemon()
        let generated = try tool.run(["key", "generate", "--no-prompt"] + item)
        #expect(generated.status == 0, "\(generated)")
        // The newline wasn't taken for a part of the password.
        try bus.lock()
        #expect(try tool.run(["key", "generate", "--no-prompt"] + item).status == 77)
        #expect(try bus.run("/bin/sh", ["-c", String(line)], input: "a password").status == 0)
        try bus.awaitDaemon()
        #expect(try tool.run(["key", "generate", "--no-prompt"] + item).status == 73)
    }

    @Test func aDatabaseThatIsNotThere() throws {
        let bus = try PrivateSecretService()
        let item = ["--keychain-service", "s", "--keychain-account", "a"]
        let named = item + ["--db-path", bus.folder.path("new.db")]
        #expect(try findings(bus, status: 69, named).last == "key problem")
        var tool = try Tool(environment: bus.environment)
        tool.environment["HOME"] = bus.environment["HOME"]
        #expect(try tool.run(["key", "generate"] + item).status == 0)
        // As before the first 'migrate'.
        #expect(try findings(bus, status: 0, named).last == "key warning")
    }

    @Test func aFormerKeyIsNamed() throws {
        let database = try RotatedDatabase()
        let before = try database.tool.folder.data("store.db")
        #expect(try database.run("key", "rotate").status == 0)
        try before.write(to: URL(filePath: database.tool.database))
        let result = try database.run("key", "doctor")
        #expect(result.status == 69)
        #expect(result.stdout.contains("migrationkit-previous"), "\(result)")
    }

    @Test func locked() throws {
        let bus = try PrivateSecretService()
        try bus.lock()
        #expect(
            try findings(bus, status: 0).prefix(4)
                == ["bus ok", "service ok", "collection warning", "dialog warning"]
        )
        let item = ["--keychain-service", "s", "--keychain-account", "a"]
        #expect(try findings(bus, status: 69, item).last == "key problem")
    }

    @Test func aDatabaseThatIsNotEncryptedIsSaid() throws {
        let bus = try PrivateSecretService()
        let stored = try bus.run(
            "secret-tool",
            ["store", "--label=x", "service", "s", "username", "a"],
            input: "x"
        )
        #expect(stored.status == 0)
        let path = bus.folder.path("plain.db")
        _ = try SQLCipherShell.run(path, key: nil, "CREATE TABLE t (a);")
        let item = ["--keychain-service", "s", "--keychain-account", "a", "--db-path", path]
        #expect(try findings(bus, status: 69, item).last == "key problem")
    }

    @Test(.enabled(if: PrivateKeePassXC.isInstalled, "KeePassXC is not installed"))
    func aProgramThatAnswersBeforeItWrites() throws {
        let keepass = try PrivateKeePassXC()
        #expect(
            try findings(keepass.bus, status: 0).prefix(3)
                == ["bus ok", "service warning", "collection ok"]
        )
    }

    @Test(.enabled(if: PrivateKWallet.isInstalled, "KWallet is not installed"))
    func kWalletIsKnown() throws {
        let wallet = try PrivateKWallet()
        let result = try Tool(environment: wallet.bus.environment).run(["key", "doctor"])
        #expect(result.stdout.contains("ok      KWallet keeps the keys"), "\(result)")
    }
}
