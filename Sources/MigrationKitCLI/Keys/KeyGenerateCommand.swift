import ArgumentParser
import KeyStore

struct KeyGenerateCommand<Migrations: MigrationsOptions>: ContextCommand {
    static var configuration: CommandConfiguration {
        CommandConfiguration(
            commandName: "generate",
            _superCommandName: Migrations.programName,
            abstract: "Make a random key and store it.",
            usage: """
                \(Migrations.programName) key generate --keychain-service <service>
                  --keychain-account <account> [<options>]
                """,
            discussion: """
                The key is 32 random bytes from the kernel. It is a raw key, so nothing is derived \
                and databases open faster. An existing key is never replaced.
                """
        )
    }

    @Option(
        help: ArgumentHelp("The name that password programs show; default: service and account.")
    )
    var label: String?

    @Flag(help: "Print one JSON document.")
    var json = false

    @Flag(name: .shortAndLong, help: .quiet)
    var quiet = false

    @OptionGroup(title: "Key") var keychain: KeychainOptions
    @OptionGroup(title: "Key") var settings: SettingsOptions

    func run(in context: CommandContext) throws {
        context.settingsSource.use(settings.config)
        let (service, account) = try keychain.requiredItem(in: context)
        let item = try keychain.keyStore(in: context).storeChecked(
            .generate(),
            service: service,
            account: account,
            label: label,
            replacing: false
        )
        if json {
            return try context.printJSON(StoredKeyDocument(item: item, replaced: false))
        }
        context.output("Made a key and stored it: \(item.summaryLine)")
        context.output("Keep a recovery copy in a safe place: 'key export' makes one.")
    }
}
