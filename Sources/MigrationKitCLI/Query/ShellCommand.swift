import ArgumentParser
import Foundation
import MigrationKitKeys
import MigrationKitCommon
import MigrationKitSQLCipher

struct ShellCommand: DatabaseCommand {
    static var configuration: CommandConfiguration {
        CommandConfiguration(
            commandName: "shell",
            _superCommandName: Program.name,
            abstract: "Open the database in the sqlcipher shell.",
            usage: "\(Program.name) shell [<database>] [<options>] [-- <argument> ...]",
            discussion: """
                The shell gets the key through a pipe, and the settings of the file's encryption. \
                It keeps temporary data in memory, and no history. Unlike 'query', it can change \
                anything in the database. The command ends with the shell's exit code.
                """
        )
    }

    @OptionGroup var argument: DatabaseArgument

    @Option(
        help: ArgumentHelp("The shell; default: sqlcipher.", valueName: "program"),
        completion: .file()
    )
    var program = "sqlcipher"

    @Argument(
        parsing: .postTerminator,
        help: ArgumentHelp("Arguments for the shell, after '--'.", valueName: "argument")
    )
    var arguments: [String] = []

    @Flag(name: .shortAndLong, help: .quiet)
    var quiet = false

    @OptionGroup(title: "Database") var database: KeyedDatabaseOptions
    @OptionGroup(title: "Database") var encryption: EncryptionOptions
    @OptionGroup(title: "Database") var settings: SettingsOptions

    var config: String? { settings.config }

    var isReport: Bool { true }

    func validate() throws {
        if database.readsStandardInput {
            throw ValidationError(
                "The shell reads its commands from standard input, so the key can't come from there."
            )
        }
    }

    func run(in context: CommandContext) throws {
        context.settingsSource.use(settings.config)
        // An embedding program must not be replaced by the shell.
        guard context.ownsDescriptors else { throw CommandError.noShellOfProgram }
        guard let found = ShellProgram.find(program) else { throw CommandError.noShell(program) }
        let (path, script) = try opened(in: context)
        let pipe = try ShellProgram.pipe(containing: script)
        throw ShellProgram.replaceProcess(
            by: found,
            [program, "-init", "/dev/fd/\(pipe)", path] + arguments
        )
    }

    /// Opens the database once, so that a wrong key is explained, and the shell gets what opens it.
    private func opened(in context: CommandContext) throws -> (path: String, script: Secret) {
        let (writer, path) = try context.open(
            database,
            for: .shell,
            isPlaintext: encryption.noEncryption
        )
        defer { try? writer.close() }
        guard let path, let script = try EncryptedDatabase.shellScript(opening: writer) else {
            throw CommandError.noShellOfProgram
        }
        return (EncryptedDatabase.absolutePath(of: path), script)
    }
}

/// Why there is no shell.
extension CommandError {
    private static let shellAdvice = """
        Install SQLCipher's shell, version 4 ('apt install sqlcipher'), or name one with \
        --program. 'query' needs no shell.
        """

    fileprivate static func noShell(_ name: String) -> CommandError {
        CommandError(
            ErrorCode("noShell", .unavailable),
            "there is no program '\(name)'",
            shellAdvice
        )
    }

    /// - Parameter errno: Why, as errno.
    static func shellNotStarted(_ path: String, errno: Int32) -> CommandError {
        let message = "\(path) can't be started: \(systemReason(errno))"
        return CommandError(ErrorCode("noShell", .unavailable), message, shellAdvice)
    }

    fileprivate static let noShellOfProgram = CommandError(
        ErrorCode("noShell", .unavailable),
        "this program can't hand its database to a shell",
        "'query' runs SQL on it."
    )
}
