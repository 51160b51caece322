import ArgumentParser
import MigrationKitCommon
import Foundation
import GRDB
import KeyStore
import MigrationKitGRDB
import MigrationKitSQLCipher

/// What a command works with, beside its options.
struct CommandContext: Sendable {
    let host: MigrationCLIHost
    let environment: ProcessEnvironment

    /// The value of `--password`, where it never became text.
    var passwordArgument: Secret?

    /// Takes results, a line or several at a time.
    let output: @Sendable (String) -> Void

    /// Takes everything else.
    let errorOutput: @Sendable (String) -> Void

    /// Whether the key may be asked for, where there is a terminal.
    let canPrompt: Bool

    /// Whether the descriptors that the user opened for the process are the tool's to close.
    var ownsDescriptors = false

    /// Whether standard output is a terminal, where a key may be shown.
    var outputIsTerminal = false

    /// How many columns help texts have.
    var columns = Terminal.columns

    /// The colours of standard output.
    var style = Style.plain

    /// Takes a key that was asked for, and bytes around it.
    let reveal: @Sendable (Secret) -> Void

    /// Whether standard error is a terminal that shows progress.
    let showsProgress: Bool

    /// Whether Ctrl-C ends a run in good order. The owner of the process decides.
    let endsOnSignals: Bool

    /// Whether notes may stand beside an error on standard error, which JSON doesn't allow.
    var writesNotes = true

    /// Remembers where the key came from, for an error that comes later.
    let keySource = Note<KeySource>()

    /// Remembers which database is worked on, for the same.
    let database = Note<String>()

    /// The settings file.
    let settingsSource = SettingsSource()

    /// Opens the database that the options name.
    ///
    /// - Parameters:
    ///   - forReading: Whether a database that can't be written will do.
    ///   - changesIt: Whether it is opened to be changed, which loses what SQLite doesn't see in a
    ///     damaged log.
    ///   - acceptsLostCommits: Whether a damaged log is ended instead of refused.
    ///   - relocate: Gives the path that is opened in place of the one that was named.
    /// - Returns: The database, the path that was named, and whether the file was created.
    func open(
        _ options: KeyedDatabaseOptions,
        createsFile: Bool = false,
        isPlaintext: Bool,
        lockTimeout: TimeInterval? = nil,
        forReading: Bool = false,
        changesIt: Bool = false,
        acceptsLostCommits: Bool = false,
        relocate: ((_ path: String?) throws -> String?)? = nil
    ) throws -> (writer: any DatabaseWriter, path: String?, wasCreated: Bool) {
        warn(about: options.secret)
        var resolved = try options.resolved(
            in: self,
            createsFile: createsFile,
            isPlaintext: isPlaintext,
            isForOpenWriter: true
        )
        if let lockTimeout {
            resolved.busyTimeout = lockTimeout
        }
        // A host's own opening gets the options as they were given.
        if case .folder = host.migrations { resolved.opensForReading = forReading }
        keySource.note(resolved.keySource)
        defer { release(resolved.keySource) }
        let path = resolved.dbPath
        database.note(path)
        if changesIt, !acceptsLostCommits, let path { try EncryptedDatabase.checkLog(path) }
        if let relocate { resolved.dbPath = try relocate(path) }
        let wasNew = resolved.isNew
        let writer = try host.openWriter(resolved)
        // Only once the key is proven.
        if changesIt, acceptsLostCommits { try dropLostCommits(in: writer, path) }
        // A host may have opened another file, or none.
        return (writer, path, wasNew && !resolved.isNew)
    }

    private func dropLostCommits(in writer: any DatabaseWriter, _ path: String?) throws {
        guard let lost = try EncryptedDatabase.dropLostCommits(in: writer) else { return }
        let count =
            switch lost.commitCount {
            case nil: "an unknown number of commits"
            case 1: "1 commit"
            case let count?: "\(count) commits"
            }
        errorOutput(
            """
            warning: dropped \(count) from the write-ahead log of \(path?.printable ?? "the database"), \
            which is damaged in frame \(lost.frame)
            """
        )
    }

    /// Lets go of the descriptor that a key was read from: while the tool works, nobody finds the
    /// key's file among those that it has open.
    func release(_ source: KeySource?) {
        guard ownsDescriptors else { return }
        switch source {
        case .fileDescriptor(let number) where number > STDERR_FILENO:
            close(number)
        case .standardInput, .fileDescriptor(STDIN_FILENO):
            // The number stays taken, or the next file that is opened would be standard input.
            let nothing = Foundation.open("/dev/null", O_RDONLY | O_CLOEXEC)
            guard nothing >= 0 else { return }
            dup2(nothing, STDIN_FILENO)
            close(nothing)
        default:
            break
        }
    }

    /// Warns about a key that was given where others can see it.
    func warn(about options: KeyOptions<DatabasesKey>) {
        guard options.password != nil else { return }
        errorOutput(
            """
            warning: --password can be seen by others on this machine and stays in the shell's \
            history; prefer --keychain-service or --password-file
            """
        )
    }

    /// Asks a question on the terminal, unless it is answered already.
    ///
    /// - Parameter nobody: The error where there is nobody to ask.
    /// - Throws: That error; ``KeyCommandError/declined`` if the answer is no.
    func confirm(
        _ question: String,
        isAnswered: Bool,
        noPrompt: Bool,
        else nobody: any Error
    ) throws {
        guard !isAnswered else { return }
        guard canPrompt, !noPrompt, let answer = Terminal.confirm(question.printable) else {
            throw nobody
        }
        guard answer else { throw KeyCommandError.declined }
    }

    /// Warns about variables of the environment that look like ours and mean nothing.
    func warnAboutUnknownVariables() {
        let prefix = "MIGRATIONKIT_"
        for name in environment.names(beginningWith: prefix)
        where !SettingsKey.variables.contains(name) {
            // What all of them begin with makes none of them any nearer.
            let meant = nearest(
                to: String(name.dropFirst(prefix.count)),
                among: SettingsKey.variables.map { String($0.dropFirst(prefix.count)) }
            )
            let question = meant.map { "; did you mean \(prefix)\($0)?" } ?? ""
            errorOutput(
                "warning: the environment variable \(name.printable) is unknown\(question)"
            )
        }
    }

    func printJSON(_ document: some Encodable) throws {
        output(try JSON.text(of: document))
    }
}

/// Remembers something for an error that comes later.
final class Note<Value: Sendable>: Sendable {
    private let value = Locked<Value?>(nil)

    func note(_ value: Value?) {
        self.value.withLock { $0 = value }
    }

    var noted: Value? { value.withLock { $0 } }
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
