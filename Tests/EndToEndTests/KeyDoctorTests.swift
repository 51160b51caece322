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
        #expect(found.contains("dialog ok"))
        #expect(found.count { $0 == "session warning" } >= 2)
        // In a sandbox the portal is asked.
        #expect(
            try findings(bus, status: 69, environment: ["SNAP": "x"]).prefix(4)
                == ["portal problem", "file note", "dialog warning", "session warning"]
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
