import ArgumentParser
import MigrationKitCommon
import MigrationKit
import MigrationKitGRDB
import MigrationKitSQL

struct BaselineCommand: StoreCommand {
    static var configuration: CommandConfiguration {
        CommandConfiguration(
            commandName: "baseline",
            _superCommandName: Program.name,
            abstract: "Record migrations as applied without running them.",
            usage: """
                \(Program.name) baseline <identifier> [<options>]
                \(Program.name) baseline --adopt <tool> [<options>]
                """,
            discussion: """
                Use it for a database whose tables already exist. Afterwards the database is \
                migrated like any other. --adopt reads what another tool has applied from that \
                tool's own table, which is not changed. If a migration is already recorded, \
                baseline refuses.
                """
        )
    }

    @Argument(
        help: ArgumentHelp(
            "The last migration to record; those before it are recorded, too.",
            valueName: "identifier"
        ),
        completion: .migrations
    )
    var identifier: String?

    @OptionGroup var adopting: AdoptionOptions

    @Flag(help: "Print one JSON document.")
    var json = false

    @Flag(name: .shortAndLong, help: .quiet)
    var quiet = false

    @OptionGroup(title: "Database") var database: KeyedDatabaseOptions
    @OptionGroup(title: "Database") var encryption: EncryptionOptions
    @OptionGroup(title: "Migrations") var migrations: MigrationsOptions

    func validate() throws {
        guard (identifier == nil) != (adopting.adopt == nil) else {
            throw ValidationError("Give the last migration to record, or a tool to --adopt.")
        }
    }

    func run(in context: CommandContext) throws {
        let loaded = try loadMigrations(in: context)
        let target = try identifier.map {
            try loaded.runner.identifier($0, else: MigrationKitError.unknownMigrationTarget)
        }
        let store = try openStore(loaded, for: .change(), in: context)
        var recorded: [String] = []
        var notes: [String]?
        if let target {
            _ = try store.noteOtherTools(in: context, json: json)
            recorded = try store.runner.baseline(in: store.writer, upTo: target)
        } else if let tool = adopting.adopt {
            let table = adopting.adoptTable
            notes = try store.adoption(from: tool, table: table)?.notes
            if !json { notes?.forEach { context.note($0) } }
            recorded = try store.adopt(tool, table: table, options: MigrationOptions())
        }
        let pending = PendingMigrations(try store.runner.overview(of: store.writer), of: store)
        if json {
            return try context.printJSON(
                fields: [
                    "database": store.path, "recorded": recorded, "notes": notes,
                    "pending": pending.identifiers,
                ]
            )
        }
        context.output(recorded.baselineSummary)
        context.output(pending.summary)
    }
}

extension [String] {
    /// Which migrations were recorded.
    var baselineSummary: String {
        guard !isEmpty else { return "Nothing was applied, so nothing is recorded." }
        return list(under: "Recorded")
    }

    /// Which migrations would be recorded.
    var previewSummary: String {
        guard !isEmpty else { return "Nothing was applied, so nothing would be recorded." }
        return list(under: "Would record")
    }

    private func list(under verb: String) -> String {
        return
            (["\(verb) \(counted(count, "migration")) as applied, without running:"]
            + map { "  \($0)" })
            .joined(separator: "\n")
    }
}
