import ArgumentParser
import MigrationKitKeys
import MigrationKitSQLCipher

struct KeyGenerateCommand: DatabaseUsing {
    static var configuration: CommandConfiguration {
        CommandConfiguration(
            commandName: "generate",
            _superCommandName: Program.name,
            abstract: "Make a random key and store it.",
            usage: """
                \(Program.name) key generate --keychain-service <service>
                  --keychain-account <account> [<options>]
                """,
            discussion: """
                The key is 32 random bytes from the kernel. It is a raw key, so nothing is derived \
                and databases open faster. An existing key is never replaced. If the database is \
                encrypted already and no stored key opens it, none is made.
                """
        )
    }

    @Option(
        help: ArgumentHelp("The name that password programs show; default: service and account.")
    )
    var label: String?

    @Flag(help: "Make a key even if the database has another one, which is missing.")
    var new = false

    @Flag(help: "Print one JSON document.")
    var json = false

    @Flag(name: .shortAndLong, help: .quiet)
    var quiet = false

    @OptionGroup(title: "Key") var keychain: KeychainOptions
    @OptionGroup(title: "Database") var database: DatabaseFileOptions
    @OptionGroup(title: "Database") var settings: SettingsOptions

    func run(in context: CommandContext) throws {
        context.settingsSource.use(settings.config)
        let (service, account) = try keychain.requiredItem(in: context)
        let store = try keychain.keyStore(in: context)
        if !new { try checkDatabase(in: context, store) }
        let item = try store.storeChecked(
            .generate(),
            service: service,
            account: account,
            label: label,
            replacing: false
        )
        context.noteUnwritten(in: store)
        if json {
            return try context.printJSON(fields: ["item": item, "replaced": false])
        }
        context.output("Made a key and stored it: \(item.summaryLine)")
        context.output("Keep a recovery copy in a safe place: 'key export' makes one.")
    }

    /// Throws if the key is for a database that has another one, which isn't stored: its item was
    /// lost, and a new key would only hide that.
    private func checkDatabase(in context: CommandContext, _ store: any KeyStore) throws {
        // Another item than that of the settings is for another database, unless one is named.
        guard database.dbPath != nil || keychain.keychainService == nil,
            let path = try database.path(in: context), EncryptedDatabase.hasContent(path)
        else { return }
        let search: KeySearch
        do {
            search = try KeySearch(path, cipher: database.cipher(in: context))
        } catch EncryptedDatabaseError.plaintext {
            return
        }
        let contents = try store.contents(unlocking: !keychain.noPrompt)
        let candidates = contents.entries.filter { $0.item.form != nil }.compactMap(
            KeyCandidate.init
        )
        guard try search.first(of: candidates.map { $0.keys(isPlain: true) }, .usual) == nil else {
            return
        }
        if let locked = contents.lockedCollections.first {
            throw KeyStoreError.locked(collection: locked)
        }
        throw CommandError.databaseHasKey(path: path)
    }
}
