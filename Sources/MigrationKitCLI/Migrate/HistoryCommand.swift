import ArgumentParser
import Foundation
import MigrationKitGRDB

struct HistoryCommand: DatabaseCommand {
    static var configuration: CommandConfiguration {
        CommandConfiguration(
            commandName: "history",
            _superCommandName: Program.name,
            abstract: "Show what was done to the migrations, and when.",
            usage: "\(Program.name) history [<database>] [<options>]",
            discussion: """
                Events: 'applied', 'begun' (its batches), 'rolled back', 'recorded' (as applied, \
                without running), 'repaired' (a changed text was accepted), 'renamed' (to the name in \
                the next line) and 'forgotten' (removed from the record). Changes by other programs \
                are not listed.
                """
        )
    }

    @OptionGroup var argument: DatabaseArgument

    @Flag(help: "Print one JSON document.")
    var json = false

    @Flag(name: .shortAndLong, help: .quiet)
    var quiet = false

    @OptionGroup(title: "Database") var database: KeyedDatabaseOptions
    @OptionGroup(title: "Database") var encryption: EncryptionOptions
    /// Not needed, but accepted: users give these options to every command.
    @OptionGroup(title: "Migrations") var migrations: MigrationsOptions

    var config: String? { migrations.config }

    var isReport: Bool { true }

    func run(in context: CommandContext) throws {
        context.settingsSource.use(migrations.config)
        let (writer, path) = try context.open(
            database,
            for: .read,
            isPlaintext: encryption.noEncryption
        )
        let entries = try GRDBMigrationRunner.history(in: writer)
        if json {
            return try context.printJSON(fields: ["database": path, "history": entries])
        }
        guard !entries.isEmpty else {
            return context.output("This database has no history.")
        }
        let rows = entries.map { entry in
            [
                entry.time.localMinute,
                entry.event == .rolledBack ? "rolled back" : entry.event.rawValue,
                entry.seconds.map(duration) ?? "", entry.identifier,
            ]
        }
        context.output(table(["TIME", "EVENT", "TOOK", "MIGRATION"], rows))
    }
}
