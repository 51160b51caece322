import ArgumentParser
import Foundation
import MigrationKit
import MigrationKitCommon
import MigrationKitGRDB
import MigrationKitSQLCipher

struct QueryCommand: DatabaseUsing {
    static var configuration: CommandConfiguration {
        CommandConfiguration(
            commandName: "query",
            _superCommandName: Program.name,
            abstract: "Run SQL on the database, and print the rows.",
            usage: """
                \(Program.name) query [<database>] <sql>
                  [--bind <name=value> ...] [<options>]
                  \(Program.name) query --write [<database>] <sql>
                  [--dry-run] [<options>]
                """,
            discussion: """
                Changes nothing, and prints the rows of one statement while it runs. With --write, \
                statements that change rows run in one transaction, and the number of rows is \
                printed. Neither may change the schema, the record of migrations, the key or \
                another file.

                --bind gives the value of a parameter (:name, @name, $name or ?1): a number, null, \
                a blob (x'00ff') or a text. A text in single quotes is one whatever it looks like.
                """
        )
    }

    @Argument(
        help: ArgumentHelp(
            """
            The database, in place of --db-path, if there are two; and the SQL. Without it, or as \
            '-', it is read from standard input.
            """,
            valueName: "sql"
        )
    )
    var words: [String] = []

    @Option(
        help: ArgumentHelp("The file with the SQL; '-' is standard input.", valueName: "path"),
        completion: .file()
    )
    var file: String?

    @Option(
        parsing: .unconditionalSingleValue,
        help: ArgumentHelp(
            "The value of a parameter; may be given several times.",
            valueName: "name=value"
        )
    )
    var bind: [QueryBinding] = []

    @Option(
        help: ArgumentHelp(
            "How rows are printed: table, json, jsonl, csv, markdown or list; default: table.",
            valueName: "format"
        )
    )
    var format: QueryFormat?

    @Option(
        help: ArgumentHelp(
            "The largest text or blob that is read or made; default: 64.",
            valueName: "megabytes"
        )
    )
    var largestValue: Int = 64

    @Flag(help: "Allow the SQL to add, change and remove rows, in one transaction.")
    var write = false

    @Flag(
        name: [.customShort("n"), .long],
        help: "With --write: print how many rows would change, and undo it."
    )
    var dryRun = false

    @OptionGroup var waiting: LockTimeoutOptions

    @Flag(help: "Print one JSON document, as --format json does.")
    var json = false

    @Flag(name: .shortAndLong, help: .quiet)
    var quiet = false

    @OptionGroup(title: "Database") var database: KeyedDatabaseOptions
    @OptionGroup(title: "Database") var encryption: EncryptionOptions
    @OptionGroup(title: "Database") var settings: SettingsOptions

    var isReport: Bool { true }

    private var sql: String? { words.last }

    mutating func validate() throws {
        guard words.count <= 2 else {
            throw ValidationError("The SQL is one argument. Put it in quotes: \"SELECT 1\".")
        }
        if words.count == 2 {
            let path = words.removeFirst()
            guard database.file.dbPath == nil else {
                throw ValidationError("The database is given twice. Leave out '\(path)'.")
            }
            database.file.dbPath = path
        }
        if sql != nil, file != nil {
            throw ValidationError("The SQL is given twice. Leave out --file, or the argument.")
        }
        if json, let format, format != .json {
            throw ValidationError("--json and --format \(format.rawValue) contradict each other.")
        }
        if dryRun, !write { throw ValidationError("--dry-run needs --write.") }
        guard (1...1000).contains(largestValue) else {
            throw ValidationError("The value for '--largest-value' must be from 1 to 1000.")
        }
        let names = bind.map(\.name)
        if let name = names.first(where: { name in names.count { $0 == name } > 1 }) {
            throw ValidationError("--bind gives '\(name)' twice.")
        }
        let source = QuerySource(sql: sql, file: file)
        if source.isStandardInput, database.readsStandardInput {
            throw ValidationError(
                "Standard input can't give both the SQL and the key. Use --file for one of them."
            )
        }
    }

    func run(in context: CommandContext) throws {
        context.settingsSource.use(settings.config)
        let text = try QuerySource(sql: sql, file: file).text()
        let format = json ? QueryFormat.json : format ?? .table
        let output = QueryOutput(context)
        defer { output.flush() }
        let bindings = Dictionary(bind.map { ($0.name, $0.value) }) { $1 }
        // The document's keys are known only after its rows.
        var keys: [(String, String)] = []
        let run = QueryRun(
            text,
            bindings,
            format.rows(in: context) { keys },
            to: output
        )
        try watching(in: context) { cancellation in
            try write
                ? change(run, cancellation, in: context) : read(run, cancellation, in: context)
        }
        if format == .json { run.beginEmpty() }
        if write {
            keys = [
                ("changes", "\(run.changes)"), ("committed", "\(!dryRun)"),
                ("indirectChanges", "\(run.indirectChanges)"),
            ]
        }
        run.finish()
        guard write, format != .json, !quiet || dryRun else { return }
        output.flush()
        (format.isForPrograms ? context.errorOutput : context.output)(summary(of: run))
    }

    private func read(
        _ run: QueryRun,
        _ cancellation: Cancellation,
        in context: CommandContext
    ) throws {
        let reader = try context.open(
            database,
            for: .query,
            isPlaintext: encryption.noEncryption,
            lockTimeout: waiting.givenLockTimeout
        ).writer
        let options = MigrationOptions(cancellation: cancellation)
        try reader.unsafeRead { db in
            try options.operation.watching(db, every: 20_000, reporting: { [] }) {
                try QuerySession.run(on: db, access: .reading, largestValue: largestBytes) {
                    try run.read(in: $0)
                }
            }
        }
    }

    private func change(
        _ run: QueryRun,
        _ cancellation: Cancellation,
        in context: CommandContext
    ) throws {
        let seconds = try waiting.lockTimeout(in: context)
        let writer = try context.open(
            database,
            for: .change(),
            isPlaintext: encryption.noEncryption,
            lockTimeout: seconds
        ).writer
        var options = MigrationOptions(lockTimeout: seconds, cancellation: cancellation)
        options.waitsForProgress = false
        try GRDBMigrationRunner.changeRows(in: writer, options: options) { db in
            try QuerySession.run(on: db, access: .changingRows, largestValue: largestBytes) {
                session in
                try session.transaction(keeping: !dryRun) { try run.change(in: session) }
            }
        }
    }

    private var largestBytes: Int { largestValue * 1_000_000 }

    /// Runs a block that Ctrl-C and the other signals end.
    private func watching(
        in context: CommandContext,
        _ body: (Cancellation) throws -> Void
    ) throws {
        let cancellation = Cancellation()
        let signals =
            context.endsOnSignals
            ? EndingSignals(cancellation.cancel) { [write] signal in
                // One long function of SQLite, or a reader that has stopped reading. There is
                // nothing to undo, and SQLite itself undoes a transaction.
                if !write { _exit(128 + signal) }
            } : nil
        defer { signals?.stop() }
        do {
            try body(cancellation)
        } catch let error as CancellationError {
            guard let signal = signals?.received else { throw error }
            throw Interruption(signal: signal, state: "Nothing was changed.")
        }
    }

    private func summary(of run: QueryRun) -> String {
        let rows = counted(run.changes, "row")
        let others =
            run.indirectChanges > 0
            ? ", and triggers and foreign keys \(run.indirectChanges) more" : ""
        return dryRun
            ? "Would change \(rows)\(others). Nothing was changed." : "Changed \(rows)\(others)."
    }
}

extension KeyedDatabaseOptions {
    /// Whether an option says that the key is on standard input.
    var readsStandardInput: Bool {
        secret.passwordFd == 0
            || secret.passwordFile.map { ["-", "/dev/stdin", "/dev/fd/0"].contains($0) } ?? false
    }
}
