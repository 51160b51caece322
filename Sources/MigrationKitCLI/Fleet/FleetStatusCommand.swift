import ArgumentParser
import MigrationKitCommon
import MigrationKit
import MigrationKitFleet
import MigrationKitSchema

struct FleetStatusCommand: FleetJob, MigrationsCommand {
    var deed: String { "status" }

    static var configuration: CommandConfiguration {
        CommandConfiguration(
            commandName: "status",
            _superCommandName: Program.name,
            abstract: "Show how many databases are at which version.",
            usage: """
                \(Program.name) fleet status --stores <pattern> --name-from <folder>
                  --master-key-file <path> [<options>]
                """,
            discussion: """
                Also shows which databases 'migrate' would refuse, because a newer program has \
                migrated them or an applied migration was changed or is missing, and which differ \
                from the schema that their applied migrations give. Changes nothing.
                """
        )
    }

    @Flag(help: "Exit with 3 if a migration is pending, with 2 if a schema differs.")
    var exitCode = false

    @Option(help: .ignoredTable)
    var ignoreTable: [String] = []

    @OptionGroup var fleet: FleetOptions
    @OptionGroup(title: "Migrations") var migrations: MigrationsOptions

    var isReport: Bool { true }

    func run(in context: CommandContext) throws {
        let loaded = try loadMigrations(in: context)
        let options = try DriftOptions(sharedBy: loaded, ignoring: ignoreTable, in: context)
        let runner = loaded.runner
        try runFleet(
            in: context,
            check: { summary in
                guard exitCode else { return }
                guard summary.pending == 0 else {
                    let stores = counted(summary.pending, "store")
                    throw CommandError(
                        ErrorCode("pending", .differs),
                        "migrations are pending in \(stores)",
                        "'fleet migrate' applies what is pending."
                    )
                }
                guard summary.withFindings == 0 else {
                    throw CommandError.verificationFailed(["schema"])
                }
            }
        ) { visit, record in
            try visit.withStore(loaded, for: .read) { store in
                let overview = try runner.overview(of: store.writer)
                record.to = runner.version(of: overview.applied)
                record.pending = overview.pending.count
                let drift = try store.runner.drift(in: store.writer, options)
                if !drift.changes.isEmpty { record.findings = drift.texts }
                // What 'migrate' would refuse is refused here.
                try store.checkIsAdopted(in: context)
                _ = try runner.plannedSteps(in: store.writer)
            }
        }
    }
}
