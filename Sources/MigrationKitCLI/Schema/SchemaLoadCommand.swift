import ArgumentParser
import Foundation
import MigrationKitGRDB
import MigrationKitSQL
import MigrationKitSQLCipher

struct SchemaLoadCommand<Migrations: MigrationsOptions>: StoreCommand {
    static var configuration: CommandConfiguration {
        CommandConfiguration(
            commandName: "schema-load",
            abstract: "Make a new database from a dump of the schema.",
            usage: "\(Migrations.programName) schema-load <file> [<options>]",
            discussion: """
                The file is one that 'schema-dump' has written. The migrations that it stands for \
                are recorded as applied, without running; later ones are pending. Rows that \
                migrations insert are not in a dump, and so not in the database.

                The database appears when it is whole and verified. What fails leaves no file; a \
                file that is there already is refused with exit code 73.
                """
        )
    }

    @Argument(
        help: ArgumentHelp("The dump, in SQL ('-': standard input).", valueName: "file"),
        completion: .file(extensions: ["sql"])
    )
    var file: String

    @Flag(help: "Print one JSON document.")
    var json = false

    @OptionGroup(title: "Database") var database: KeyedDatabaseOptions
    @OptionGroup(title: "Database") var encryption: EncryptionOptions
    @OptionGroup(title: "Migrations") var migrations: Migrations

    private var readsStandardInput: Bool { file == "-" }

    func validate() throws {
        let secret = database.secret
        if readsStandardInput, secret.passwordFile == "-" || secret.passwordFd == STDIN_FILENO {
            throw ValidationError("Standard input can't give both the dump and the key.")
        }
    }

    func run(in context: CommandContext) throws {
        let dump =
            readsStandardInput
            ? try SQLDump(descriptor: STDIN_FILENO, name: "standard input")
            : try SQLDump(path: file)
        var place: NewDatabase?
        defer { place?.discard() }
        let store = try openStore(
            in: context,
            createsFile: true,
            relocate: { path in
                guard let path else { throw MigrationCLIError.noDatabasePath }
                let new = try NewDatabase(at: path)
                place = new
                return new.draft
            }
        )
        guard let place else { return }
        let recorded = try RunProgress(context: context, store: store).watch { watched in
            try place.checkIsThere()
            let recorded = try store.runner.load(
                in: store.writer,
                options: watched(MigrationOptions()),
                dump: dump.run(in:)
            )
            try place.publish(store.writer)
            return recorded
        }
        let pending = Array(store.runner.migrationIdentifiers[recorded.count...])
        if json {
            return try context.printJSON(
                RecordedDocument(
                    database: store.path,
                    created: true,
                    recorded: recorded,
                    pending: pending
                )
            )
        }
        store.tellCreation(to: context)
        context.output("Loaded \(dump.path.printable), and verified the result.")
        context.output(recorded.baselineSummary)
        context.output(PendingMigrations(pending, folder: store.folder).summary)
    }
}
