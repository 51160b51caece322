import ArgumentParser

struct CompletionsCommand: ContextCommand {
    static var configuration: CommandConfiguration {
        let name = Program.name
        return CommandConfiguration(
            commandName: "completions",
            _superCommandName: Program.name,
            abstract: "Print the completion script for a shell.",
            usage: "\(name) completions <shell>",
            discussion: """
                For bash, with the package bash-completion:
                  \(name) completions bash \\
                    > ~/.local/share/bash-completion/completions/\(name)
                For bash without it, in ~/.bashrc:
                  source <(\(name) completions bash)
                For zsh, into a folder of $fpath, before compinit runs:
                  \(name) completions zsh > ~/.zfunc/_\(name)
                For fish:
                  \(name) completions fish \\
                    > ~/.config/fish/completions/\(name).fish
                """
        )
    }

    @Argument(help: ArgumentHelp("bash, zsh or fish.", valueName: "shell"))
    var shell: Shell

    enum Shell: String, CaseIterable, ExpressibleByArgument {
        case bash, zsh, fish

        var completionShell: CompletionShell {
            switch self {
            case .bash: .bash
            case .zsh: .zsh
            case .fish: .fish
            }
        }
    }

    @Flag(name: .shortAndLong, help: .quiet)
    var quiet = false

    var isReport: Bool { true }

    func run(in context: CommandContext) throws {
        context.output(RootCommand.completionScript(for: shell.completionShell))
    }
}
