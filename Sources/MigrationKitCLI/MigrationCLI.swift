import ArgumentParser
import CKeyStore
import CSQLCipher
import Foundation
import MigrationKitCommon
import MigrationKitSQLCipher

/// The command line: `migrate`, `status`, `rollback`, `verify`, `schema-dump`, `schema-diff`, `key`
/// and the rest.
///
/// Values that the options don't give come from the environment, and then from a settings file: the
/// `migrationkit.toml` of the working folder or of one above it, or the one that `--config` names.
///
/// A program with its own steps becomes a migration tool in one line:
///
/// ```swift
/// MigrationCLI.main(host: MigrationCLIHost(runner: runner, store: store))
/// ```
public enum MigrationCLI {
    /// The version of MigrationKit.
    public static let version = "0.1.0"

    /// The day of that version's release, for the manual page.
    static let releaseDate = "November 21, 2026"

    /// Runs one command, and throws its error.
    ///
    /// - Parameters:
    ///   - arguments: The arguments, with or without the program's name at the front.
    ///   - host: The program that the command line is part of.
    ///   - output: Receives results and help texts, one or more lines at a time.
    ///   - errorOutput: Receives warnings.
    /// - Throws: An error of ArgumentParser for invalid arguments; ``MigrationCLIError``;
    ///   ``SettingsFileError``; ``MigrationStepFailure``; ``CommandError``; and errors of opening the
    ///   database, its key, or the runner. ``exitCode(for:)`` returns the exit code of each.
    public static func run(
        arguments: [String],
        host: MigrationCLIHost,
        output: @escaping @Sendable (String) -> Void = { print($0) },
        errorOutput: @escaping @Sendable (String) -> Void = { StandardError.write($0) }
    ) throws {
        try run(
            arguments: withoutProgramName(arguments, host: host),
            context: CommandContext(
                host: host,
                environment: ProcessEnvironment(wipesPasswords: false),
                output: output,
                errorOutput: errorOutput,
                canPrompt: false,
                reveal: { secret in
                    output(secret.unwipableText)
                },
                showsProgress: false
            )
        )
    }

    /// Runs one command as a whole program: prints its error, and exits.
    ///
    /// First, memory dumps of the process are forbidden, and `--password` and the variables
    /// `MIGRATIONKIT_PASSWORD` and `MIGRATIONKIT_PASSWORD_FILE` are wiped where other processes can
    /// see them. If the program has read `CommandLine.arguments` before, its copies can't be wiped.
    /// SQLite's memory statistics and heap limits are turned off, unless the program has used
    /// SQLite before.
    ///
    /// - Parameters:
    ///   - arguments: The arguments, with or without the program's name at the front; `nil` for
    ///     those of the process.
    ///   - host: The program that the command line is part of.
    public static func main(
        arguments: [String]? = nil,
        host: MigrationCLIHost
    ) -> Never {
        _ = ckeystore_forbid_dumps()
        // The steps of a program are its own.
        let process = Result { () -> LimitedProcess? in
            guard arguments == nil, case .folder = host.migrations else { return nil }
            return try LimitedProcess.start()
        }
        let limits = (try? process.get())?.limits
        _ = csqlcipher_turn_off_memory_statistics()
        limits?.limitSQLite()
        EncryptedDatabase.guardConnections(limitsMemory: true)
        Terminal.keepClosedOutputsClosed()
        // If the reader closes the output, the command continues.
        signal(SIGPIPE, SIG_IGN)
        // Exceeding the file size limit is an error, like a full disk.
        signal(SIGXFSZ, SIG_IGN)
        let password = ProcessArguments.takePassword()
        let environment = ProcessEnvironment(wipesPasswords: true)

        let words =
            arguments.map { withoutProgramName($0, host: host) }
            ?? Array(CommandLine.arguments.dropFirst())
        let output = StandardOutput()
        var context = CommandContext(
            host: host,
            environment: environment,
            // A caller's own arguments may differ from those of the process.
            passwordArgument: arguments == nil ? password : nil,
            output: { output.write($0) },
            write: { output.write($0) },
            errorOutput: { [style = Style(on: STDERR_FILENO)] in
                StandardError.write(style.message($0))
            },
            canPrompt: true,
            ownsDescriptors: true,
            outputIsTerminal: Terminal.isOutput,
            messageForm: MessageForm(columns: Terminal.errorColumns),
            style: Style(on: STDOUT_FILENO),
            reveal: { output.reveal($0) },
            showsProgress: StandardError.isTerminal,
            writesNotes: !asksForJSON(words)
        )
        context.reportEnd = { [context] in report($0, in: context) }
        do {
            if let status = try process.get()?.wait() { exit(status) }
            do {
                if arguments == nil { try ProcessArguments.checkText() }
                try environment.checkText()
                try run(arguments: words, context: context)
            } catch {
                // Losing the result is an error, but an earlier error takes precedence.
                do { try output.flush() } catch let lost where !lost.isBrokenPipe {
                    context.warning(lost.localizedDescription)
                } catch {}
                throw error
            }
            try output.flush()
            exit(0)
        } catch let error as StandardOutputError where error.isBrokenPipe {
            // Exit as if the signal had ended the process, now that there is nothing left to do.
            exit(128 + SIGPIPE)
        } catch {
            exit(report(error, in: context))
        }
    }

    /// Prints an error, as JSON if that is asked for.
    ///
    /// - Returns: Its exit code.
    static func report(_ error: any Error, in context: CommandContext) -> Int32 {
        let failure = Program.$host.withValue(context.host) {
            Failure(error, parser: RootCommand.self, database: context.database.noted)
        }
        let keySource = context.keySource.noted
        let document = failure.document(keySource: keySource)
        if !context.writesNotes, let text = try? JSON.text(of: document) {
            context.errorOutput(text)
        } else {
            context.errorOutput(failure.text(keySource: keySource, form: context.messageForm))
        }
        return failure.exitCode
    }

    /// Whether the arguments, which may be wrong, ask for JSON. The output of `schema-dump` is a
    /// file's content, whatever its format.
    static func asksForJSON(_ arguments: [String]) -> Bool {
        arguments.contains("--json")
            || ["lint", "test", "query", "schema-diff"].contains(arguments.first)
                && arguments.joined(separator: "=").contains("--format=json")
    }

    /// The exit code for an error from ``run(arguments:host:output:errorOutput:)``.
    ///
    /// - Parameter error: The error.
    /// - Returns: The code that the tool's documentation lists for it.
    public static func exitCode(for error: any Error) -> Int32 {
        Failure(error, parser: RootCommand.self).exitCode
    }

    // MARK: -

    static func run(arguments: [String], context: CommandContext) throws {
        try Program.$host.withValue(context.host) {
            let meaning = Program.Meaning {
                Habits.meaning(of: $0, after: $1, commands: RootCommand.subcommandNames)
            }
            try Program.$meaning.withValue(meaning) {
                do {
                    try parseAndRun(arguments: arguments, context: context)
                } catch {
                    try? context.finishReading()
                    throw error
                }
                try context.finishReading()
            }
        }
    }

    private static func parseAndRun(arguments: [String], context: CommandContext) throws {
        var context = context
        context.version = version
        if Set(arguments).subtracting(["--json"]) == ["--version"] {
            return try context.printVersion(json: asksForJSON(arguments))
        }
        let named = try checkCommands(in: arguments)
        do {
            // Parsing from the root examines every command, which takes longer than opening a
            // database with a raw key. So the command is parsed directly. Only errors and help
            // texts are left to the root, which knows the whole tool. Each command names the program
            // as its super command, so that ArgumentParser doesn't parse its words twice more to see
            // whether they ask for a completion script.
            let plain = (try? named.command.parseAsRoot(named.arguments)) as? any ContextCommand
            var command =
                try plain
                ?? Completion.$context.withValue(context) { try RootCommand.parseAsRoot(arguments) }
            if var command = command as? any ContextCommand {
                if command.quiet {
                    let keepsOutput = asksForJSON(arguments) || command.isReport
                    context = context.quiet(keepsOutput: keepsOutput)
                }
                if command.needsNoDatabase { context.settingsSource.acceptOthers() }
                context.warnAboutUnknownVariables()
                if let named = command as? any DatabaseCommand {
                    command = try named.withArgument(in: context)
                }
                try (command as? any ExtensionUsing)?.extensions.use()
                try command.run(in: context)
            } else {
                // The root and `help` only throw a help text.
                try command.run()
            }
        } catch {
            // Help and version are reported as errors of the parser.
            guard RootCommand.exitCode(for: error) == .success else { throw error }
            let text = message(for: error, columns: context.columns)
            // No completions: some shells would offer an empty line as one.
            if !text.isEmpty { context.output(text) }
        }
    }

    /// A help text or the version, for a terminal with this many columns.
    private static func message(for error: any Error, columns: Int) -> String {
        func text(_ columns: Int) -> String {
            HelpSections(RootCommand.fullMessage(for: error, columns: columns)).text
        }
        guard columns < NarrowHelp.limit else { return text(columns) }
        return NarrowHelp(text(10_000), width: columns).text
    }

    /// Throws if the command doesn't exist. Otherwise the parser would complain about its options.
    ///
    /// - Returns: The command, and the remaining words.
    private static func checkCommands(
        in words: [String]
    ) throws -> (command: any ParsableCommand.Type, arguments: [String]) {
        var command: any ParsableCommand.Type = RootCommand.self
        var rest = words[...]
        if words.first == "help" { rest = rest.dropFirst() }
        while let word = rest.first {
            // A configuration is made anew whenever it is asked for.
            let subcommands = command.configuration.subcommands
            guard !word.hasPrefix("-"), !subcommands.isEmpty else { break }
            guard let next = subcommands.first(where: { $0.isNamed(word) }) else {
                if word == "help" { break }
                let isRoot = command == RootCommand.self
                throw MigrationCLIError.unknownCommand(
                    word,
                    nearest: Habits.command(
                        word,
                        in: isRoot ? nil : command.configuration.commandName,
                        before: rest.dropFirst().first,
                        among: command.subcommandNames
                    )
                )
            }
            command = next
            rest = rest.dropFirst()
        }
        return words.first == "help" ? (RootCommand.self, words) : (command, Array(rest))
    }

    /// Removes the program's name, if there is one: a first word that is no command, followed by
    /// one that is or was probably meant as one.
    private static func withoutProgramName(
        _ arguments: [String],
        host: MigrationCLIHost
    ) -> [String] {
        let names = Program.$host.withValue(host) { RootCommand.subcommandNames } + ["help"]
        guard let first = arguments.first, !first.hasPrefix("-"), !names.contains(first) else {
            return arguments
        }
        let rest = Array(arguments.dropFirst())
        let isName =
            if first == CommandLine.arguments.first {
                true
            } else if let next = rest.first {
                names.contains(next) || ["--help", "-h", "--version"].contains(next)
                    || nearest(to: first, among: names) == nil
                        && nearest(to: next, among: names) != nil
            } else {
                false
            }
        return isName ? rest : arguments
    }
}

extension ParsableCommand {
    fileprivate static var subcommandNames: [String] {
        configuration.subcommands.flatMap {
            [$0.configuration.commandName].compactMap { $0 } + $0.configuration.aliases
        }
    }

    fileprivate static func isNamed(_ name: String) -> Bool {
        let configuration = configuration
        return configuration.commandName == name || configuration.aliases.contains(name)
    }
}

// MARK: - Root Command

/// All commands.
struct RootCommand: ParsableCommand {
    static var configuration: CommandConfiguration {
        CommandConfiguration(
            commandName: Program.name,
            abstract: Program.abstract,
            discussion: """
                The key comes from an option: --keychain-service (the desktop's secret store), \
                --password-file, --password-fd or --password-command. Without one, it comes from a \
                systemd credential, the environment, the settings file (migrationkit.toml) or a \
                question on the terminal.

                \(ErrorCode.ExitStatus.summary)
                """,
            version: MigrationCLI.version,
            subcommands: (Program.hasFolder ? [InitCommand.self, CreateCommand.self] : [])
                + [MigrateCommand.self, PlanCommand.self, RehearseCommand.self, LintCommand.self]
                + (Program.hasFolder ? [TestCommand.self] : []) + [
                    StatusCommand.self,
                    HistoryCommand.self,
                    RollbackCommand.self,
                    DowngradeCommand.self,
                    RedoCommand.self,
                    VerifyCommand.self,
                    InspectCommand.self,
                    TablesCommand.self,
                    QueryCommand.self,
                    ShellCommand.self,
                    BaselineCommand.self,
                    RepairCommand.self,
                    SchemaDumpCommand.self,
                    SchemaLoadCommand.self,
                    SchemaDiffCommand.self,
                    EncryptCommand.self,
                    DecryptCommand.self,
                    RekeyCommand.self,
                    UpgradeCommand.self,
                    BackupCommand.self,
                    RestoreCommand.self,
                    SalvageCommand.self,
                    KeyCommand.self,
                    FleetCommand.self,
                    ExplainCommand.self,
                    CompletionsCommand.self,
                    ManualCommand.self,
                ]
        )
    }
}
