import ArgumentParser
import MigrationKit
import MigrationKitGRDB

struct RedoCommand: StoreCommand, DatabaseCommand {
    static var configuration: CommandConfiguration {
        CommandConfiguration(
            commandName: "redo",
            _superCommandName: Program.name,
            abstract: "Undo the latest migrations and apply them again.",
            usage: "\(Program.name) redo [<database>] [--steps <number>] [<options>]",
            discussion: """
                For development: undoing a migration loses every row and value in the tables and \
                columns that it created, whoever wrote them. On a terminal, it asks first; without \
                one, it doesn't. If one of the migrations can't be \
                undone, none is. With --all-or-nothing, undoing is one transaction and applying is \
                another.
                """
        )
    }

    @OptionGroup var argument: DatabaseArgument

    @Option(help: ArgumentHelp("How many migrations to redo.", valueName: "number"))
    var steps = 1

    @Flag(name: .shortAndLong, help: "Don't ask.")
    var yes = false

    @OptionGroup var run: RunOptions
    @Flag(help: "Print one JSON document.")
    var json = false

    @Flag(name: .shortAndLong, help: .quiet)
    var quiet = false

    @OptionGroup(title: "Database") var database: KeyedDatabaseOptions
    @OptionGroup(title: "Database") var encryption: EncryptionOptions
    @OptionGroup(title: "Migrations") var migrations: MigrationsOptions

    func run(in context: CommandContext) throws {
        let loaded = try loadMigrations(in: context)
        guard steps >= 0 else {
            throw MigrationKitError.rollbackStepCountMustBeNonNegative(steps)
        }
        let store = try openStore(
            loaded,
            for: .change(),
            lockTimeout: run.lockTimeout(in: context),
            in: context
        )
        try store.checkIsAdopted(in: context)
        let options = try run.options(in: context)
        if !yes {
            try store.confirmUndoing(noPrompt: database.keychain.noPrompt, in: context) {
                try $0.plannedRollback(in: store.writer, steps: steps, options: options)
            }
        }
        try context.reportRedo(on: store, options: options, json: json) { options in
            try store.runner.redoMigrations(in: store.writer, steps: steps, options: options)
        }
    }
}
