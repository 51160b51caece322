import ArgumentParser
import MigrationKitKeys
import MigrationKitSQLCipher
import SecretService

struct KeyRotateCommand: DatabaseCommand {
    static var configuration: CommandConfiguration {
        CommandConfiguration(
            commandName: "rotate",
            _superCommandName: Program.name,
            abstract: "Give a database a new key, and store it.",
            usage: """
                \(Program.name) key rotate [<database>]
                  --keychain-service <service> [--keychain-account <account>] [<options>]
                """,
            discussion: """
                A copy with a random key is written, compared with the database, and renamed into \
                its place. Then the key's item in the secret store gets that key. At every instant, \
                an item opens the whole file. If this command is interrupted, the next one that opens \
                the database finishes the rotation or undoes it.

                The old key is kept as a separate item, because older backups need it ('key list \
                --all' shows it). Other programs must close the database first.
                """
        )
    }

    @OptionGroup var argument: DatabaseArgument

    @Flag(help: "Delete the old key. Older backups can then not be opened.")
    var discardOldKey = false

    @Option(
        help: ArgumentHelp(
            "First copy the old database to this new file.",
            valueName: "path"
        ),
        completion: .file()
    )
    var keepOriginal: String?

    @OptionGroup var waiting: LockTimeoutOptions
    @Flag(help: "Print one JSON document.")
    var json = false

    @Flag(name: .shortAndLong, help: .quiet)
    var quiet = false

    @OptionGroup(title: "Database") var database: StoredKeyDatabaseOptions
    @OptionGroup(title: "Database") var settings: SettingsOptions

    var config: String? { settings.config }

    func validate() throws {
        try checkNotEmpty(keepOriginal, "--keep-original")
        if discardOldKey, keepOriginal != nil {
            throw ValidationError(
                "The original can't be opened without the old key. Leave out --keep-original "
                    + "or --discard-old-key."
            )
        }
    }

    func run(in context: CommandContext) throws {
        context.settingsSource.use(settings.config)
        let stored = try database.storedKey(in: context)
        let options = try RewriteOptions(
            timeout: waiting.lockTimeout(in: context),
            functions: context.host.store?.options.functions ?? [],
            collations: context.host.store?.options.collations ?? []
        )
        let display = ProgressDisplay(ConversionProgress(), in: context)
        let report = try display.watch(options) { options in
            try MissingKeyError.explaining(stored.path, in: stored.keyStore) {
                try KeyRotation(stored, keepsOldKey: !discardOldKey, options: options)
                    .run(keptOriginalPath: keepOriginal)
            }
        }
        let notes = [
            foreignItemNote(report),
            passphraseNote(report),
            otherKeyNote(report),
            unwrittenKeyNote(report, stored),
            .narrowedMode(from: report.conversion.formerMode, path: stored.path),
            .otherNames(report.conversion.otherNameCount),
        ].compactMap { $0 }
        if json {
            return try context.printJSON(
                report,
                fields: ["database": stored.path, "notes": notes.map(\.line)]
            )
        }
        defer {
            context.tell(findings: report.conversion.findings, of: stored.path)
            context.tell(notes)
        }
        context.output(
            """
            Rotated the key of \(stored.path.printable): \(report.conversion.text)
            The new key: \(report.item.summaryLine)
            """
        )
        if let keepOriginal {
            context.output("The original is kept in \(keepOriginal.printable).")
        }
        guard let kept = report.keptItem else {
            return context.output(
                """
                The old key was deleted. Older backups can't be opened any more.
                \(KeyEntry.newCopyText)
                """
            )
        }
        context.output(
            """
            The old key is kept, because older backups need it:
              --keychain-service \(kept.service.shellWord)
              --keychain-account \((kept.account ?? "").shellWord)
            \(KeyEntry.newCopyText)
            """
        )
    }

    /// A note that another program has changed the item meanwhile, and where its key is kept.
    private func otherKeyNote(_ report: KeyRotationReport) -> ConversionNote? {
        report.otherKeptItem.map { kept in
            ConversionNote(
                headline: "another program stored its own key in the item in the meantime",
                explanation: "That key is kept with service '\(kept.service.printable)' and "
                    + "username '\((kept.account ?? "").printable)'."
            )
        }
    }

    /// A note that the key store's program may still lose the new key, and what leads to it then.
    private func unwrittenKeyNote(
        _ report: KeyRotationReport,
        _ stored: StoredKey
    ) -> ConversionNote? {
        report.unwrittenProvider.map { provider in
            ConversionNote(
                headline:
                    "\(provider.name ?? "the Secret Service") may write the new key only later",
                explanation: "If it is lost, the old key leads to it, by the file "
                    + "\(stored.sealedKeysPath.printable). The first command after the program was "
                    + "started again removes that file."
            )
        }
    }

    /// A note that the passphrase has become a raw key.
    private func passphraseNote(_ report: KeyRotationReport) -> ConversionNote? {
        guard report.formerItem.form == .passphrase else { return nil }
        return ConversionNote(
            headline: "the key was a passphrase, and is a raw key now",
            explanation: "A program that gives the key itself needs its 64 hexadecimal digits; in "
                + "the sqlcipher shell, PRAGMA key = \"x'DIGITS'\". 'key show' prints them."
        )
    }

    /// A note that another program may no longer find the item.
    private func foreignItemNote(_ report: KeyRotationReport) -> ConversionNote? {
        guard report.formerItem.form == nil else { return nil }
        return ConversionNote(
            headline: "another program had stored the item, and may no longer find it",
            explanation: "It now has the attributes 'service' and 'username', and a raw key of 64 "
                + "hexadecimal digits instead of the old content."
        )
    }
}
