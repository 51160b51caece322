import Foundation
import TestSupport
import Testing

/// The tool with a real Secret Service on a private bus.
@Suite struct KeychainTests {
    let tool: Tool

    init() throws {
        tool = try Tool()
        try tool.writeItems()
    }

    private let service = "com.example.\(UInt32.random(in: 1...UInt32.max))"

    /// The command on the store with a key from the keychain.
    private func arguments(_ command: String, _ more: String...) -> [String] {
        [command, "--db-path", tool.database, "--migrations", tool.migrations] + more
    }

    private func run(
        _ arguments: [String],
        in secrets: PrivateSecretService
    ) throws -> ProcessResult {
        var tool = tool
        tool.environment = secrets.environment
        return try tool.run(arguments)
    }

    /// What secret-tool does with what it reads: the line's end stays.
    private func storeKey(in secrets: PrivateSecretService, username: String) throws {
        let stored = try secrets.run(
            "secret-tool",
            ["store", "--label=Test", "service", service, "username", username],
            input: tool.password + "\n"
        )
        #expect(stored.status == 0, "\(stored.stderr)")
    }

    @Test func migratesWithTheKeyThatSecretToolStored() throws {
        let secrets = try PrivateSecretService()
        try storeKey(in: secrets, username: "main")
        let keychain = ["--keychain-service", service, "--keychain-account", "main"]
        let migrated = try run(arguments("migrate") + keychain, in: secrets)
        #expect(migrated.status == 0, "\(migrated.stderr)")
        #expect(migrated.stderr.isEmpty)
        // The account may be left out where the service has one only.
        #expect(
            try run(arguments("status", "--keychain-service", service), in: secrets).status == 0
        )
        // It is the same key as from a file.
        #expect(try tool.onStore("status").status == 0)
    }

    @Test func environmentNamesTheItem() throws {
        let secrets = try PrivateSecretService()
        try storeKey(in: secrets, username: "main")
        var tool = tool
        tool.environment = secrets.environment
        tool.environment["MIGRATIONKIT_KEYCHAIN_SERVICE"] = service
        tool.environment["MIGRATIONKIT_KEYCHAIN_ACCOUNT"] = "main"
        #expect(try tool.run(arguments("migrate")).status == 0)
    }

    @Test func wrongKeyNamesTheItemThatItCameFrom() throws {
        let secrets = try PrivateSecretService()
        try storeKey(in: secrets, username: "main")
        try tool.folder.write("password", "another".utf8)
        #expect(try tool.onStore("migrate").status == 0)
        let result = try run(arguments("status", "--keychain-service", service), in: secrets)
        #expect(result.status == 77)
        #expect(result.stderr.contains("secret store, service \"\(service)\""))
        #expect(!result.stderr.contains(tool.password))
    }

    // MARK: - What Can Be Wrong

    private func expectFailure(
        _ exit: Int32,
        _ code: String,
        saying word: String,
        in secrets: PrivateSecretService,
        _ more: String...,
        sourceLocation: SourceLocation = #_sourceLocation
    ) throws {
        let command = arguments("migrate", "--keychain-service", service) + more
        let before = try tool.folder.snapshot()
        let human = try run(command, in: secrets)
        let json = try run(command + ["--json"], in: secrets)
        #expect(human.status == exit, "\(human.stderr)", sourceLocation: sourceLocation)
        #expect(human.stderr.hasPrefix("error: "), sourceLocation: sourceLocation)
        #expect(human.stderr.contains(word), "\(human.stderr)", sourceLocation: sourceLocation)
        #expect(json.status == exit, sourceLocation: sourceLocation)
        #expect(try json.jsonError()["code"] as? String == code, sourceLocation: sourceLocation)
        #expect(try tool.folder.snapshot() == before, sourceLocation: sourceLocation)
    }

    @Test func missingItem() throws {
        let secrets = try PrivateSecretService()
        try storeKey(in: secrets, username: "main")
        try expectFailure(
            69,
            "keyNotFound",
            saying: "key set --keychain-service",
            in: secrets,
            "--keychain-account",
            "other"
        )
    }

    @Test func severalItems() throws {
        let secrets = try PrivateSecretService()
        try storeKey(in: secrets, username: "main")
        try storeKey(in: secrets, username: "spare")
        try expectFailure(69, "keyAmbiguous", saying: "spare", in: secrets)
    }

    @Test func lockedCollection() throws {
        let secrets = try PrivateSecretService()
        try storeKey(in: secrets, username: "main")
        try secrets.lock()
        // Nobody is there to answer the prompt.
        try expectFailure(77, "promptDismissed", saying: "nlock", in: secrets)
    }

    @Test func noDaemon() throws {
        let secrets = try PrivateSecretService(.noDaemon)
        try expectFailure(69, "noSecretService", saying: "GNOME Keyring", in: secrets)
    }

    @Test func noCollection() throws {
        let secrets = try PrivateSecretService(.noCollection)
        try expectFailure(69, "noCollection", saying: "collection", in: secrets)
    }

    @Test func noBus() throws {
        var tool = tool
        tool.environment["DBUS_SESSION_BUS_ADDRESS"] = "unix:path=\(tool.folder.path("no-bus"))"
        let result = try tool.run(arguments("migrate", "--keychain-service", service, "--json"))
        #expect(result.status == 69)
        #expect(try result.jsonError()["code"] as? String == "noBus")
        #expect(!FileManager.default.fileExists(atPath: tool.database))
    }

    /// Otherwise a mistyped path would ask people to unlock their keyring.
    @Test(
        arguments: [
            ["inspect"], ["verify", "--full"], ["verify"], ["tables"], ["query", "SELECT 1"],
            ["backup", "--output", "new.db"], ["salvage", "--output", "new.db"], ["decrypt"],
            ["rekey", "--new-password-file", "none"], ["upgrade"], ["key", "rotate"],
            ["key", "check"],
        ]
    )
    func fileThatIsNotThereNeedsNoKey(_ words: [String]) throws {
        var tool = tool
        tool.environment["DBUS_SESSION_BUS_ADDRESS"] = "unix:path=\(tool.folder.path("no-bus"))"
        let before = try tool.folder.snapshot()
        let result = try tool.run(
            words + ["--db-path", tool.database, "--keychain-service", service, "--json"]
        )
        #expect(result.status == 66, "\(result)")
        #expect(try result.jsonError()["code"] as? String == "noSuchFile")
        #expect(try tool.folder.snapshot() == before)
    }
}
