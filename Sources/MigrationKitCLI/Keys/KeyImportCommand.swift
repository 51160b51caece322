import ArgumentParser
import Foundation
import MigrationKitKeys
import MigrationKitCommon
import MigrationKitSQLCipher

struct KeyImportCommand: DatabaseUsing {
    static var configuration: CommandConfiguration {
        CommandConfiguration(
            commandName: "import",
            _superCommandName: Program.name,
            abstract: "Store a key from its recovery copy, or as another program wrote it.",
            usage: """
                \(Program.name) key import [<file>] --keychain-service <service>
                  --keychain-account <account> [--db-path <path>] [<options>]
                """,
            discussion: """
                The file is what 'key export' wrote; '-' is standard input. Or, if the database exists, \
                it has the key itself, in any notation that 'key find' tries: the one that opens the \
                database is stored as this tool writes keys. Without a file, the key is looked for in the \
                secret store, as 'key find' does.

                If a database is named and exists, the key must open it. An existing key is replaced \
                only with --replace, and stays as a previous one ('key list --all' shows it).
                """
        )
    }

    @Argument(
        help:
            "The recovery copy, or the key; '-' is standard input; default: search the secret store.",
        completion: .file()
    )
    var file: String?

    @Option(
        name: .shortAndLong,
        help: ArgumentHelp(
            "Write the key to this new file, with mode 600, instead of the secret store.",
            valueName: "file"
        ),
        completion: .file()
    )
    var output: String?

    @Flag(help: "Replace another key, which is kept as a previous one.")
    var replace = false

    @Flag(name: .shortAndLong, help: "Replace without asking.")
    var yes = false

    @Option(
        help: ArgumentHelp("The name that password programs show; default: service and account.")
    )
    var label: String?

    @OptionGroup var recovery: RecoveryPassphraseOptions

    @Flag(help: "Print one JSON document.")
    var json = false

    @Flag(name: .shortAndLong, help: .quiet)
    var quiet = false

    @OptionGroup(title: "Key") var keychain: KeychainOptions
    @OptionGroup(title: "Database") var database: DatabaseFileOptions
    @OptionGroup(title: "Database") var settings: SettingsOptions

    func validate() throws {
        try checkNotEmpty(file, "the recovery copy")
        try checkNotEmpty(output, "--output")
        if file == "-", recovery.recoveryPasswordFile == "-" {
            throw ValidationError("Standard input can give the copy or its passphrase only.")
        }
        if output != nil, replace || label != nil || keychain.keychainService != nil {
            throw ValidationError(
                "With --output nothing is stored. Leave out --keychain-service, --label and --replace."
            )
        }
    }

    func run(in context: CommandContext) throws {
        context.settingsSource.use(settings.config)
        let item = try output == nil ? namedItem(in: context) : nil
        let (key, match) = try read(in: context)
        let (notation, proven) = (match?.notation, match?.path)
        let checked = try proven ?? database.check(opensWith: key, in: context)
        let stored: KeyItem?
        let replaced: Bool
        if let output {
            (stored, replaced) = (nil, false)
            do {
                try NewFile.write(to: output, mode: 0o600, replaces: false) { descriptor, path in
                    // Reading it drops a line feed.
                    let text = key.stored()
                    let isWhole = text.droppingOneTrailingNewline() == text
                    if let code = (isWhole ? text : text.appending("\n")).write(to: descriptor) {
                        throw NewFileError(path, code)
                    }
                }
            } catch let error as NewFileError {
                throw error.explained
            }
        } else if let (service, account) = item {
            (stored, replaced) = try store(key, service, account, in: context)
            context.noteUnwritten(in: try keychain.keyStore(in: context))
        } else {
            (stored, replaced) = (nil, false)
        }
        if json {
            return try context.printJSON(
                fields: [
                    "item": stored, "output": output, "form": key.form, "replaced": replaced,
                    "notation": notation, "database": checked,
                ]
            )
        }
        if let notation { context.output("The key was written as \(notation).") }
        if let stored {
            context.output("Stored the key: \(stored.summaryLine)")
        }
        if stored != nil, let path = try keyFile(in: context) {
            context.note(
                """
                the settings name the key file \(path), so other commands need --keychain-service and \
                --keychain-account to find this key
                """
            )
        }
        if let output {
            context.output(
                """
                Wrote the key, which nothing protects there: \(output.printable)
                To use it: \((["--password-file", output]
                    + (key.form == .rawKey ? ["--raw-key"] : [])
                    + (match?.cipher.options ?? [])).shellCommand)
                """
            )
        }
        if replaced { context.output(KeyEntry.keptText) }
        if let checked { context.output("The key opens \(checked.printable).") }
    }

    /// The item to store the key in.
    ///
    /// - Throws: ``CommandError/keyIsInFile(path:)``, if nothing is named and the settings have the
    ///   key in a file; ``CommandError/noItemNamed(missing:)``.
    private func namedItem(in context: CommandContext) throws -> (service: String, account: String)
    {
        if try keychain.service(in: context) == nil, let path = try keyFile(in: context) {
            throw CommandError.keyIsInFile(path: path)
        }
        return try keychain.requiredItem(in: context)
    }

    /// The file that has the database's key, if the settings say so.
    private func keyFile(in context: CommandContext) throws -> String? {
        try context.settings()?.value(.passwordFile)
    }

    // MARK: - Reading

    /// A database that the key is known to open, with which settings, and how another program wrote the key.
    private struct Match {
        let path: String
        let cipher: CipherSettings
        let notation: String?
    }

    /// - Returns: `nil` besides the key of a recovery copy.
    private func read(in context: CommandContext) throws -> (DatabaseKey, Match?) {
        guard let file else {
            guard let path = try path(in: context) else { throw CommandError.noRecoveryCopy }
            let hunt = KeyHunt(
                path: path,
                cipher: try database.cipher(in: context),
                service: nil,
                keychain: keychain,
                files: [],
                context: context
            )
            let (candidates, match) = try hunt.run()
            let reading = candidates.lazy.flatMap(\.readings).first { $0.key == match.key }
            return (
                match.key, Match(path: path, cipher: match.cipher, notation: reading?.notation)
            )
        }
        let copy = try RecoveryContainer.read(file)
        let name = file == "-" ? "standard input" : "\"\(file)\""
        guard RecoveryContainer.isOne(copy) else {
            guard let path = try path(in: context) else {
                throw RecoveryCopyError.notACopy(source: name)
            }
            let readings = KeyReading.all(of: copy.droppingOneTrailingNewline())
            let search = try KeySearch(path, cipher: database.cipher(in: context))
            let display = ProgressDisplay(KeySearchProgress(), in: context)
            let match = try display.watch(KeySearch.Options()) {
                try search.first(of: readings.map { [$0.key] }, .usual, options: $0)
            }
            guard let match else { throw CommandError.copyOpensNothing(path: path) }
            let notation = readings[match.index].notation
            return (match.key, Match(path: path, cipher: match.cipher, notation: notation))
        }
        let source = try recovery.source(in: context, noPrompt: keychain.noPrompt)
        let key = try RecoveryContainer.open(
            copy,
            with: RecoveryPassphraseOptions.read(source, isNew: false),
            named: name
        )
        return (key, nil)
    }

    /// The named database, if there is one with content.
    private func path(in context: CommandContext) throws -> String? {
        try database.path(in: context).flatMap { EncryptedDatabase.hasContent($0) ? $0 : nil }
    }

    // MARK: - Storing

    /// - Returns: The item, and whether another key was there.
    private func store(
        _ key: DatabaseKey,
        _ service: String,
        _ account: String,
        in context: CommandContext
    ) throws -> (KeyItem, Bool) {
        let store = try keychain.keyStore(in: context)
        guard try store.hasItem(service: service, account: account) else {
            let item = try store.storeChecked(
                key,
                service: service,
                account: account,
                label: label,
                replacing: false
            )
            return (item, false)
        }
        let present = try store.entry(service: service, account: account)
        guard !present.holds(key) else { return (present.item, false) }
        guard replace else {
            throw CommandError.otherKeyStored(service: service, account: account)
        }
        try context.confirmReplacing(service, account, isAnswered: yes, noPrompt: keychain.noPrompt)
        return (try store.storeChecked(key, replacing: present, label: label), true)
    }
}
