import ArgumentParser
import Foundation

/// Writes the manual, for `make install`. Not in the list of commands: people use `man`.
struct ManualCommand: ContextCommand {
    static var configuration: CommandConfiguration {
        CommandConfiguration(
            commandName: "manual",
            _superCommandName: Program.name,
            abstract: "Print the program's page of the manual, in mdoc.",
            usage: "\(Program.name) manual [--output-dir <folder>]",
            shouldDisplay: false
        )
    }

    @Option(
        help: ArgumentHelp(
            "Write every page into this folder instead, each as NAME.1.",
            valueName: "folder"
        ),
        completion: .directory
    )
    var outputDir: String?

    func run(in context: CommandContext) throws {
        let description = RootCommand._dumpHelp()
        let tool = try JSONDecoder().decode(Tool.self, from: Data(description.utf8))
        let pages = Manual(of: tool.command, date: MigrationCLI.releaseDate).pages
        guard let outputDir else {
            return context.output(String(pages[0].text.dropLast()))
        }
        for page in pages {
            try OutputFile(path: "\(outputDir)/\(page.name).1").write(page.text)
        }
    }

    private struct Tool: Decodable {
        let command: CommandInfo
    }
}
