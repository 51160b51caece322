import ArgumentParser
import Foundation

/// The command line: `migrate`, `status`, `rollback`, `verify` and `schema-dump`.
///
/// A program with steps of its own becomes a migration tool in one line:
///
/// ```swift
/// MigrationCLI.main(host: MigrationCLIHost(runner: runner, openWriter: openWriter))
/// ```
public enum MigrationCLI {
    /// The version of MigrationKit.
    public static let version = "0.1.0"

    /// Runs one command, and throws what goes wrong.
    ///
    /// - Parameters:
    ///   - arguments: The arguments, with or without the program's name at the front.
    ///   - host: The program that the command line is part of.
    ///   - output: Takes results and help texts, a line or several at a time.
    ///   - errorOutput: Takes warnings.
    /// - Throws: An error of ArgumentParser's for arguments that can't be understood;
    ///   ``MigrationCLIError``; ``MigrationStepFailure``; ``MigrationVerificationFailure``; and
    ///   what opening the database, its key, or the runner throws. ``exitCode(for:)`` gives the
    ///   exit code of each.
    public static func run(
        arguments: [String],
        host: MigrationCLIHost,
        output: @escaping @Sendable (String) -> Void = { print($0) },
        errorOutput: @escaping @Sendable (String) -> Void = { StandardError.write($0) }
    ) throws {
        try run(
            arguments: arguments,
            context: CommandContext(
                host: host,
                environment: ProcessInfo.processInfo.environment,
                output: output,
                errorOutput: errorOutput,
                canPrompt: false,
                showsProgress: false,
                endsOnSignals: false
            )
        )
    }

    /// Runs one command as a whole program: prints what goes wrong, and exits.
    ///
    /// A `--password` is wiped from the arguments that other users see before anything else is
    /// done.
    ///
    /// - Parameters:
    ///   - arguments: The arguments, with or without the program's name at the front.
    ///   - host: The program that the command line is part of.
    public static func main(
        arguments: [String] = CommandLine.arguments,
        host: MigrationCLIHost
    ) -> Never {
        ProcessArguments.scrubPassword()
        let context = CommandContext(
            host: host,
            environment: ProcessInfo.processInfo.environment,
            output: { print($0) },
            errorOutput: { StandardError.write($0) },
            canPrompt: true,
            showsProgress: StandardError.isTerminal,
            endsOnSignals: true
        )
        do {
            try run(arguments: arguments, context: context)
            exit(0)
        } catch {
            let failure = Failure(error, parser: parser(for: host))
            if arguments.contains("--json"), let document = try? JSON.text(of: failure.document) {
                context.errorOutput(document)
            } else {
                context.errorOutput(failure.text(keySource: context.keySource.noted))
            }
            exit(failure.exitCode)
        }
    }

    /// The exit code for an error that ``run(arguments:host:output:errorOutput:)`` has thrown.
    ///
    /// - Parameter error: The error.
    /// - Returns: The code that the documentation of the tool gives for it.
    public static func exitCode(for error: any Error) -> Int32 {
        Failure(error, parser: RootCommand<HostMigrations>.self).exitCode
    }

    // MARK: -

    private static func run(arguments: [String], context: CommandContext) throws {
        let parser = parser(for: context.host)
        let names = parser.configuration.subcommands.compactMap { $0.configuration.commandName }
        do {
            var command = try parser.parseAsRoot(withoutProgramName(arguments, commands: names))
            if let command = command as? any ContextCommand {
                try command.run(in: context)
            } else {
                // The root and `help` have nothing to do but to throw a help text.
                try command.run()
            }
        } catch {
            // What was asked for was the help or the version, which is an error of the parser's.
            guard parser.exitCode(for: error) == .success else { throw error }
            context.output(parser.fullMessage(for: error))
        }
    }

    private static func parser(for host: MigrationCLIHost) -> any ParsableCommand.Type {
        switch host.migrations {
        case .runner: RootCommand<HostMigrations>.self
        case .folder: RootCommand<FolderMigrations>.self
        }
    }

    /// Drops a leading program's name: what is no command of ours, where what follows is one.
    private static func withoutProgramName(
        _ arguments: [String],
        commands: [String]
    ) -> [String] {
        guard let first = arguments.first, !first.hasPrefix("-"), !commands.contains(first),
            first != "help"
        else { return arguments }
        let rest = Array(arguments.dropFirst())
        let isName =
            first == CommandLine.arguments.first
            || rest.first.map { commands.contains($0) || $0.hasPrefix("-") || $0 == "help" } == true
        return isName ? rest : arguments
    }
}
