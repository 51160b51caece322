import Foundation
import TestSupport
import Testing

/// A settings file that names an item of the Secret Service.
@Suite struct SettingsKeychainTests {
    var here: SettingsFolder
    let secrets: PrivateSecretService

    init() throws {
        here = try SettingsFolder()
        secrets = try PrivateSecretService()
        here.tool.environment = secrets.environment
    }

    private func writeSettings(_ more: String...) throws {
        try here.folder.write(
            "migrationkit.toml",
            (["db-path = 'notes.db'", "keychain-service = 'com.example.Notes'"] + more)
                .joined(separator: "\n").utf8
        )
    }

    @Test func keyIsMadeAndOpensTheDatabase() throws {
        try writeSettings("keychain-account = 'main'")
        #expect(try here.run("key", "generate").status == 0)
        #expect(try here.run("migrate").status == 0)
        #expect(try here.run("verify").status == 0)
        let check = try here.run("key", "check", "--json").json()
        #expect(
            check["keySource"] as? String
                == "secret store, service \"com.example.Notes\", username \"main\""
        )
        #expect(try here.run("key", "show").stdout.contains("com.example.Notes"))
        #expect(try here.run("key", "list").stdout.contains("com.example.Notes"))
        #expect(try here.run("key", "delete", "--yes").status == 0)
        #expect(try here.run("status").status == 69)
    }

    @Test func optionAndEnvironmentNameAnotherAccount() throws {
        try writeSettings("keychain-account = 'main'")
        #expect(try here.run("key", "generate", "--keychain-account", "option").status == 0)
        var here = here
        here.tool.environment["MIGRATIONKIT_KEYCHAIN_ACCOUNT"] = "environment"
        #expect(try here.run("key", "generate").status == 0)
        let list = try here.run("key", "list", "--json").json()
        let accounts = try #require(list["items"] as? [[String: Any]])
            .compactMap { $0["account"] as? String }
        #expect(accounts.sorted() == ["environment", "option"])
    }

    @Test func accountOfTheFileIsNotThatOfAnotherService() throws {
        try writeSettings("keychain-account = 'main'")
        // An account would be found; which one was meant is not the file's to say.
        let result = try here.run("key", "generate", "--keychain-service", "other")
        #expect(result.status == 64)
        #expect(result.stderr.contains("--keychain-account is missing"))
    }

    @Test func strongerSourcesSetTheFilesAside() throws {
        try writeSettings("keychain-account = 'main'", "keychain-collection = 'nowhere'")
        #expect(
            try here.run("migrate", "--password-file", "password", "--raw-key").status == 0
        )
        var here = here
        here.tool.environment["MIGRATIONKIT_PASSWORD_FILE"] = here.folder.path("password")
        #expect(try here.run("status", "--raw-key").status == 0)
        here.tool.environment["MIGRATIONKIT_PASSWORD_FILE"] = nil
        here.tool.environment["MIGRATIONKIT_PASSWORD"] = here.tool.password
        #expect(try here.run("status", "--raw-key").status == 0)
        here.tool.environment["MIGRATIONKIT_PASSWORD"] = nil
        here.tool.environment["CREDENTIALS_DIRECTORY"] = try here.folder.makeFolder("credentials")
        try here.folder.write("credentials/migrationkit-password", here.tool.password.utf8)
        #expect(try here.run("status", "--raw-key").status == 0)
        here.tool.environment["CREDENTIALS_DIRECTORY"] = nil
        // And without one, the file's collection is looked for.
        #expect(try here.run("status", "--json").status == 69)
        // A database in the clear has no key.
        let plain = try here.run("migrate", "--no-encryption", "--db-path", "plain.db")
        #expect(plain.status == 0, "\(plain)")
    }

    @Test func accountOptionAsksForTheFilesItem() throws {
        try writeSettings()
        #expect(try here.run("key", "generate", "--keychain-account", "main").status == 0)
        var here = here
        here.tool.environment["MIGRATIONKIT_PASSWORD"] = "another"
        #expect(try here.run("migrate", "--keychain-account", "main").status == 0)
        #expect(try here.run("status").status == 77)
    }

    @Test func listingAllIsNotNarrowedByTheFile() throws {
        try writeSettings()
        #expect(
            try here.run(
                "key",
                "generate",
                "--keychain-service",
                "other",
                "--keychain-account",
                "a"
            ).status == 0
        )
        try writeSettings("keychain-collection = 'nowhere'")
        #expect(try here.run("key", "list", "--all").stdout.contains("other"))
    }

    @Test func timeLimitIsTheOneThatWins() throws {
        try writeSettings("keychain-timeout = 0.4")
        let page = (0..<4096).map { _ in UInt8.random(in: 1...255) }
        try here.tool.folder.write("notes.db", page)
        secrets.suspend()
        defer { secrets.resume() }
        for command in [["status"], ["key", "list"]] {
            let byFile = try here.run(command)
            #expect(byFile.status == 69)
            #expect(byFile.stderr.contains("0.4 seconds"), "\(byFile)")
            let byOption = try here.run(command + ["--keychain-timeout", "0.2"])
            #expect(byOption.stderr.contains("0.2 seconds"), "\(byOption)")
        }
    }
}
