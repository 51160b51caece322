import ArgumentParser
import MigrationKit
import MigrationKitSQL
import MigrationKitSchema

struct MigrateCommand: StoreCommand, DatabaseCommand {
    static var configuration: CommandConfiguration {
        CommandConfiguration(
            commandName: "migrate",
            _superCommandName: Program.name,
            abstract: "Apply the pending migrations, then verify.",
            usage: "\(Program.name) migrate [<database>] [--to <identifier>] [<options>]",
            discussion: """
                Each migration runs in a transaction of its own. One that fails is undone; those \
                before it stay. With --all-or-nothing, the whole run is one transaction. The \
                result is verified before the last commit. If the database doesn't exist, it is \
                created: encrypted, and readable only by its owner.

                Ctrl-C undoes uncommitted changes. The exit code is then 130.
                """
        )
    }

    static var createsDatabase: Bool { true }
    static var migrationOption: String? { "--to" }

    @OptionGroup var argument: DatabaseArgument

    @OptionGroup var range: RangeOptions

    @OptionGroup var adopting: AdoptionOptions

    @Flag(
        name: [.customShort("n"), .long],
        help: "Run everything, report what would change, and undo it."
    )
    var dryRun = false

    @Option(
        help: ArgumentHelp(
            """
            Copy the database to this new file before anything changes. The copy has the same \
            key, and is checked by opening it.
            """,
            valueName: "path"
        ),
        completion: .file()
    )
    var backup: String?

    @Flag(help: "Verify even if nothing was pending.")
    var verify = false

    @Flag(
        help: """
            If the write-ahead log is damaged, go on without the commits that SQLite doesn't see. A \
            power cut may leave this if an app writes with PRAGMA synchronous = NORMAL.
            """
    )
    var acceptLostCommits = false

    #if DEBUG || ERASABLE
        // Only in debug builds, since it destroys all rows.
        @Flag(
            help: ArgumentHelp(
                """
                Erase the database if an applied migration was changed. DESTROYS ALL ROWS. For \
                development; debug builds only.
                """
            )
        )
        var eraseOnSchemaChange = false
    #endif

    @OptionGroup var run: RunOptions
    @Flag(help: "Print one JSON document.")
    var json = false

    @Flag(name: .shortAndLong, help: .quiet)
    var quiet = false

    @OptionGroup(title: "Database") var database: KeyedDatabaseOptions
    @OptionGroup(title: "Database") var encryption: EncryptionOptions
    @OptionGroup(title: "Migrations") var migrations: MigrationsOptions

    var isReport: Bool { dryRun }

    private var adopt: MigrationTool? { adopting.adopt }

    /// Whether the option is given at each launch, also the first, since it isn't known how far a
    /// user's database is. Another tool's database is adopted once.
    private var adoptsAtEachLaunch: Bool { adopt == .userVersion }

    func validate() throws {
        if dryRun, backup != nil {
            throw ValidationError("A dry run changes nothing. Leave out --backup.")
        }
        if dryRun, acceptLostCommits {
            throw ValidationError("A dry run changes nothing. Leave out --accept-lost-commits.")
        }
    }

    func run(in context: CommandContext) throws {
        let loaded = try loadMigrations(in: context, allowsOutOfOrder: range.allowOutOfOrder)
        let range = try range.resolved(in: loaded.runner)
        let store = try openStore(
            loaded,
            for: adopt == nil || adoptsAtEachLaunch
                ? .create(isTried: dryRun) : .change(isTried: dryRun),
            lockTimeout: run.lockTimeout(in: context),
            acceptsLostCommits: acceptLostCommits,
            beforeCreating: { try $0.checkForDrafts(in: range) },
            in: context
        )
        let runner = store.runner
        let writer = store.writer
        // Printed even if the run fails.
        if !json { store.tellCreation(to: context) }
        var options = try run.options(in: context)
        options.verifiesUnchanged = verify
        let job = try MigrateJob(store, range, adopting, in: context)
        let adoption = job.adoption
        if adopt == nil { try store.checkIsAdopted(in: context) }
        try job.checkForDrafts()

        #if DEBUG || ERASABLE
            if eraseOnSchemaChange, !dryRun,
                try runner.eraseDatabaseOnSchemaChange(in: writer)
            {
                context.warning("a migration was changed; the database was erased")
            }
        #endif
        // Whatever the run would refuse is refused here, before anything is copied or recorded.
        // Otherwise the run itself does that.
        let cannotTry = dryRun && writer.configuration.readonly
        let hasWork =
            try (adoption != nil || backup != nil || cannotTry) && job.check(options)
        if let backup, hasWork {
            try MigrationBackup.copy(writer, to: backup)
            if !json { context.errorOutput("Wrote the backup to \(backup.printable).") }
        }
        if adopt != nil, adoption == nil, !adoptsAtEachLaunch {
            context.note("nothing to adopt: migrations are already recorded here")
        }
        if !json {
            adoption?.notes.forEach { context.note($0) }
        }
        if dryRun {
            if hasWork, cannotTry, let path = store.path {
                throw MigrationCLIError.cannotTryOut(path: path)
            }
            return try preview(job, options, tellingTo: context)
        }
        // In one transaction with the run, if that is one.
        let isOneTransaction = options.transaction == .allOrNothing
        var recorded = adopt == nil ? nil : adoption?.identifiers ?? []
        func tellRecorded() {
            guard !json, let recorded, !(recorded.isEmpty && adoptsAtEachLaunch) else { return }
            context.output(recorded.baselineSummary)
        }
        let before = try job.adopt(options, in: context)
        if adoption != nil, !isOneTransaction {
            recorded = before
            tellRecorded()
        }
        if !json { try store.tellNotes(to: context) }
        var isForgotten = false
        do {
            try context.report(
                .applied,
                on: store,
                recorded: recorded,
                notes: json ? store.notes(with: adoption, in: context) : nil,
                adopts: adoption != nil,
                options: options,
                json: json
            ) { options in
                let report = try job.run(after: before, options) { isForgotten = true }
                if adoption != nil, isOneTransaction { tellRecorded() }
                return report
            }
        } catch {
            if isForgotten, !json {
                context.note("no migration was applied, so the record was taken out again")
            }
            throw error
        }
    }

    /// Runs a dry run, including the adoption of another tool's database.
    private func preview(
        _ job: MigrateJob,
        _ options: MigrationOptions,
        tellingTo context: CommandContext
    ) throws {
        if !json {
            job.store.tellIsNew(to: context)
            try job.store.tellNotes(to: context)
        }
        try context.reportDryRun(
            on: job.store,
            recording: job.adoption,
            options: options,
            json: json,
            job.dryRun
        )
    }
}
