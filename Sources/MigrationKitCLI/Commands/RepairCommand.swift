import ArgumentParser
import MigrationKit
import MigrationKitGRDB

struct RepairCommand<Migrations: MigrationsOptions>: StoreCommand {
    static var configuration: CommandConfiguration {
        CommandConfiguration(
            commandName: "repair",
            abstract: "Accept the new text of migrations that were changed.",
            usage: "\(Migrations.programName) repair <identifier> ... [--yes] [<options>]",
            discussion: """
                Asks first. Nothing but the note of the text is written: the database stays as \
                the old text has made it, so the new one has to mean the same.
                """
        )
    }

    @Argument(
        help: ArgumentHelp("A migration that 'status' calls changed.", valueName: "identifier")
    )
    var identifiers: [String]

    @Flag(help: "Accept without asking.")
    var yes = false

    @Flag(help: "Print one JSON document.")
    var json = false

    @OptionGroup(title: "Database") var database: KeyedDatabaseOptions
    @OptionGroup(title: "Database") var encryption: EncryptionOptions
    @OptionGroup(title: "Migrations") var migrations: Migrations

    func run(in context: CommandContext) throws {
        var named: [String] = []
        let store = try openStore(in: context) { runner in
            named = try identifiers.map { try runner.identifier($0) }
        }
        let changed = try store.runner.changedMigrationIdentifiers(in: store.writer)
            .filter(named.contains)
        if !changed.isEmpty {
            try context.confirm(
                """
                Accept the new text of \(changed.joined(separator: ", "))? The database stays as \
                the old text has made it.
                """,
                isAnswered: yes,
                noPrompt: database.keychain.noPrompt,
                else: MigrationCLIError.needsConfirmation(deed: "the new text is accepted")
            )
        }
        let repaired = try store.runner.repairMigrations(changed, in: store.writer)
        if json {
            return try context.printJSON(Document(database: store.path, repaired: repaired))
        }
        let applied = try store.runner.appliedMigrationIdentifiers(in: store.writer)
        for identifier in named where !applied.contains(identifier) {
            context.output("Nothing to accept: \(identifier.printable) is not applied.")
        }
        guard !repaired.isEmpty || !applied.isSuperset(of: named) else {
            return context.output("Nothing to accept: the text is the one that was applied.")
        }
        for identifier in repaired {
            context.output("Accepted the new text of \(identifier.printable)")
        }
    }

    private struct Document: Encodable {
        let schemaVersion = JSON.schemaVersion
        let database: String?
        let repaired: [String]
    }
}
