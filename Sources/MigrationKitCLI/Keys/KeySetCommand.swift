import ArgumentParser
import KeyStore

struct KeySetCommand<Migrations: MigrationsOptions>: ContextCommand {
    static var configuration: CommandConfiguration {
        CommandConfiguration(
            commandName: "set",
            _superCommandName: Migrations.programName,
            abstract: "Store a key that you have.",
            usage: """
                \(Migrations.programName) key set --keychain-service <service>
                  --keychain-account <account> [--replace] [<options>]
                """,
            discussion: """
                The key comes from an option of 'Source'. Without one, it comes from a systemd \
                credential, the environment or the terminal, where it is asked for twice. \
                Replacing a key asks first: databases that only the old key opens are lost.
                """
        )
    }

    @Flag(help: "Replace the existing key.")
    var replace = false

    @Flag(name: .shortAndLong, help: "Replace without asking.")
    var yes = false

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
    @OptionGroup(title: "Source") var secret: KeyOptions<DatabasesKey>

    func run(in context: CommandContext) throws {
        context.settingsSource.use(settings.config)
        let (service, account) = try keychain.requiredItem(in: context)
        _ = try secret.source()
        context.warn(about: secret)
        let source = try source(for: "\(service) (\(account))", in: context)
        context.keySource.note(source)

        // Checked before the key is asked for, so that nobody types one in vain.
        let store = try keychain.keyStore(in: context)
        let isThere = try store.hasItem(service: service, account: account)
        if isThere {
            guard replace else {
                throw KeyStoreError.itemExists(service: service, account: account)
            }
            try context.confirm(
                """
                Replace the key of service "\(service)", username "\(account)"? \
                What only the old one opens is lost.
                """,
                action: "replaced",
                isAnswered: yes,
                noPrompt: keychain.noPrompt
            )
        }

        let item = try store.storeChecked(
            KeyResolver { store }.newKey(from: source, form: secret.form),
            service: service,
            account: account,
            label: label,
            replacing: replace
        )
        if json {
            let document = StoredKeyDocument(
                item: item,
                replaced: isThere,
                source: source.description
            )
            return try context.printJSON(document)
        }
        context.output(
            "\(isThere ? "Replaced" : "Stored") the key: \(item.summaryLine)"
        )
    }

    private func source(for name: String, in context: CommandContext) throws -> KeySource {
        let source =
            secret.sources(passwordArgument: context.passwordArgument).first
            ?? KeyResolver.implicitSource(
                promptFor: context.canPrompt && !keychain.noPrompt ? name : nil,
                value: context.environment.secret
            )
        guard let source else { throw KeyCommandError.noSource }
        return source
    }
}
