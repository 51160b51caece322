import ArgumentParser
import Foundation

/// Prints the manual page, for `make install`. Not in the list of commands: people use `man`.
struct ManualCommand<Migrations: MigrationsOptions>: ContextCommand {
    static var configuration: CommandConfiguration {
        CommandConfiguration(
            commandName: "manual",
            _superCommandName: Migrations.programName,
            abstract: "Print the manual page, in mdoc.",
            usage: "\(Migrations.programName) manual",
            shouldDisplay: false
        )
    }

    func run(in context: CommandContext) throws {
        let description = RootCommand<Migrations>._dumpHelp()
        let tool = try JSONDecoder().decode(Tool.self, from: Data(description.utf8))
        let page = ManualPage(of: tool.command, date: MigrationCLI.releaseDate)
        context.output(String(page.text.dropLast()))
    }

    private struct Tool: Decodable {
        let command: CommandInfo
    }
}
