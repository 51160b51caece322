import ArgumentParser
import Foundation
import MigrationKitGRDB
import MigrationKitSQL
import MigrationKitSQLCipher

struct SchemaLoadCommand: StoreCommand {
    static var configuration: CommandConfiguration {
        CommandConfiguration(
            commandName: "schema-load",
            _superCommandName: Program.name,
            abstract: "Create a new database from a dump of the schema.",
            usage: "\(Program.name) schema-load <file> [<options>]",
            discussion: """
                The file comes from 'schema-dump'. The migrations that it contains are recorded as \
                applied without running. Later ones are pending. A dump has no rows, so rows that \
                migrations insert are missing.

                The database appears only when it is complete and verified. If loading fails, no \
                file is left. An existing file is refused with exit code 73.
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

    @Flag(name: .shortAndLong, help: .quiet)
    var quiet = false

    @OptionGroup(title: "Database") var database: KeyedDatabaseOptions
    @OptionGroup(title: "Database") var encryption: EncryptionOptions
    @OptionGroup(title: "Migrations") var migrations: MigrationsOptions

    private var readsStandardInput: Bool { file == "-" }

    func validate() throws {
        if readsStandardInput,
            database.secret.sources.contains(where: { $0.descriptor == STDIN_FILENO })
        {
            throw ValidationError("Standard input can't give both the dump and the key.")
        }
    }

    func run(in context: CommandContext) throws {
        let dump =
            readsStandardInput
            ? try SQLDump(descriptor: STDIN_FILENO, name: "standard input")
            : try SQLDump(path: file)
        guard let path = try database.file.path(in: context) else {
            throw MigrationCLIError.noDatabasePath
        }
        let new = try Self.refusingFile { try NewDatabase(at: path) }
        defer { new.discard() }
        let store = try openStore(
            loadMigrations(in: context),
            for: .fill(draft: new.path),
            in: context
        )
        let recorded = try store.watch(MigrationOptions(), in: context) { options in
            guard try new.isMade else {
                throw CommandError(
                    ErrorCode("opensAnotherFile", .cannotCreate),
                    "this program doesn't open the database that --db-path names",
                    "Its 'openWriter' must open the path that it is given."
                )
            }
            let recorded = try store.runner.load(
                in: store.writer,
                options: options,
                dump: dump.run(in:)
            )
            try Self.refusingFile { try new.publish(store.writer) }
            return recorded
        }
        let pending = Array(store.runner.migrationIdentifiers[recorded.count...])
        if json {
            return try context.printJSON(
                fields: [
                    "database": store.path, "created": true, "recorded": recorded,
                    "pending": pending,
                ]
            )
        }
        store.tellCreation(to: context)
        context.output("Loaded \(dump.path.printable), and verified the result.")
        context.output(recorded.baselineSummary)
        context.output(PendingMigrations(pending, folder: store.folder).summary)
    }

    private static func refusingFile<Value>(_ body: () throws -> Value) throws -> Value {
        do {
            return try body()
        } catch DatabaseConversionError.exists(let found) {
            throw CommandError(
                ErrorCode("databaseExists", .cannotCreate),
                "\(found) already exists",
                "A dump creates a new database. Choose another path, or move the existing file away."
            )
        }
    }
}

extension SQLDumpError: ToolSuggesting {
    var suggestion: String? {
        guard case .noSuchFile = self else { return recoverySuggestion }
        return "Check the path. 'schema-dump' writes such a file."
    }
}
