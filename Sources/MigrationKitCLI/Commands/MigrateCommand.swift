import ArgumentParser
import MigrationKit
import MigrationKitGRDB

struct MigrateCommand<Migrations: MigrationsOptions>: StoreCommand {
    static var configuration: CommandConfiguration {
        CommandConfiguration(
            commandName: "migrate",
            abstract: "Apply the pending migrations, then verify.",
            usage: "\(Migrations.programName) migrate [--to <identifier>] [<options>]",
            discussion: """
                Each migration runs in a transaction of its own. One that fails is undone; those \
                before it stay. With --all-or-nothing, the whole run is one transaction. The \
                result is verified before the last commit. A database that doesn't exist is \
                created, encrypted, readable for its owner alone.

                Ctrl-C undoes what is not committed, and ends with 130.
                """
        )
    }

    @Option(
        help: ArgumentHelp("The last migration to apply; default: all.", valueName: "identifier")
    )
    var to: String?

    @Flag(help: "Run everything, report what would change, and undo it.")
    var dryRun = false

    @Option(
        help: ArgumentHelp(
            "Copy the database to this new file before anything changes.",
            discussion: "The copy has the same key, and is checked by opening it.",
            valueName: "path"
        ),
        completion: .file()
    )
    var backup: String?

    @Flag(help: "Verify also when nothing was pending.")
    var verify = false

    @Flag(help: "Apply pending migrations that come before applied ones.")
    var allowOutOfOrder = false

    #if DEBUG
        // Not in the tool that people install: it destroys every row.
        @Flag(
            help: ArgumentHelp(
                "Erase the database if an applied migration was changed.",
                discussion: "DESTROYS ALL ROWS. For development; debug builds only."
            )
        )
        var eraseOnSchemaChange = false
    #endif

    @OptionGroup var run: RunOptions
    @Flag(help: "Print one JSON document.")
    var json = false

    @OptionGroup(title: "Database") var database: KeyedDatabaseOptions
    @OptionGroup(title: "Database") var encryption: EncryptionOptions
    @OptionGroup(title: "Migrations") var migrations: Migrations

    func validate() throws {
        if dryRun, backup != nil {
            throw ValidationError("A dry run changes nothing: leave out --backup.")
        }
    }

    func run(in context: CommandContext) throws {
        var store = try openStore(
            in: context,
            createsFile: !dryRun,
            lockTimeout: run.lockTimeout
        ) { runner in
            if let to, !runner.migrationIdentifiers.contains(to) {
                throw MigrationKitError.unknownMigrationTarget(to)
            }
        }
        if allowOutOfOrder {
            store.runner = store.runner.allowingOutOfOrder()
        }
        let runner = store.runner
        let writer = store.writer
        var options = run.options
        options.verifiesUnchanged = verify

        if !json, !store.notes.isEmpty {
            let pending = Set(try runner.pendingMigrationIdentifiers(in: writer))
            for note in store.notes where pending.contains(note.identifier) {
                context.errorOutput("note: \(note)")
            }
        }
        if dryRun {
            return try context.reportDryRun(on: store, json: json) { watched in
                try runner.dryRun(in: writer, upTo: to, options: watched(options))
            }
        }
        #if DEBUG
            if eraseOnSchemaChange, try runner.eraseDatabaseOnSchemaChange(in: writer) {
                context.errorOutput("warning: a migration was changed; the database was erased")
            }
        #endif
        if let backup, try runner.hasPendingMigrations(in: writer) {
            try DatabaseBackup.copy(writer, to: backup)
            context.errorOutput("backup written to \(backup)")
        }
        try context.report(.applied, on: store, json: json) { watched in
            if let to {
                try runner.migrate(in: writer, upTo: to, options: watched(options))
            } else {
                try runner.migrate(in: writer, options: watched(options))
            }
        }
    }
}
