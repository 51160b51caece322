import TestSupport
import Testing

@testable import MigrationKitCLI

@Suite struct CommandNameTests {
    @Test(arguments: [
        (["migrat"], "migrat", "migrate"), (["migrat", "--db-path", "x"], "migrat", "migrate"),
        (["STATUS"], "STATUS", "status"), (["shema-dump"], "shema-dump", "schema-dump"),
        (["key", "generat"], "generat", "key generate"),
        (["key", "lits", "--all"], "lits", "key list"),
        (["help", "migrat"], "migrat", "migrate"), (["help", "key", "st"], "st", "key set"),
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
