import ArgumentParser
import MigrationKit
import MigrationKitGRDB

struct BaselineCommand<Migrations: MigrationsOptions>: StoreCommand {
    static var configuration: CommandConfiguration {
        CommandConfiguration(
            commandName: "baseline",
            abstract: "Record migrations as applied without running them.",
            usage: "\(Migrations.programName) baseline <identifier> [<options>]",
            discussion: """
                For a database whose tables were made by other means: from then on it is migrated \
                like any other. Refused where a migration is applied already.
                """
        )
    }

    @Argument(
        help: ArgumentHelp(
            "The last migration whose result the database already has.",
            valueName: "identifier"
        )
    )
    var identifier: String

    @Flag(help: "Print one JSON document.")
    var json = false

    @OptionGroup(title: "Database") var database: KeyedDatabaseOptions
    @OptionGroup(title: "Database") var encryption: EncryptionOptions
    @OptionGroup(title: "Migrations") var migrations: Migrations

    func run(in context: CommandContext) throws {
        var target = identifier
        let store = try openStore(in: context) { runner in
            target = try runner.identifier(
                identifier,
                else: MigrationKitError.unknownMigrationTarget
            )
        }
        let recorded = try store.runner.baseline(in: store.writer, upTo: target)
        let pending = try store.runner.pendingMigrationIdentifiers(in: store.writer)
        if json {
            return try context.printJSON(
                Document(database: store.path, recorded: recorded, pending: pending)
            )
        }
        let count = "\(recorded.count) \(recorded.count == 1 ? "migration" : "migrations")"
        context.output("Recorded \(count) as applied, without running:")
        recorded.forEach { context.output("  \($0)") }
        context.output(pending.isEmpty ? "Nothing is pending." : "\(pending.count) pending.")
    }

    private struct Document: Encodable {
        let schemaVersion = JSON.schemaVersion
        let database: String?
        let recorded: [String]
        let pending: [String]
    }
}
