import Foundation
import GRDB
import MigrationKitGRDB

/// What a command works with, beside its options.
struct CommandContext: Sendable {
    let host: MigrationCLIHost
    let environment: [String: String]

    /// Takes results, a line or several at a time.
    let output: @Sendable (String) -> Void

    /// Takes everything else.
    let errorOutput: @Sendable (String) -> Void

    /// Whether somebody sits at a terminal: there may be prompts and progress.
    let isInteractive: Bool

    func open(
        _ options: DatabaseOptions,
        createsFile: Bool = false
    ) throws -> (writer: any DatabaseWriter, path: String?) {
        if options.password != nil {
            errorOutput(
                """
                warning: --password can be seen by others on this machine and stays in the shell's \
                history; prefer --keychain-service or --password-file
                """
            )
        }
        let resolved = try options.resolved(
            environment: environment,
            createsFile: createsFile,
            canPrompt: isInteractive
        )
        return (try host.openWriter(resolved), resolved.dbPath)
    }

    func printJSON(_ document: some Encodable) throws {
        output(try JSON.text(of: document))
    }
}

/// A command of ours: it runs in a context instead of taking things from the process.
protocol ContextCommand: ParsableCommand {
    func run(in context: CommandContext) throws
}

extension ContextCommand {
    /// `MigrationCLI.run` gives the context, and calls the other one.
    func run() throws {
        throw CleanExit.helpRequest(self)
    }
}
