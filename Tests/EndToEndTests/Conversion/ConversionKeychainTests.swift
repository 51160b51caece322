import Foundation
import TestSupport
import Testing

/// Keys that databases get, and backups, from a real Secret Service on a private bus.
@Suite struct ConversionKeychainTests {
    private let tool: Tool
    private let secrets: PrivateSecretService
    private let service = "com.example.\(UInt32.random(in: 1...UInt32.max))"
    private let newKey = ToolFolder.randomDigits(count: 64)

    init() throws {
        secrets = try PrivateSecretService()
        tool = try Tool(environment: secrets.environment, isRawKey: true)
        for (account, key) in [("main", tool.password), ("main-2", newKey)] {
            let stored = try secrets.run(
                "secret-tool",
                ["store", "--label=Test", "service", service, "username", account],
                input: key
            )
            #expect(stored.status == 0, "\(stored)")
        }
    }

    private func old(_ account: String = "main") -> [String] {
        [
            "--db-path", tool.database, "--raw-key", "--keychain-service", service,
            "--keychain-account", account,
        ]
    }

    private func new(_ account: String = "main-2") -> [String] {
        [
            "--new-raw-key", "--new-keychain-service", service, "--new-keychain-account", account,
        ]
    }

    private func row(_ path: String? = nil, key: String) throws -> String {
        try SQLCipherShell.run(path ?? tool.database, key: "x'\(key)'", "SELECT a FROM t;")
    }

    @Test func encryptAndRekeyTakeTheirKeysFromTheKeychain() throws {
        _ = try SQLiteShell.run(
            tool.database,
            "CREATE TABLE t (a); INSERT INTO t VALUES ('zettel');"
        )
        let encrypted = try tool.run(["encrypt"] + old())
        #expect(encrypted.status == 0, "\(encrypted)")
        #expect(try row(key: tool.password) == "zettel")

        let rekeyed = try tool.run(["rekey"] + old() + new())
        #expect(rekeyed.status == 0, "\(rekeyed)")
        #expect(try row(key: newKey) == "zettel")

        let backup = tool.folder.path("backup.db")
        let backedUp = try tool.run(["backup", "--output", backup] + old("main-2") + new("main"))
        #expect(backedUp.status == 0, "\(backedUp)")
        #expect(try row(backup, key: tool.password) == "zettel")
        let restored = try tool.run(["restore", "--yes", "--from", backup] + old() + new())
        #expect(restored.status == 0, "\(restored)")
        #expect(try row(key: newKey) == "zettel")
    }

    @Test func newKeyThatIsNotThereChangesNothing() throws {
        _ = try tool.shell("CREATE TABLE t (a); INSERT INTO t VALUES ('zettel');")
        let before = try tool.folder.snapshot()
        // Both match without an account.
        let cases: [(arguments: [String], code: String, exit: Int32)] = [
            (new("main-3"), "keyNotFound", 69),
            (Array(new().prefix(3)), "keyAmbiguous", 69),
            (
                new() + ["--new-password-file", tool.folder.path("password")], "severalKeySources",
                64
            ),
        ]
        for command in ["rekey", "backup"] {
            let output = command == "backup" ? ["--output", tool.folder.path("backup.db")] : []
            for (arguments, code, exit) in cases {
                let result = try tool.run(
                    [command] + tool.opening + output + arguments + ["--json"]
                )
                #expect(result.status == exit, "\(result)")
                #expect(try result.jsonError()["code"] as? String == code)
            }
        }
        try secrets.lock()
        let locked = try tool.run(["rekey"] + tool.opening + new() + ["--no-prompt", "--json"])
        #expect(locked.status == 77, "\(locked)")
        #expect(try locked.jsonError()["code"] as? String == "collectionLocked")
        #expect(try tool.folder.snapshot() == before)
    }
}
