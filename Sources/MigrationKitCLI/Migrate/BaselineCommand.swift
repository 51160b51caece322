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
                tool's own table, which is not changed. With '--adopt user_version', it is what \
                code has applied that counts in that pragma: the migrations up to that number, if \
                they give the schema that the database has. If a migration is already recorded, \
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

    /// What was recorded.
    struct Record {
        let store: OpenStore
        let identifiers: [String]
        /// Notes on the adoption; `nil` without one.
        let notes: [String]?
    }

    /// Throws what ``record(in:)`` would throw about the database's version, and changes nothing.
    func check(in context: CommandContext) throws {
        guard let tool = adopting.adopt else { return }
        let store = try openStore(loadMigrations(in: context), for: .read, in: context)
        let adoption = try store.adoption(from: tool, table: adopting.adoptTable, in: context)
        guard adoption == nil else { return }
        if let latest = try store.runner.appliedMigrationIdentifiers(in: store.writer).max() {
            throw MigrationKitError.baselineOnMigratedDatabase(latestApplied: latest)
        }
    }

    /// Records the migrations.
    func record(in context: CommandContext) throws -> Record {
        let loaded = try loadMigrations(in: context)
        let target = try identifier.map {
            try loaded.runner.identifier($0, else: MigrationKitError.unknownMigrationTarget)
        }
        let store = try openStore(loaded, for: .change(), in: context)
        var recorded: [String] = []
        var notes: [String]?
        if let target {
            let other = try store.otherRecord(in: context)
            if other?.tools != nil { _ = try store.noteOtherRecord(in: context, json: json) }
            recorded = try store.runner.baseline(in: store.writer, upTo: target)
        } else if let tool = adopting.adopt {
            let table = adopting.adoptTable
            notes = try store.adoption(from: tool, table: table, in: context)?.notes
            if !json { notes?.forEach { context.note($0) } }
            recorded = try store.adopt(
                tool,
                table: table,
                options: MigrationOptions(),
                in: context
            )
        }
        return Record(store: store, identifiers: recorded, notes: notes)
    }

    func run(in context: CommandContext) throws {
        let record = try record(in: context)
        let overview = try record.store.runner.overview(of: record.store.writer)
        let pending = PendingMigrations(overview, of: record.store)
        if json {
            return try context.printJSON(
                fields: [
                    "database": record.store.path, "recorded": record.identifiers,
                    "notes": record.notes, "pending": pending.identifiers,
                ]
            )
        }
        context.output(record.identifiers.baselineSummary)
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
