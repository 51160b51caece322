import TestSupport
import Testing

@testable import MigrationKitCLI

@Suite struct CommandNameTests {
    @Test(arguments: [
        (["migrat"], "migrat", "migrate"), (["migrat", "--db-path", "x"], "migrat", "migrate"),
        (["STATUS"], "STATUS", "status"), (["shema-dump"], "shema-dump", "schema-dump"),
        (["key", "generat"], "generat", "generate"), (["key", "lits", "--all"], "lits", "list"),
        (["help", "migrat"], "migrat", "migrate"), (["help", "key", "st"], "st", "set"),
    ])
    func mistypedCommandNamesTheNearest(
        _ arguments: [String],
        _ typed: String,
        _ meant: String
    ) {
        let result = ToolInProcess().run(arguments)
        #expect(result.status == 64)
        #expect(result.stdout.isEmpty)
        #expect(
            result.stderr == "error: there is no command '\(typed)'\n  Did you mean '\(meant)'?\n"
        )
    }

    @Test func farFetchedCommandIsNotGuessed() throws {
        let result = ToolInProcess().run("deploy", "--json")
        #expect(result.status == 64)
        let error = try result.jsonError()
        #expect(error["code"] as? String == "unknownCommand")
        #expect(error["message"] as? String == "there is no command 'deploy'")
        #expect(error["hint"] as? String == "--help lists the commands.")
    }

    @Test func whatMovesTheCursorIsNotRepeated() {
        #expect(!ToolInProcess().run("\u{1B}[2J").stderr.contains("\u{1B}"))
    }

    @Test func mistypedOptionNamesTheNearest() {
        let result = ToolInProcess().run("status", "--db-pth", "x")
        #expect(result.status == 64)
        #expect(result.stderr.contains("Did you mean '--db-path'?"), "\(result)")
    }

    @Test(arguments: [
        ("up", "migrate"), ("latest", "migrate"), ("down", "rollback"), ("revert", "rollback"),
        ("new", "create"), ("ls", "status"), ("version", "status"), ("log", "history"),
        ("setup", "init"), ("check", "verify"), ("dump", "schema-dump"), ("load", "schema-load"),
        ("rotate", "key rotate"), ("keygen", "key generate"),
        ("config", "status --show-settings"),
    ])
    func otherToolsNamesLeadToOurs(_ typed: String, _ meant: String) {
        let result = ToolInProcess().run(typed)
        #expect(result.status == 64)
        #expect(result.stderr.contains("Did you mean '\(meant)'?"), "\(result)")
        let words = meant.split(separator: " ").map(String.init).filter { !$0.hasPrefix("-") }
        #expect(ToolCommands.words.contains(words), "what is suggested is no command")
    }

    /// Otherwise ArgumentParser would parse the words of a command three times.
    @Test func everyCommandNamesItsProgram() {
        var commands = RootCommand.configuration.subcommands
        while let command = commands.popLast() {
            let configuration = command.configuration
            commands += configuration.subcommands
            guard configuration.subcommands.isEmpty else { continue }
            #expect(configuration._superCommandName == "migrationkit-cli", "\(command)")
        }
    }
}
