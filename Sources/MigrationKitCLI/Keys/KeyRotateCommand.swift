import ArgumentParser
import KeyStore
import MigrationKitSQLCipher
import SecretService

struct KeyRotateCommand<Migrations: MigrationsOptions>: ContextCommand {
    static var configuration: CommandConfiguration {
        CommandConfiguration(
            commandName: "rotate",
            abstract: "Make a new key, and change a database and its stored key.",
            usage: """
                \(Migrations.programName) key rotate --db-path <path>
                  --keychain-service <service> [--keychain-account <account>] [<options>]
                """,
            discussion: """
                The database is written anew with a random key, compared with the old one, and \
                replaced; then its item in the secret store gets that key. At every instant an \
                item opens the whole file: whatever ends this command, the next one that opens \
                the database finishes it or undoes it.

                The old key is kept as an item of its own ('key list --all' shows it), since \
                backups made before need it. Nobody else may have the database open meanwhile.
                """
        )
    }

    @Flag(help: "Delete the old key: backups made before can't be opened any more.")
    var discardOldKey = false

    @Option(
        help: ArgumentHelp(
            "Copy the database, as it was, to this new file before it is replaced.",
            valueName: "path"
        ),
        completion: .file()
    )
    var keepOriginal: String?

    @OptionGroup var waiting: LockTimeoutOptions
    @Flag(help: "Print one JSON document.")
    var json = false

    @OptionGroup(title: "Database") var database: StoredKeyDatabaseOptions
    @OptionGroup(title: "Database") var settings: SettingsOptions

    func validate() throws {
        try checkNotEmpty(keepOriginal, "--keep-original")
        if discardOldKey, keepOriginal != nil {
            throw ValidationError(
                "Without the old key the original can't be opened: leave out --keep-original "
                    + "or --discard-old-key."
            )
        }
    }

    func run(in context: CommandContext) throws {
        context.settingsSource.use(settings.config)
        let stored = try database.storedKey(in: context)
        var options = try DatabaseConversion.Options(
            keptOriginalPath: keepOriginal,
            timeout: waiting.lockTimeout(in: context)
        )
        let report = try ConversionProgress(context: context).watch { watched in
            watched(&options)
            return try KeyRotation(stored, keepsOldKey: !discardOldKey, options: options).run()
        }
        let notes = [
            foreignItemNote(report),
            otherKeyNote(report),
            .narrowedMode(from: report.conversion.formerMode, path: stored.path),
            .otherNames(report.conversion.otherNameCount),
        ].compactMap { $0 }
        if json {
            return try context.printJSON(
                RotatedKeyDocument(database: stored.path, report: report, notes: notes)
            )
        }
        defer { context.tell(notes) }
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
                "The old key was deleted: backups made before can't be opened any more."
            )
        }
        context.output(
            """
            The old key is kept, since backups made before need it:
              --keychain-service \(kept.service.shellWord)
              --keychain-account \((kept.account ?? "").shellWord)
            """
        )
    }

    /// That another program has changed the item meanwhile, and where its key is.
    private func otherKeyNote(_ report: KeyRotationReport) -> ConversionNote? {
        report.otherKeptItem.map { kept in
            ConversionNote(
                headline: "another program put a key of its own into the item meanwhile",
                explanation: "That one is kept with service '\(kept.service.printable)' and "
                    + "username '\((kept.account ?? "").printable)'."
            )
        }
    }

    /// That another program may look for the item in vain.
    private func foreignItemNote(_ report: KeyRotationReport) -> ConversionNote? {
        guard report.formerItem.form == nil else { return nil }
        return ConversionNote(
            headline: "another program had stored the item, and may not find it any more",
            explanation: "It has the attributes 'service' and 'username' now, and a raw key of 64 "
                + "hexadecimal digits in place of what was there."
        )
    }
}
