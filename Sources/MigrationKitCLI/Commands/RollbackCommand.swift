import ArgumentParser
import MigrationKit
import MigrationKitGRDB

struct RollbackCommand<Migrations: MigrationsOptions>: ContextCommand {
    static var configuration: CommandConfiguration {
        CommandConfiguration(
            commandName: "rollback",
            abstract: "Undo the latest migrations, newest first, then verify.",
            usage:
                "\(Migrations.programName) rollback [--steps <number>] [--db-path <path>] [<options>]",
            discussion: """
                Whether each of them can be undone is found out before the first one is.
                """
        )
    }

    @Option(
        name: [.customLong("steps"), .customLong("step")],
        help: ArgumentHelp("How many migrations to undo.", valueName: "number")
    )
    var steps = 1

    @Flag(help: "Print one JSON document.")
    var json = false

    @OptionGroup(title: "Database") var database: DatabaseOptions
    @OptionGroup(title: "Migrations") var migrations: Migrations

    func run(in context: CommandContext) throws {
        let runner = try migrations.runner(of: context.host, context: context)
        guard steps >= 0 else {
            throw MigrationKitError.rollbackStepCountMustBeNonNegative(steps)
        }
        let (writer, path) = try context.open(database)
        let progress = RunProgress(context: context)
        let report = try progress.watch { observer in
            try runner.rollbackMigrations(in: writer, steps: steps, observer: observer)
        }

        if json {
            return try context.printJSON(Document(path: path, report: report))
        }
        if report.steps.isEmpty {
            context.output("Nothing to roll back.")
        } else {
            context.output("Rolled back \(report.steps.summary)")
        }
        context.output(report.closing(in: runner))
    }

    private struct Document: Encodable {
        let schemaVersion = JSON.schemaVersion
        let database: String?
        let rolledBack: [StepDocument]
        let pending: [String]
        let verified: Bool

        init(path: String?, report: MigrationReport) {
            database = path
            rolledBack = report.steps.map(StepDocument.init)
            pending = report.pending
            verified = report.verified
        }
    }
}
