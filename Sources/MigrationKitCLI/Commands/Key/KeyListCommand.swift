import ArgumentParser
import KeyStore

struct KeyListCommand<Migrations: MigrationsOptions>: ContextCommand {
    static var configuration: CommandConfiguration {
        CommandConfiguration(
            commandName: "list",
            abstract: "List stored keys, without the keys themselves.",
            usage: "\(Migrations.programName) key list [--all] [<options>]",
            discussion: """
                With a service, its items, whoever stored them. Without one, and with --all, \
                everything that this tool and its library stored.
                """
        )
    }

    @Flag(help: "List all, whatever service the environment names.")
    var all = false

    @Flag(help: "Print one JSON document.")
    var json = false

    @OptionGroup(title: "Key") var keychain: KeychainOptions

    func run(in context: CommandContext) throws {
        guard !all || keychain.keychainService == nil else { throw KeyCommandError.allAndService }
        let service = all ? nil : keychain.service(in: context.environment)
        let items = try keychain.keyStore.items(
            service: service,
            // Who lists wants to see every account, also where the environment names one.
            account: keychain.keychainAccount
        )
        if json {
            return try context.printJSON(KeyListDocument(items: items.map(KeyDescription.init)))
        }
        context.output(items.isEmpty ? "No keys." : KeyTable.text(of: items))
    }
}
