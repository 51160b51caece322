import ArgumentParser
import MigrationKit
import MigrationKitGRDB

struct RollbackCommand: StoreCommand, DatabaseCommand {
    static var configuration: CommandConfiguration {
        CommandConfiguration(
            commandName: "rollback",
            _superCommandName: Program.name,
            abstract: "Undo the latest migrations, newest first, then verify.",
            usage: "\(Program.name) rollback [<database>] [--steps <number>] [<options>]",
            discussion: """
                Undoing a migration that created a table or column deletes what is in it: make a \
                backup first. On a terminal, it asks first; without one, it doesn't. If one of \
                the migrations can't be undone, none is.
                """
        )
    }

    static var migrationOption: String? { "--to" }

    @OptionGroup var argument: DatabaseArgument

    @Option(
        name: [.customLong("steps"), .customLong("step")],
        help: ArgumentHelp("How many migrations to undo; default: 1.", valueName: "number")
    )
    var steps: Int?

    @Option(
        help: ArgumentHelp(
            "Undo all after this one; the beginning of its name is enough.",
            valueName: "identifier"
        ),
        completion: .migrations
    )
    var to: String?

    @Flag(help: "Undo all.")
    var all = false

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

    func validate() throws {
        let given = [steps == nil ? nil : "--steps", to == nil ? nil : "--to", all ? "--all" : nil]
            .compactMap { $0 }
        guard given.count <= 1 else {
            throw ValidationError(
                "\(given.joined(separator: " and ")) both set how far to roll back. Use only one."
            )
        }
    }

    func run(in context: CommandContext) throws {
        let loaded = try loadMigrations(in: context)
        if let steps, steps < 0 {
            throw MigrationKitError.rollbackStepCountMustBeNonNegative(steps)
        }
        let target = try to.map {
            try loaded.runner.identifier($0, else: MigrationKitError.unknownMigrationTarget)
        }
        let store = try openStore(
            loaded,
            for: .change(),
            lockTimeout: run.lockTimeout(in: context),
            in: context
        )
        try store.checkIsAdopted(in: context)
        let options = try run.options(in: context)
        let count = all ? .max : steps ?? 1
        if !yes {
            try store.confirmUndoing(noPrompt: database.keychain.noPrompt, in: context) {
                try $0.plannedRollback(
                    in: store.writer,
                    steps: count,
                    downTo: target,
                    options: options
                )
            }
        }
        try context.report(.rolledBack, on: store, options: options, json: json) { options in
            if let target {
                return try store.runner.rollbackMigrations(
                    in: store.writer,
                    downTo: target,
                    options: options
                )
            }
            return try store.runner.rollbackMigrations(
                in: store.writer,
                steps: count,
                options: options
            )
        }
    }
}

extension OpenStore {
    /// Asks before migrations are undone, which deletes what is in the tables that they created. If
    /// nobody watches, the command goes on: scripts roll back, too.
    ///
    /// - Parameter plan: The migrations to undo, newest first.
    /// - Throws: What the plan throws; ``CommandError/declined``.
    func confirmUndoing(
        noPrompt: Bool,
        in context: CommandContext,
        plan: (GRDBMigrationRunner) throws -> [String]
    ) throws {
        guard context.isWatched, !noPrompt else { return }
        let undone = try plan(runner)
        guard let newest = undone.first, let oldest = undone.last else { return }
        let which =
            undone.count == 1 ? newest : "\(undone.count) migrations, \(newest) to \(oldest)"
        try context.confirm(
            """
            Undo \(which)? The content of the tables and columns that \
            \(undone.count == 1 ? "it" : "they") created is lost.
            """,
            else: MigrationCLIError.needsConfirmation(
                deed: "undo \(undone.count == 1 ? "the migration" : "the migrations")"
            )
        )
    }
}
