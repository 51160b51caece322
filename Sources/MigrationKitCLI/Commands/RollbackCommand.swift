import ArgumentParser
import MigrationKit
import MigrationKitGRDB

struct RollbackCommand<Migrations: MigrationsOptions>: StoreCommand {
    static var configuration: CommandConfiguration {
        CommandConfiguration(
            commandName: "rollback",
            abstract: "Undo the latest migrations, newest first, then verify.",
            usage: "\(Migrations.programName) rollback [--steps <number>] [<options>]",
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

    @OptionGroup var run: RunOptions
    @Flag(help: "Print one JSON document.")
    var json = false

    @OptionGroup(title: "Database") var database: KeyedDatabaseOptions
    @OptionGroup(title: "Database") var encryption: EncryptionOptions
    @OptionGroup(title: "Migrations") var migrations: Migrations

    func run(in context: CommandContext) throws {
        let store = try openStore(in: context, run: run) { _ in
            guard steps >= 0 else {
                throw MigrationKitError.rollbackStepCountMustBeNonNegative(steps)
            }
        }
        let options = try run.options(in: context)
        try context.report(.rolledBack, on: store, json: json) { watched in
            try store.runner.rollbackMigrations(
                in: store.writer,
                steps: steps,
                options: watched(options)
            )
        }
    }
}
