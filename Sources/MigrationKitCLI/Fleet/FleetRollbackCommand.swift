import ArgumentParser
import MigrationKitCommon
import MigrationKit
import MigrationKitFleet
import MigrationKitGRDB

struct FleetRollbackCommand: FleetJob, MigrationsCommand {
    var deed: String { "rollback" }

    static var configuration: CommandConfiguration {
        CommandConfiguration(
            commandName: "rollback",
            _superCommandName: Program.name,
            abstract: "Undo the latest migrations of many databases.",
            usage: """
                \(Program.name) fleet rollback --to <identifier> --stores <pattern>
                  --name-from <folder> --master-key-file <path> [<options>]
                """,
            discussion: """
                Each database is rolled back as by 'rollback', under its lock, then verified. \
                Undoing a migration that created a table or column deletes what is in it: make \
                backups first ('fleet backup'). On a terminal, it asks first; without one, it \
                doesn't.

                There is no --steps: run again, it would undo more in the databases that are \
                finished. A database without the migrations after --to is left as it is.
                """
        )
    }

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

    @OptionGroup var limits: FleetLimitOptions
    @OptionGroup var run: RunOptions

    @OptionGroup var fleet: FleetOptions
    @OptionGroup(title: "Migrations") var migrations: MigrationsOptions

    func validate() throws {
        guard (to == nil) == all else {
            throw ValidationError("Give how far to roll back with either --to or --all.")
        }
    }

    func run(in context: CommandContext) throws {
        let loaded = try loadMigrations(in: context)
        let runner = loaded.runner
        let target = try to.map {
            try runner.identifier($0, else: MigrationKitError.unknownMigrationTarget)
        }
        let identifiers = runner.migrationIdentifiers
        let later = target.flatMap { identifiers.firstIndex(of: $0) }.map { $0 + 1 } ?? 0
        let undoable = Set(identifiers[later...])
        let options = try run.options(in: context)
        try runFleet(in: context, limits: limits) { count in
            try confirm(after: target, count: count, in: context)
        } _: { visit, record in
            var options = options
            options.lockTimeout = visit.timeout(options.lockTimeout)
            try visit.withStore(loaded, for: .change(), lockTimeout: options.lockTimeout) {
                store in
                let applied = try runner.appliedMigrationIdentifiers(in: store.writer)
                record.begin(with: applied, of: runner)
                try store.checkIsAdopted(in: context)
                do {
                    let report = try visit.watch(store, options) { options in
                        if let target, !undoable.isDisjoint(with: applied) {
                            try runner.rollbackMigrations(
                                in: store.writer,
                                downTo: target,
                                options: options
                            )
                        } else {
                            // What 'rollback' would refuse is refused here, too.
                            try runner.rollbackMigrations(
                                in: store.writer,
                                steps: target == nil ? .max : 0,
                                options: options
                            )
                        }
                    }
                    record.undone = report.steps.count
                    record.pending = report.pending.count
                    record.to = runner.version(
                        of: applied.subtracting(report.steps.map(\.identifier))
                    )
                } catch {
                    // What was undone before the one that failed stays undone.
                    let now = try? runner.overview(of: store.writer)
                    record.to = now.map { runner.version(of: $0.applied) } ?? nil
                    record.undone = now.map { applied.subtracting($0.applied).count }
                    record.pending = now?.pending.count
                    throw error
                }
            }
        }
    }

    /// Asks before migrations are undone. If nobody watches, the command goes on, as 'rollback' does.
    private func confirm(after target: String?, count: Int, in context: CommandContext) throws {
        guard context.isWatched else { return }
        let which = target.map { "all migrations after \($0)" } ?? "all migrations"
        try context.confirm(
            """
            Undo \(which) in \(counted(count, "database"))? The content of the \
            tables and columns that they created is lost.
            """,
            isAnswered: yes,
            else: MigrationCLIError.needsConfirmation(deed: "undo migrations")
        )
    }
}
