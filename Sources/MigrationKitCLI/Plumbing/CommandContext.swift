import ArgumentParser
import MigrationKitCommon
import Foundation
import GRDB
import MigrationKitKeys
import MigrationKitGRDB
import MigrationKitSQLCipher

/// Everything that a command needs beside its options.
struct CommandContext: Sendable {
    let host: MigrationCLIHost
    let environment: ProcessEnvironment

    /// The value of `--password`, if it never became a `String`.
    var passwordArgument: Secret?

    /// Receives results, one or more lines at a time.
    var output: @Sendable (String) -> Void

    /// Receives bytes of results, which need not end with a line; `nil` in an embedding program.
    /// Returns whether the output can still be written.
    var write: (@Sendable ([UInt8]) -> Bool)?

    /// Receives everything else.
    var errorOutput: @Sendable (String) -> Void

    /// Whether the user may be asked for the key, if there is a terminal.
    let canPrompt: Bool

    /// Whether the tool may close the descriptors that the user opened for the process.
    var ownsDescriptors = false

    /// Whether standard output is a terminal, so that a key may be shown.
    var outputIsTerminal = false

    /// The version of the tool, for documents that name it.
    var version = ""

    /// The width of help texts in columns.
    var columns = Terminal.columns

    /// The form of messages on standard error.
    var messageForm = MessageForm()

    /// The colours of standard output.
    var style = Style.plain

    /// Receives the requested key, and the bytes around it.
    let reveal: @Sendable (Secret) -> Void

    /// Whether standard error is a terminal that shows progress.
    var showsProgress: Bool

    /// Prints the error with which a signal ends the process in the middle of something, and returns
    /// its exit code; `nil` if signals aren't handled. The owner of the process decides this.
    var reportEnd: (@Sendable (Interruption) -> Int32)?

    /// Whether Ctrl-C ends a run cleanly.
    var endsOnSignals: Bool { reportEnd != nil }

    /// Whether notes may be written to standard error together with an error, which JSON doesn't
    /// allow.
    var writesNotes = true

    /// Records where the key came from, for a later error.
    let keySource = Note<KeySource>()

    /// Records the current database, for a later error.
    let database = Note<String>()

    /// The databases that were opened to be read.
    private let opened = Locked<[any DatabaseWriter]>([])

    /// The settings file.
    let settingsSource = SettingsSource()

    /// Opens the database that the options name.
    ///
    /// - Parameter lockTimeout: How long to wait for another process, in seconds; `nil` for the
    ///   standard.
    /// - Returns: The database, and the path that was named.
    func open(
        _ options: KeyedDatabaseOptions,
        for purpose: Purpose,
        isPlaintext: Bool,
        lockTimeout: TimeInterval? = nil
    ) throws -> (writer: any DatabaseWriter, path: String?) {
        let options = try options.resolved(
            in: self,
            for: purpose,
            isPlaintext: isPlaintext
        )
        let opened = try open(options, lockTimeout: lockTimeout)
        return (opened.writer, options.dbPath)
    }

    /// Opens the database that the options name.
    ///
    /// - Parameters:
    ///   - lockTimeout: How long to wait for another process, in seconds; `nil` for the standard.
    ///   - acceptsLostCommits: Whether a damaged log is cut instead of refused.
    /// - Returns: The database, and whether the file was created.
    func open(
        _ options: MigrationDatabaseOpenOptions,
        lockTimeout: TimeInterval? = nil,
        acceptsLostCommits: Bool = false
    ) throws -> (writer: any DatabaseWriter, wasCreated: Bool) {
        try settingsSource.refuseOthers()
        var options = options
        let purpose = options.purpose
        if let lockTimeout { options.busyTimeout = lockTimeout }
        keySource.note(options.namedKeySource)
        defer { release(options.keySource) }
        let path = options.dbPath
        database.note(path)
        // A host may open another file, or none.
        let look =
            purpose.createsFile || purpose.losesHiddenCommits
            ? path.flatMap { try? DatabaseFile($0).look() } : nil
        if purpose.losesHiddenCommits, !acceptsLostCommits { try look?.checkLog() }
        var wasNew = purpose.createsFile && look?.hasContent == false
        if case .fill(let draft) = purpose {
            options.dbPath = draft
            wasNew = options.isNew
        }
        let writer = try host.open(options)
        // What is written is closed by the command, so that it is whole when the command says so.
        if purpose.onlyReads { opened.withLock { $0.append(writer) } }
        // Only after the key is proven.
        if purpose.losesHiddenCommits, acceptsLostCommits {
            try dropLostCommits(in: writer, path)
        }
        return (writer, wasNew && !options.isNew)
    }

    /// Closes the databases that were opened to be read.
    ///
    /// - Throws: ``EncryptedDatabaseError/damaged(path:pages:)`` if a page couldn't be read, whatever
    ///   SQLite made of it.
    func finishReading() throws {
        let writers = opened.withLock { opened in
            defer { opened = [] }
            return opened
        }
        for writer in writers
        where (try? writer.unsafeReentrantRead { try $0.hasUnreadablePages }) == true {
            throw EncryptedDatabaseError.damaged(path: database.noted ?? "the database", pages: [])
        }
    }

    private func dropLostCommits(in writer: any DatabaseWriter, _ path: String?) throws {
        guard let lost = try EncryptedDatabase.dropLostCommits(in: writer) else { return }
        let count =
            switch lost.commitCount {
            case nil: "an unknown number of commits"
            case 1: "1 commit"
            case let count?: "\(count) commits"
            }
        warning(
            """
            dropped \(count) from the write-ahead log of \(path ?? "the database"), \
            which is damaged in frame \(lost.frame)
            """
        )
    }

    /// Closes the descriptor from which a key was read, so that other processes can't find the
    /// key's file among the tool's open files.
    func release(_ source: KeySource?) {
        guard ownsDescriptors else { return }
        switch source {
        case .fileDescriptor(let number) where number > STDERR_FILENO:
            close(number)
        case .standardInput, .fileDescriptor(STDIN_FILENO):
            // Otherwise the next file to be opened would become standard input.
            let nothing = Foundation.open("/dev/null", O_RDONLY | O_CLOEXEC)
            guard nothing >= 0 else { return }
            dup2(nothing, STDIN_FILENO)
            close(nothing)
        default:
            break
        }
    }

    /// Warns about a key that others can see on the command line.
    func warn(about options: KeyOptions<DatabasesKey>) {
        guard options.password != nil else { return }
        warning(
            """
            --password can be seen by others on this machine and stays in the shell's \
            history; prefer --keychain-service or --password-file
            """
        )
    }

    /// The context of a command with `--quiet`. Errors and questions don't go through it.
    ///
    /// - Parameter keepsOutput: Whether the results are what was asked for.
    func quiet(keepsOutput: Bool) -> CommandContext {
        var context = self
        if !keepsOutput { context.output = { _ in } }
        context.errorOutput = { _ in }
        context.showsProgress = false
        return context
    }

    /// Writes a line that may name what others made, and lines that help.
    func note(_ text: String, _ lines: [String] = []) {
        message("note: \(text)".printable, lines)
    }

    /// Writes a line that may name what others made, and lines that help.
    func warning(_ text: String, _ lines: [String] = []) {
        message("warning: \(text)".printable, lines)
    }

    /// Writes a headline, and lines that help.
    func message(_ headline: String, _ lines: [String] = []) {
        errorOutput(messageForm.text(headline, lines))
    }

    /// Writes lines of others' files: as they are, but a terminal gets no control characters.
    func outputLines(_ text: String) {
        output(outputIsTerminal ? text.printableLines : text)
    }

    /// Whether there is a terminal to ask for a text on.
    func canAsk(noPrompt: Bool) -> Bool { canPrompt && !noPrompt && Terminal.canAsk }

    /// Whether there is a terminal to ask on, and someone is watching it.
    var isWatched: Bool { canPrompt && Terminal.isWatched }

    /// Asks a yes-or-no question on the terminal.
    ///
    /// - Returns: `nil` if there is nobody to ask.
    func ask(_ question: String, noPrompt: Bool = false) -> Bool? {
        canPrompt && !noPrompt ? Terminal.confirm(question.printable) : nil
    }

    /// Asks whether to go on, unless an option already answers it.
    ///
    /// - Parameter nobody: The error if there is nobody to ask.
    /// - Throws: That error; ``CommandError/declined`` if the answer is no.
    func confirm(
        _ question: String,
        isAnswered: Bool = false,
        noPrompt: Bool = false,
        else nobody: any Error
    ) throws {
        guard !isAnswered else { return }
        guard let answer = ask(question, noPrompt: noPrompt) else { throw nobody }
        guard answer else { throw CommandError.declined }
    }

    /// Warns about unknown environment variables whose names look like ours.
    func warnAboutUnknownVariables() {
        let prefix = "MIGRATIONKIT_"
        for name in environment.names(beginningWith: prefix)
        where !SettingsKey.variables.contains(name) {
            // The common prefix must not count as similarity.
            let meant = nearest(
                to: String(name.dropFirst(prefix.count)),
                among: SettingsKey.variables.map { String($0.dropFirst(prefix.count)) }
            )
            let question = meant.map { "; did you mean \(prefix)\($0)?" } ?? ""
            warning("the environment variable \(name) is unknown\(question)")
        }
    }

    /// How wide the lines of a report are that are no table.
    var reportWidth: Int { outputIsTerminal ? max(columns, 40) : MessageForm.standardWidth }
}

/// Records something for a later error.
final class Note<Value: Sendable>: Sendable {
    private let value = Locked<Value?>(nil)

    func note(_ value: Value?) {
        self.value.withLock { $0 = value }
    }

    var noted: Value? { value.withLock { $0 } }
}

/// A command that runs in a context instead of using the process's state.
protocol ContextCommand: ParsableCommand {
    /// Whether only errors are printed, and what was asked for.
    var quiet: Bool { get }

    /// Whether the command prints what was asked for. Otherwise it prints what it has done, which
    /// the exit code says as well.
    var isReport: Bool { get }

    /// Whether the command does its work without a database, unless it is given one. Then settings
    /// that others may write are used, too: in a container, the checkout is often another user's,
    /// or writable by all.
    var needsNoDatabase: Bool { get }

    func run(in context: CommandContext) throws
}

extension ContextCommand {
    /// A command without `--quiet`.
    var quiet: Bool { false }

    var isReport: Bool { false }

    var needsNoDatabase: Bool { false }

    /// `MigrationCLI.run` provides the context, and calls the other function.
    func run() throws {
        throw CleanExit.helpRequest(self)
    }
}

extension ArgumentHelp {
    /// The help of `--quiet`.
    static var quiet: ArgumentHelp { "Print only errors, and what was asked for." }
}
