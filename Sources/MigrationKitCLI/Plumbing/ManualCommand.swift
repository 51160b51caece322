import ArgumentParser
import Foundation

/// Prints the manual page, for `make install`. Not in the list of commands: people say `man`.
struct ManualCommand<Migrations: MigrationsOptions>: ContextCommand {
    static var configuration: CommandConfiguration {
        CommandConfiguration(
            commandName: "manual",
            abstract: "Print the manual page, in mdoc.",
            usage: "\(Migrations.programName) manual",
            shouldDisplay: false
        )
    }

    func run(in context: CommandContext) throws {
        let description = RootCommand<Migrations>._dumpHelp()
        let tool = try JSONDecoder().decode(Tool.self, from: Data(description.utf8))
        context.output(String(ManualPage(of: tool.command).text.dropLast()))
    }

    private struct Tool: Decodable {
        let command: CommandInfo
    }
}
