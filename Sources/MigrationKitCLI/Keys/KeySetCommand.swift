import ArgumentParser
import MigrationKitKeys

struct KeySetCommand: ContextCommand {
    static var configuration: CommandConfiguration {
        CommandConfiguration(
            commandName: "set",
            _superCommandName: Program.name,
            abstract: "Store a key that you have.",
            usage: """
                \(Program.name) key set --keychain-service <service>
                  --keychain-account <account> [--replace] [<options>]
                """,
            discussion: """
                The key comes from an option of 'Source'. Without one, it comes from a systemd \
                credential, the environment or the terminal, where it is asked for twice. \
                Replacing a key asks first. The old one stays as a previous key: 'key list --all' \
                shows it.
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
        let present =
            try store.hasItem(service: service, account: account)
            ? store.entry(service: service, account: account) : nil
        if present != nil {
            guard replace else {
                throw KeyStoreError.itemExists(service: service, account: account)
            }
            try context.confirmReplacing(
                service,
                account,
                isAnswered: yes,
                noPrompt: keychain.noPrompt
            )
        }

        let key = try KeyResolver { store }.newKey(from: source, form: secret.form)
        let item =
            try present.map { try store.storeChecked(key, replacing: $0, label: label) }
            ?? store.storeChecked(
                key,
                service: service,
                account: account,
                label: label,
                replacing: false
            )
        let isKept = present.map { !$0.holds(key) } ?? false
        if json {
            return try context.printJSON(
                fields: [
                    "item": item, "replaced": present != nil, "source": source.description,
                ]
            )
        }
        context.output(
            "\(present == nil ? "Stored" : "Replaced") the key: \(item.summaryLine)"
        )
        if isKept { context.output(KeyEntry.keptText) }
    }

    private func source(for name: String, in context: CommandContext) throws -> KeySource {
        let source =
            secret.sources(passwordArgument: context.passwordArgument).first
            ?? KeyResolver.implicitSource(
                promptFor: context.canPrompt && !keychain.noPrompt ? name : nil,
                value: context.environment.secret
            )
        guard let source else { throw CommandError.noSource }
        return source
    }
}
