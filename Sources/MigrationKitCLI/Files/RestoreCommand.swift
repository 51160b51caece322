import ArgumentParser
import Foundation
import MigrationKitKeys
import MigrationKitSQLCipher

struct RestoreCommand: CopyCommand, DatabaseCommand {
    static var configuration: CommandConfiguration {
        CommandConfiguration(
            commandName: "restore",
            _superCommandName: Program.name,
            abstract: "Replace a database with a backup.",
            usage: """
                \(Program.name) restore --from <path> --db-path <path>
                \(Program.name) restore <backup> [<database>]
                  [--keep-original <path>] [--yes] [--former-key <action>] [<options>]
                """,
            discussion: """
                The key options give the backup's key. The restored database has that key, too, \
                unless an option of 'New key' gives another. A copy of the backup is written \
                beside the database, compared with the backup, and renamed into its place. Other \
                programs must close the database first. The database may be missing or damaged, or its key may be lost.

                The database that is there is lost, unless --keep-original is given. Without it, \
                the command asks first.

                If 'key rotate' has given the item another key since the backup was made, \
                '--former-key rekey' opens the backup with the key that it kept, and gives the restored \
                database the item's current key. Without it, the command asks on a terminal.
                """
        )
    }

    static var createsDatabase: Bool { true }

    @Argument(
        help: ArgumentHelp("The backup, in place of --from.", valueName: "backup"),
        completion: .file()
    )
    var backup: String?

    @OptionGroup var argument: DatabaseArgument

    @Option(
        name: .customLong("from"),
        help: ArgumentHelp("The backup. It is not changed.", valueName: "path"),
        completion: .file()
    )
    var namedBackup: String?

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

    @Option(
        help: ArgumentHelp(
            "If only the item's former key opens the backup: rekey.",
            valueName: "action"
        )
    )
    var formerKey: FormerKeyAction?

    @OptionGroup var waiting: LockTimeoutOptions
    @Flag(help: "Print one JSON document.")
    var json = false

    @Flag(name: .shortAndLong, help: .quiet)
    var quiet = false

    @OptionGroup(title: "New key") var newKey: KeyOptions<NewKey>
    @OptionGroup(title: "Database") var database: KeyedDatabaseOptions
    @OptionGroup(title: "Database") var encryption: EncryptionOptions
    @OptionGroup(title: "Database") var settings: SettingsOptions

    var backupFile: (option: String, named: String?, plain: String?)? {
        ("--from", namedBackup, backup)
    }
    private var from: String { backupPath }

    var files: [(option: String, path: String?)] {
        [("--from", from), ("--keep-original", keepOriginal)]
    }
    var keyedFile: (path: String?, is: EncryptedDatabase.Expectation) { (from, .encrypted) }

    func run(in context: CommandContext) throws {
        if formerKey != nil, newKey.isNamed {
            throw ValidationError(
                "--former-key and a new key contradict each other. Give only one."
            )
        }
        do {
            try restore(in: context)
        } catch let error as FormerKeyError where !newKey.isNamed {
            if formerKey == nil { try ask(about: error, in: context) }
            try restore(with: error.key, in: context)
        }
    }

    /// - Parameter former: The former key that opens the backup, whose database then gets the item's current
    ///   one; `nil` to use the named key.
    private func restore(with former: FormerKey? = nil, in context: CommandContext) throws {
        var stored: StoredKey?
        let (path, options, report) = try makeCopy(
            in: context,
            confirm: { if former == nil { try confirm($0, in: context) } },
            prepare: { stored = try $0.storedKey() }
        ) { path, form, newKey, options in
            func restore(_ form: DatabaseForm, newKey: DatabaseKey?) -> DatabaseRestore {
                DatabaseRestore(
                    path,
                    from: from,
                    form: form,
                    newKey: newKey,
                    options: options
                )
            }
            guard let former, let stored else {
                return try restore(form, newKey: newKey).run(keptOriginalPath: keepOriginal)
            }
            let backup = DatabaseForm.encrypted(try stored.key(of: former), cipher: form.cipher)
            return try restore(backup, newKey: form.key).run(keptOriginalPath: keepOriginal)
        }
        let notes: [ConversionNote] = [
            .narrowedMode(from: report.formerMode, path: path),
            .otherNames(report.otherNameCount),
            newKey.isNamed ? nil : options.formerKeyInUse().map { keyNote(path, $0) },
        ].compactMap { $0 }
        if json {
            return try context.printJSON(
                report,
                fields: [
                    "database": path, "backup": from,
                    "formerKey": former.map { _ in FormerKeyAction.rekey },
                    "notes": notes.map(\.line),
                ]
            )
        }
        context.output(
            """
            Restored \(path.printable) from \(from.printable): \(report.byteCount.byteCount), \
            in \(duration(report.seconds)).
            The new file was compared with the backup. \(soundness(report.findings))
            """
        )
        if former != nil { context.output("It has the item's current key.") }
        if let original = report.originalPath {
            context.output("The old file is kept in \(original.printable).")
        }
        context.tell(findings: report.findings, of: path)
        context.tell(notes)
    }

    func remedy(for path: String, with key: FormerKey) -> FormerKeyError.Remedy {
        FormerKeyError.Remedy(
            effect: "This restores the backup and gives the database its current key:",
            words: [
                "restore", "--db-path", path, "--from", from, "--keychain-service", key.service,
            ]
                + ["--keychain-account", key.account, "--former-key", "rekey"]
        )
    }

    /// Asks whether to go on with the former key.
    ///
    /// - Throws: The error if there is nobody to ask; ``CommandError/declined``.
    private func ask(about error: FormerKeyError, in context: CommandContext) throws {
        try context.confirm(
            """
            The item's key doesn't open the backup, but its former key does. Restore the backup, and \
            give the database the item's current key?
            """,
            noPrompt: database.keychain.noPrompt,
            else: error
        )
    }

    /// A note that the usual item doesn't open the database.
    private func keyNote(_ path: String, _ key: FormerKey) -> ConversionNote {
        let remedy = FormerKeyError.Remedy.rekey(path, from: key)
        return ConversionNote(
            headline: "the database has a former key now: the item with service "
                + "\"\(key.service)\" and username \"\(key.account)\" doesn't open it",
            explanation: remedy.effect,
            command: ([Program.name] + remedy.words).shellCommand
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

/// What `restore` does if only a former key opens the backup.
enum FormerKeyAction: String, CaseIterable, ExpressibleByArgument, Encodable {
    /// The restored database gets the item's current key.
    case rekey

    static var allValueStrings: [String] { allCases.map { $0.rawValue } }
}
