import ArgumentParser
import MigrationKitKeys

struct KeyDeleteCommand: ContextCommand {
    static var configuration: CommandConfiguration {
        CommandConfiguration(
            commandName: "delete",
            _superCommandName: Program.name,
            abstract: "Delete a stored key.",
            usage: """
                \(Program.name) key delete --keychain-service <service>
                  [--keychain-account <account>] [--item <identifier>] [--yes]
                  [<options>]
                """,
            discussion: """
                Asks first: without its only key, a database is lost. If several keys match, none \
                is deleted, unless --item names one; 'key check' and 'key find' tell which one opens \
                a database.
                """
        )
    }

    @Option(
        help: ArgumentHelp(
            "Which of several equal items: the identifier that is printed with each of them.",
            valueName: "identifier"
        )
    )
    var item: String?

    @Flag(name: .shortAndLong, help: "Delete without asking.")
    var yes = false

    @Flag(help: "Print one JSON document.")
    var json = false

    @Flag(name: .shortAndLong, help: .quiet)
    var quiet = false

    @OptionGroup(title: "Key") var keychain: KeychainOptions
    @OptionGroup(title: "Key") var settings: SettingsOptions

    func run(in context: CommandContext) throws {
        context.settingsSource.use(settings.config)
        let service = try keychain.requiredService(in: context)
        let account = try keychain.account(in: context)
        let store = try keychain.keyStore(in: context)
        let item = try store.onlyItem(service: service, account: account, identifier: self.item)
        try context.confirm(
            "Delete the key \(item.summaryLine)? Databases that only it opens are lost.",
            action: "deleted",
            isAnswered: yes,
            noPrompt: keychain.noPrompt
        )
        if self.item != nil, let store = store as? any ItemDeletingKeyStore {
            try store.delete(item)
        } else {
            try store.delete(service: service, account: account)
        }
        if json {
            return try context.printJSON(fields: ["deleted": item])
        }
        context.output("Deleted the key: \(item.summaryLine)")
    }
}
