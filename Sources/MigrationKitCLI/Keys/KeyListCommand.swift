import ArgumentParser
import MigrationKitKeys

struct KeyListCommand: ContextCommand {
    static var configuration: CommandConfiguration {
        CommandConfiguration(
            commandName: "list",
            _superCommandName: Program.name,
            abstract: "List stored keys, without the keys themselves.",
            usage: "\(Program.name) key list [--all] [<options>]",
            discussion: """
                With a service, lists all its items, including those of other programs. Without \
                one, or with --all, lists everything that this tool and its library stored.
                """
        )
    }

    @Flag(help: "List all items, even if the environment or the settings name a service.")
    var all = false

    @Flag(help: "Print one JSON document.")
    var json = false

    @Flag(name: .shortAndLong, help: .quiet)
    var quiet = false

    @OptionGroup(title: "Key") var keychain: KeychainOptions
    @OptionGroup(title: "Key") var settings: SettingsOptions

    var isReport: Bool { true }

    func run(in context: CommandContext) throws {
        context.settingsSource.use(settings.config)
        guard !all || keychain.keychainService == nil else { throw CommandError.allAndService }
        let service = try all ? nil : keychain.service(in: context)
        let items = try keychain.keyStore(in: context, ofService: service != nil).items(
            service: service,
            // Lists every account, even if the environment names one.
            account: keychain.keychainAccount
        )
        if json {
            return try context.printJSON(fields: ["items": items])
        }
        context.output(
            items.isEmpty ? "No keys." : KeyTable(width: context.columns).text(of: items)
        )
    }
}
