import ArgumentParser
import MigrationKit
import MigrationKitGRDB

struct MigrateCommand<Migrations: MigrationsOptions>: ContextCommand {
    static var configuration: CommandConfiguration {
        CommandConfiguration(
            commandName: "migrate",
            abstract: "Apply the pending migrations, then verify.",
            usage:
                "\(Migrations.programName) migrate [--to <identifier>] [<options>]",
            discussion: """
                Each migration runs in a transaction of its own. One that fails is undone; those \
                before it stay. A database that doesn't exist is created, encrypted, readable \
                for its owner alone.
                """
        )
    }

    @Option(
        help: ArgumentHelp("The last migration to apply; default: all.", valueName: "identifier")
    )
    var to: String?

    @Flag(help: "Verify also when nothing was pending.")
    var verify = false

    @OptionGroup var store: StoreOptions<Migrations>

    func run(in context: CommandContext) throws {
        let store = try self.store.open(in: context, createsFile: true) { runner in
            if let to, !runner.migrationIdentifiers.contains(to) {
                throw MigrationKitError.unknownMigrationTarget(to)
            }
        }
        try context.report(.applied, on: store, json: self.store.json) { observer in
            let options = MigrationOptions(verifiesUnchanged: verify, observer: observer)
            return if let to {
                try store.runner.migrate(in: store.writer, upTo: to, options: options)
            } else {
                try store.runner.migrate(in: store.writer, options: options)
            }
        }
    }
}
