import ArgumentParser
import MigrationKit
import MigrationKitGRDB

struct MigrateCommand<Migrations: MigrationsOptions>: ContextCommand {
    static var configuration: CommandConfiguration {
        CommandConfiguration(
            commandName: "migrate",
            abstract: "Apply the pending migrations, then verify.",
            usage:
                "\(Migrations.programName) migrate [--to <identifier>] [--db-path <path>] [<options>]",
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

    @Flag(help: "Print one JSON document.")
    var json = false

    @OptionGroup(title: "Database") var database: DatabaseOptions
    @OptionGroup(title: "Migrations") var migrations: Migrations

    func run(in context: CommandContext) throws {
        let runner = try migrations.runner(of: context.host, context: context)
        // Before a file is created for it.
        if let to, !runner.migrationIdentifiers.contains(to) {
            throw MigrationKitError.unknownMigrationTarget(to)
        }
        let (writer, path) = try context.open(database, createsFile: true)
        let progress = RunProgress(context: context)
        let report = try progress.watch { observer in
            if let to {
                try runner.migrate(
                    in: writer,
                    upTo: to,
                    verifiesUnchanged: verify,
                    observer: observer
                )
            } else {
                try runner.migrate(in: writer, verifiesUnchanged: verify, observer: observer)
            }
        }

        if json {
            return try context.printJSON(Document(path: path, report: report))
        }
        if report.steps.isEmpty {
            context.output("Nothing to apply.")
        } else {
            context.output("Applied \(report.steps.summary)")
        }
        context.output(report.closing(in: runner))
    }

    private struct Document: Encodable {
        let schemaVersion = JSON.schemaVersion
        let database: String?
        let applied: [StepDocument]
        let pending: [String]
        let verified: Bool

        init(path: String?, report: MigrationReport) {
            database = path
            applied = report.steps.map(StepDocument.init)
            pending = report.pending
            verified = report.verified
        }
    }
}
