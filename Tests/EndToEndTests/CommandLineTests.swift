import Foundation
import TestSupport
import Testing

/// What the process itself makes of its arguments. All that these lead to is tested without a
/// process, in `MigrationKitCLITests`.
@Suite struct CommandLineTests {
    @Test func helpIsStandardOutput() throws {
        var tool = try Tool()
        let help = try tool.run("status", "--help")
        #expect(help.status == 0)
        #expect(help.stderr.isEmpty)
        try expectSnapshot(help.stdout, at: ToolCommands.helpSnapshot(["status"]))
        tool.environment["COLUMNS"] = "40"
        let narrow = try tool.run("status", "--help").stdout
        #expect(narrow.split { $0.isWhitespace } == help.stdout.split { $0.isWhitespace })
        #expect(narrow.split(separator: "\n").count > help.stdout.split(separator: "\n").count)
    }

    @Test func wrongUsageIsStandardErrorAndAnExitCode() throws {
        let people = try Tool().run("migrat")
        #expect(people.status == 64)
        #expect(people.stdout.isEmpty)
        #expect(
            people.stderr == "error: there is no command 'migrat'\n  Did you mean 'migrate'?\n"
        )
        let programs = try Tool().run("migrate", "--bogus", "--json")
        #expect(programs.status == 64)
        #expect(programs.stdout.isEmpty)
        #expect(try programs.jsonError()["code"] as? String == "usage")
    }

    @Test func aSourceOfTheKeyIsRefusedByItsPlaceOnTheCommandLine() throws {
        let tool = try Tool()
        try tool.writeItems()
        let result = try tool.run(
            "status",
            "--migrations",
            tool.migrations,
            "--db-path",
            "x",
            "--password",
            "hush",
            "--password-fd",
            "3"
        )
        #expect(result.status == 64)
        #expect(result.stderr.contains(": --password, --password-fd\n"), "\(result)")
        #expect(!result.description.contains("hush"))
    }

    @Test(arguments: ["generate", "set"]) func storingAKeyWantsBothNames(_ command: String) throws {
        for (option, missing) in [
            ("--keychain-service", "--keychain-account"),
            ("--keychain-account", "--keychain-service"),
        ] {
            let result = try Tool().run("key", command, option, "x", "--json")
            #expect(result.status == 64)
            #expect(try result.jsonError()["code"] as? String == "noItemNamed")
            let message = try #require(try result.jsonError()["message"] as? String)
            #expect(message.contains(missing))
        }
    }

    /// In processes without a bus: a tool that took these words would reach somebody's keyring.
    @Test func commandsOfKeysWantTheirOptions() throws {
        let tool = try Tool()
        let item = ["--keychain-service", "s", "--keychain-account", "main"]
        let file = tool.folder.path("password")
        let keys = ["--password-file", file, "--password-fd", "0"]
        let two = try tool.run(["key", "set"] + item + keys)
        #expect(two.status == 64)
        #expect(two.stderr.contains("--password-file, --password-fd"))
        let none = try tool.run(["key", "set", "--json"] + item)
        #expect(none.status == 64)
        #expect(try none.jsonError()["code"] as? String == "noKey")
        #expect(try tool.run(["key", "check"] + item).status == 64)
        #expect(try tool.run("key", "check", "--db-path", tool.database).status == 64)
        #expect(try tool.run(["key", "list", "--all"] + item.prefix(2)).status == 64)
    }
}
