import ArgumentParser
import MigrationKit
import MigrationKitGRDB
import MigrationKitSchema

struct DowngradeCommand: StoreCommand, DatabaseCommand {
    static var configuration: CommandConfiguration {
        CommandConfiguration(
            commandName: "downgrade",
            _superCommandName: Program.name,
            abstract: "Take back what a newer version has applied.",
            usage: "\(Program.name) downgrade [<database>] [--to <identifier>] [<options>]",
            discussion: """
                For a database that a newer version has migrated, when this version should work \
                with it again. The SQL for it is in the database: the down parts of the newer \
                version's files. First it shows what would be lost, and asks. Then it copies the \
                database beside itself, takes all back in one transaction, verifies the result, \
                and compares its schema with that of these migrations. If anything fails, nothing \
                has changed.
                """
        )
    }

    static var migrationOption: String? { "--to" }

    @OptionGroup var argument: DatabaseArgument

    @Option(
        help: ArgumentHelp(
            "Take back all after this one; default: the last that is known here.",
            valueName: "identifier"
        ),
        completion: .migrations
    )
    var to: String?

    @Option(
        help: ArgumentHelp(
            "Where to put the copy; default: a name beside the database.",
            valueName: "path"
        ),
        completion: .file()
    )
    var backup: String?

    @Flag(help: "Show what would be taken back and lost, found by trying it and undoing it.")
    var dryRun = false

    @Flag(name: .shortAndLong, help: "Don't ask.")
    var yes = false

    @Option(help: .ignoredTable)
    var ignoreTable: [String] = []

    @OptionGroup var lock: LockTimeoutOptions
    @Flag(help: "Print one JSON document.")
    var json = false

    @Flag(name: .shortAndLong, help: .quiet)
    var quiet = false

    @OptionGroup(title: "Database") var database: KeyedDatabaseOptions
    @OptionGroup(title: "Database") var encryption: EncryptionOptions
    @OptionGroup(title: "Migrations") var migrations: MigrationsOptions

    func validate() throws {
        if dryRun, backup != nil {
            throw ValidationError("A dry run changes nothing. Leave out --backup.")
        }
    }

    func run(in context: CommandContext) throws {
        let loaded = try loadMigrations(in: context)
        let drift = try DriftOptions(loaded, ignoring: ignoreTable, in: context)
        let timeout = try lock.lockTimeout(in: context)
        let store = try openStore(
            loaded,
            for: .change(isTried: dryRun),
            lockTimeout: timeout,
            in: context
        )
        try store.checkIsAdopted(in: context)
        if dryRun, store.writer.configuration.readonly, let path = store.path {
            throw MigrationCLIError.cannotTryOut(path: path)
        }
        let options = MigrationOptions(lockTimeout: timeout)
        let target = try to.map { try store.applied($0) }
        let plan = try store.watch(options, in: context) { options in
            try store.runner.plannedDowngrade(
                in: store.writer,
                to: target,
                comparing: drift,
                options: options
            )
        }
        if dryRun { return try show(plan, of: store, in: context) }
        if !plan.steps.isEmpty {
            let which = plan.steps.map(\.printable).joined(separator: ", ")
            if !yes { context.errorOutput(plan.losses.lines.joined(separator: "\n")) }
            try context.confirm(
                "Take back \(which)?",
                isAnswered: yes,
                noPrompt: database.keychain.noPrompt,
                else: MigrationCLIError.needsConfirmation(deed: "take the migrations back")
            )
        }
        let (report, losses, copy) = try store.watch(options, in: context) { options in
            try store.runner.downgrade(
                in: store.writer,
                to: target,
                backup: backup,
                comparing: drift,
                options: options
            )
        }
        if json {
            return try context.printJSON(
                report,
                fields: [
                    "database": store.path, "rolledBack": report.steps, "losses": losses,
                    "backup": copy,
                ]
            )
        }
        guard !report.steps.isEmpty else { return context.output("Nothing to take back.") }
        context.output("Took back \(report.steps.summary)")
        let copyLine = copy.map { ["Copy: \($0.printable)"] } ?? []
        context.output((losses.lines + copyLine).joined(separator: "\n"))
        guard let target, !store.runner.migrationIdentifiers.contains(target) else {
            return context.output(report.closing(in: store.runner))
        }
        context.output(
            """
            The database is at \(target.printable). Its schema was not compared: this version doesn't \
            know that migration.
            """
        )
    }

    private func show(
        _ plan: MigrationDowngrade,
        of store: OpenStore,
        in context: CommandContext
    ) throws {
        if json {
            return try context.printJSON(
                plan,
                fields: ["database": store.path, "dryRun": true]
            )
        }
        guard !plan.steps.isEmpty else { return context.output("Nothing to take back.") }
        context.output("Would take back \(plan.steps.map(\.printable).joined(separator: ", ")).")
        context.output(plan.losses.lines.joined(separator: "\n"))
        context.output("Tried, and undone: nothing has changed.")
    }
}

extension [MigrationDowngrade.Loss] {
    fileprivate var lines: [String] {
        isEmpty ? ["No loss was seen."] : ["Lost:"] + map { "  \($0.description.printable)" }
    }
}

/// A copy of a database that was made before a migration was taken back.
struct BackupOfDowngrade: Encodable {
    let identifier: String
    let backup: String
}

extension OpenStore {
    /// The copies that have what was lost when these migrations, which have just been applied, were taken
    /// back before.
    func backups(of steps: [MigrationReport.Step]) throws -> [BackupOfDowngrade] {
        guard !steps.isEmpty else { return [] }
        let last = try GRDBMigrationRunner.history(in: writer)
            .filter { $0.event == .rolledBack }.reduce(into: [:]) { $0[$1.identifier] = $1.backup }
        return steps.compactMap { step in
            last[step.identifier].map { BackupOfDowngrade(identifier: step.identifier, backup: $0) }
        }
    }

    /// The applied migration for the text that the user typed: the whole identifier, or its beginning.
    fileprivate func applied(_ text: String) throws -> String {
        let applied = try runner.appliedMigrationIdentifiers(in: writer).sorted()
        if applied.contains(text) { return text }
        let beginning = applied.filter { $0.hasPrefix(text) }
        guard beginning.count == 1 else { throw MigrationKitError.rollbackTargetNotApplied(text) }
        return beginning[0]
    }
}
