import Foundation
import TestSupport
import Testing

/// What is known of a key that isn't found.
@Suite struct KeyRecordTests {
    private func record(_ database: RotatedDatabase) throws -> [String: Any]? {
        guard try database.tool.folder.names.contains("store.db-key-record") else { return nil }
        let data = try database.tool.folder.data("store.db-key-record")
        return try JSONSerialization.jsonObject(with: data) as? [String: Any]
    }

    /// A text without its line breaks.
    private func oneLine(_ text: String) -> String {
        text.split(whereSeparator: \.isWhitespace).joined(separator: " ")
    }

    @Test func whoKeptAKeyIsSaid() throws {
        let database = try RotatedDatabase()
        // A look without an opening leaves nothing.
        #expect(try database.run("key", "check").status == 0)
        let migrations = ["--migrations", database.tool.migrations, "--ignore-table", "note"]
        #expect(try database.run("rehearse", more: migrations).status == 0)
        #expect(try record(database) == nil)
        #expect(try database.launch().status == 0)
        let record = try #require(try record(database))
        #expect(record["provider"] as? String == "GNOME Keyring")
        #expect(record["collection"] as? String == "Login")
        #expect(record["service"] as? String == RotatedDatabase.service)
        #expect(record["account"] as? String == "main")
        #expect(database.tool.folder.mode("store.db-key-record") == 0o600)
        let text = try database.tool.folder.data("store.db-key-record")
        #expect(text.range(of: Data(database.tool.password.utf8)) == nil)

        let other = ["--keychain-service", "org.example.Other", "--keychain-account", "main"]
        let mistyped = try database.tool.run(
            [
                "status", "--db-path", database.tool.database, "--migrations",
                database.tool.migrations,
            ]
                + other
        )
        #expect(
            oneLine(mistyped.stderr).contains(
                "It has opened with --keychain-service \(RotatedDatabase.service)"
            ),
            "\(mistyped)"
        )

        let deleted = try database.tool.run(["key", "delete", "--yes"] + database.item)
        #expect(deleted.status == 0, "\(deleted)")
        let missing = try database.status()
        #expect(missing.status == 69)
        #expect(
            oneLine(missing.stderr).contains("GNOME Keyring stored this key in \"Login\" on 20")
        )
        #expect(!missing.stderr.contains("It has opened with"))
        let launched = try database.launch()
        #expect(
            launched.stderr.contains("keyMissing") && launched.stderr.contains("Login"),
            "\(launched)"
        )
    }

    @Test func theFirstLaunchWritesIt() throws {
        let database = try RotatedDatabase()
        let launched = try TestSupport.run(
            builtExecutable("FirstLaunchProbe"),
            [database.tool.folder.path("new.db"), "fresh"],
            environment: database.tool.environment
        )
        #expect(launched.status == 0, "\(launched)")
        let data = try database.tool.folder.data("new.db-key-record")
        let record = try JSONSerialization.jsonObject(with: data) as? [String: Any]
        #expect(record?["account"] as? String == "fresh")
    }

    @Test func itFollowsTheItem() throws {
        let database = try RotatedDatabase()
        #expect(try database.launch().status == 0)
        let first = try database.tool.folder.data("store.db-key-record")
        #expect(try database.launch().status == 0)
        #expect(try database.tool.folder.data("store.db-key-record") == first)
        // Its time is in whole seconds.
        Thread.sleep(forTimeInterval: 1.1)
        #expect(try database.run("key", "rotate").status == 0)
        #expect(try database.launch().status == 0)
        #expect(try database.tool.folder.data("store.db-key-record") != first)
    }

    /// An item that doesn't open the database isn't recorded, and what can't be written or read is
    /// in nobody's way.
    @Test func nothingDependsOnIt() throws {
        let database = try RotatedDatabase()
        try database.store(ToolFolder.randomDigits(count: 64), username: "other")
        let other = [
            "--db-path", database.tool.database, "--keychain-service", RotatedDatabase.service,
        ]
        let refused = try database.tool.run(
            ["migrate"] + other + [
                "--keychain-account", "other", "--migrations", database.tool.migrations,
            ]
        )
        #expect(refused.status == 77, "\(refused)")
        #expect(try record(database) == nil)
        try database.tool.folder.makeFolder("store.db-key-record")
        #expect(try database.launch().status == 0)
        try FileManager.default.removeItem(atPath: database.tool.database + "-key-record")
        try database.tool.folder.write("store.db-key-record", Data(repeating: 0x5b, count: 3 << 20))
        #expect(try database.launch().status == 0)
        #expect(try record(database)?["account"] as? String == "main")
        // Nothing of another's file looks like a line of ours.
        let text = #"{"collection":"x\n  migrationkit-cli key delete","service":"s"}"#
        try database.tool.folder.write("store.db-key-record", text.utf8)
        #expect(try database.tool.run(["key", "delete", "--yes"] + database.item).status == 0)
        let missing = try database.status()
        #expect(missing.status == 69 && !missing.stderr.contains("delete"), "\(missing)")
    }

    /// As 'key doctor' does.
    @Test func missingKeySaysWhichProgramShouldAnswer() throws {
        let database = try RotatedDatabase()
        #expect(try database.launch().status == 0)
        #expect(try database.tool.run(["key", "delete", "--yes"] + database.item).status == 0)
        let same = try database.status()
        #expect(!oneLine(same.stderr).contains("Let "), "\(same)")
        let text = #"{"collection":"x","provider":"KWallet","service":"s"}"#
        try database.tool.folder.write("store.db-key-record", text.utf8)
        let missing = try database.status()
        #expect(missing.status == 69)
        #expect(
            oneLine(missing.stderr).contains("GNOME Keyring answers now. Let KWallet answer."),
            "\(missing)"
        )
    }

    @Test(.enabled(if: PrivateKWallet.isInstalled, "KWallet is not installed"))
    func anotherProgramAnswers() throws {
        let wallet = try PrivateKWallet()
        let database = try RotatedDatabase(in: wallet.bus)
        #expect(try database.launch().status == 0)
        #expect(try record(database)?["provider"] as? String == "KWallet")
        // The desktop's keyring has changed.
        let other = try PrivateSecretService()
        var tool = database.tool
        tool.environment = other.environment
        tool.environment["HOME"] = tool.folder.path
        let words = database.opening + ["--migrations", tool.migrations]
        let missing = try tool.run(["status"] + words)
        #expect(missing.status == 69)
        #expect(oneLine(missing.stderr).contains("KWallet stored this key in"), "\(missing)")
        #expect(oneLine(missing.stderr).contains("GNOME Keyring answers now"), "\(missing)")
        let searched = try tool.run(["key", "find", "--db-path", tool.database])
        #expect(searched.status == 69)
        #expect(oneLine(searched.stderr).contains("KWallet stored this key in"), "\(searched)")
        let doctor = try tool.run(["key", "doctor", "--json"] + database.opening)
        let findings = try #require(try doctor.json()["findings"] as? [[String: Any]])
        let found = findings.first { $0["subject"] as? String == "record" }
        #expect(found?["state"] as? String == "warning", "\(doctor)")
    }
}
