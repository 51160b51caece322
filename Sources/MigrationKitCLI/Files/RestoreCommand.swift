import ArgumentParser
import Foundation
import MigrationKitSQLCipher

struct RestoreCommand<Migrations: MigrationsOptions>: CopyCommand {
    static var configuration: CommandConfiguration {
        CommandConfiguration(
            commandName: "restore",
            _superCommandName: Migrations.programName,
            abstract: "Replace a database with a backup.",
            usage: """
                \(Migrations.programName) restore --db-path <path> --from <path>
                  [--keep-original <path>] [--yes] [<options>]
                """,
            discussion: """
                Give the backup's key. The database keeps it, unless an option of 'New key' gives \
                another. The backup is copied beside the database, verified, and renamed into its \
                place. Other programs must close the database first. The database may be missing \
                or damaged, or its key may be lost.

                Asks before it replaces a database, unless --keep-original is given.
                """
        )
    }

    @Option(
        help: ArgumentHelp("The backup. It is not changed.", valueName: "path"),
        completion: .file()
    )
    var from: String

    @Option(
        help: ArgumentHelp(
            "First copy the file that is replaced to this new file.",
            valueName: "path"
        ),
        completion: .file()
    )
    var keepOriginal: String?

    @Flag(name: .shortAndLong, help: "Replace the database without asking.")
    var yes = false

    @OptionGroup var waiting: LockTimeoutOptions
    @Flag(help: "Print one JSON document.")
    var json = false

    @Flag(name: .shortAndLong, help: .quiet)
    var quiet = false

    @OptionGroup(title: "New key") var newKey: KeyOptions<NewKey>
    @OptionGroup(title: "Database") var database: KeyedDatabaseOptions
    @OptionGroup(title: "Database") var encryption: EncryptionOptions
    @OptionGroup(title: "Database") var settings: SettingsOptions

    var files: [(option: String, path: String?)] {
        [("--from", from), ("--keep-original", keepOriginal)]
    }
    var keyedFile: (path: String?, is: EncryptedDatabase.Expectation) { (from, .encrypted) }

    func run(in context: CommandContext) throws {
        let (path, options, report) = try makeCopy(
            in: context,
            confirm: { try confirm($0, in: context) }
        ) { path, form, newKey, options in
            try DatabaseRestore(
                path,
                from: from,
                form: form,
                newKey: newKey,
                keptOriginalPath: keepOriginal,
                options: options
            ).run()
        }
        let notes: [ConversionNote] = [
            .narrowedMode(from: report.formerMode, path: path),
            .otherNames(report.otherNameCount),
            newKey.isNamed ? nil : options.formerKeyInUse().map { keyNote(path, $0) },
        ].compactMap { $0 }
        if json {
            return try context.printJSON(
                RestoreDocument(database: path, from: from, report, notes: notes)
            )
        }
        context.output(
            """
            Restored \(path.printable) from \(from.printable): \(report.byteCount.byteCount), \
            in \(duration(report.seconds)).
            The new file was verified before it took its place.
            """
        )
        if let original = report.originalPath {
            context.output("The old file is kept in \(original.printable).")
        }
        context.tell(findings: report.findings, of: path)
        context.tell(notes)
    }

    func remedy(for path: String, with key: FormerKey) -> FormerKeyError.Remedy {
        FormerKeyError.Remedy(
            effect: "This restores the backup and gives the database its current key:",
            words: ["restore", "--db-path", path, "--from", from] + key.itemOptions
                + key.newItemOptions
        )
    }

    /// A note that the usual item doesn't open the database.
    private func keyNote(_ path: String, _ key: FormerKey) -> ConversionNote {
        let remedy = FormerKeyError.Remedy.rekey(path, from: key)
        return ConversionNote(
            headline: "the database has a former key now: the item with service "
                + "\"\(key.service)\" and username \"\(key.account)\" doesn't open it",
            explanation: remedy.effect,
            command: ([Migrations.programName] + remedy.words).shellCommand
        )
    }

    private func confirm(_ path: String, in context: CommandContext) throws {
        guard keepOriginal == nil, Self.hasContent(path) else { return }
        try context.confirm(
            "Replace \(path) with the backup \(from)? Its current content is lost.",
            isAnswered: yes,
            noPrompt: database.keychain.noPrompt,
            else: MigrationCLIError.needsConfirmation(deed: "replace the database")
        )
    }

    /// Whether there is a file whose content would be lost, as far as that is known.
    private static func hasContent(_ path: String) -> Bool {
        var status = stat()
        guard stat(path, &status) == 0 else { return errno != ENOENT && errno != ENOTDIR }
        return status.st_mode & S_IFMT == S_IFREG && status.st_size > 0
    }
}

/// What `restore` prints as JSON.
struct RestoreDocument: Encodable {
    let schemaVersion = JSON.schemaVersion
    let database: String
    let backup: String
    let replaced: Bool
    let original: String?
    let bytes: Int
    let findings: [String]
    let seconds: Double
    let notes: [String]
    let verified = true

    init(
        database: String,
        from backup: String,
        _ report: RestoreReport,
        notes: [ConversionNote]
    ) {
        self.database = database
        self.backup = backup
        replaced = report.hasReplaced
        original = report.originalPath
        bytes = report.byteCount
        findings = report.findings
        seconds = report.seconds
        self.notes = notes.map(\.line)
    }
}
