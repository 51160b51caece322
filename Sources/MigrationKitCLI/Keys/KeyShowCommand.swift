import ArgumentParser
import KeyStore

struct KeyShowCommand<Migrations: MigrationsOptions>: ContextCommand {
    static var configuration: CommandConfiguration {
        CommandConfiguration(
            commandName: "show",
            abstract: "Describe a stored key, or print it.",
            usage: """
                \(Migrations.programName) key show --keychain-service <service>
                  [--keychain-account <account>] [--reveal] [<options>]
                """,
            discussion: """
                --reveal prints the key itself, and only to a terminal: a file or a pipe could \
                keep it.
                """
        )
    }

    @Flag(help: "Print the key itself.")
    var reveal = false

    @Flag(help: "Print it even if standard output is not a terminal.")
    var force = false

    @Flag(help: "Print one JSON document.")
    var json = false

    @OptionGroup(title: "Key") var keychain: KeychainOptions
    @OptionGroup(title: "Key") var settings: SettingsOptions

    func run(in context: CommandContext) throws {
        context.settingsSource.use(settings.config)
        let service = try keychain.requiredService(in: context)
        let account = try keychain.account(in: context)
        guard !reveal || force || context.outputIsTerminal else {
            throw KeyCommandError.outputIsNoTerminal
        }
        let store = try keychain.keyStore(in: context)
        guard reveal else {
            let item = try store.onlyItem(service: service, account: account)
            if json {
                return try context.printJSON(KeyItemDocument(item: KeyDescription(item)))
            }
            return context.output(KeyTable(width: context.columns).text(of: [item]))
        }
        let entry = try store.entry(service: service, account: account)
        if json {
            context.reveal(try RevealedKey.document(of: entry))
        } else {
            context.reveal(entry.text)
        }
    }
}
