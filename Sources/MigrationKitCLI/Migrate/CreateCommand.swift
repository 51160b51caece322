import ArgumentParser
import GRDB
import MigrationKitGRDB
import MigrationKitSQL

struct CreateCommand: ContextCommand {
    static var configuration: CommandConfiguration {
        CommandConfiguration(
            commandName: "create",
            _superCommandName: FolderMigrations.programName,
            abstract: "Write the files of a new migration.",
            usage: """
                \(FolderMigrations.programName) create <name> [--timestamp] [<options>]
                \(FolderMigrations.programName) create --rebuild <table> [<name>] [<options>]
                """,
            discussion: """
                The files have the folder's format and the next number. No database and no key is \
                needed. Until you write SQL into them, the migration is a draft, which 'migrate' \
                refuses.

                With --rebuild, the files have the statements that give a table a new definition \
                and keep its rows, indexes, triggers, views and foreign keys, up and down, from \
                the schema that the folder's migrations produce. Unchanged, they change nothing.
                """
        )
    }

    @Argument(help: ArgumentHelp("What the migration does, such as 'add tags'.", valueName: "name"))
    var name: String?

    @Option(
        help: ArgumentHelp(
            "Write the rebuild of a table, for changes that ALTER TABLE can't make.",
            valueName: "table"
        )
    )
    var rebuild: String?

    @Flag(help: "Use the date and time in UTC as the number.")
    var timestamp = false

    @Option(
        help: ArgumentHelp(
            "The format, for an empty folder; default: dbmate.",
            valueName: "format"
        )
    )
    var format: MigrationFormat?

    @Flag(help: "Print one JSON document.")
    var json = false

    @OptionGroup(title: "Migrations") var migrations: FolderMigrations

    func validate() throws {
        guard name == nil, rebuild == nil else { return }
        throw ValidationError("Missing expected argument '<name>'")
    }

    func run(in context: CommandContext) throws {
        let rebuilding = try rebuild.map { try RebuildMigration(of: $0, migrations, context) }
        let created = try MigrationFolder.create(
            name ?? rebuilding?.name ?? "",
            in: migrations.path(in: context),
            format: format,
            numbering: timestamp ? .timestamp : .asLatest,
            sql: rebuilding?.sql ?? NewMigrationSQL()
        )
        if json {
            return try context.printJSON(
                Document(identifier: created.identifier, files: created.files)
            )
        }
        for file in created.files {
            context.output("Created \(file.printable)")
        }
        let them = created.files.count == 1 ? "it" : "them"
        guard rebuilding == nil else {
            return context.output(
                """
                Change the CREATE TABLE and the copied columns in \(them). As written, the migration \
                changes nothing.
                """
            )
        }
        context.output("Write the SQL into \(them); 'plan' then shows what would run.")
        context.output("'lint' finds what would lose data or fail in it.")
    }

    private struct Document: Encodable {
        let schemaVersion = JSON.schemaVersion
        let identifier: String
        let files: [String]
    }
}

/// A migration that rebuilds a table without changing it, for its author to edit.
private struct RebuildMigration {
    let name: String
    let sql: NewMigrationSQL

    /// Applies the folder's migrations to a database in memory, and reads the table from it.
    ///
    /// - Throws: ``MigrationCLIError/unknownTable(_:nearest:)``; a `TableRebuildError`; what a
    ///   migration throws.
    init(of table: String, _ migrations: FolderMigrations, _ context: CommandContext) throws {
        let runner = try migrations.load(from: context.host, context: context).runner
        let rebuild = try runner.inMemory { db in
            do {
                return try TableRebuild(of: table, in: db)
            } catch TableRebuildError.noSuchTable {
                let tables = try SchemaDescription(of: db).tables.map(\.name)
                throw MigrationCLIError.unknownTable(
                    table,
                    nearest: nearest(to: table, among: tables)
                )
            }
        }
        name = "rebuild " + rebuild.table.map { $0.isLetter || $0.isNumber ? $0 : "_" }
        let comment = """
            -- Rebuilds \(rebuild.table.printable). Change the CREATE TABLE, and the columns of the INSERT: those
            -- of the new table are in parentheses, their values after SELECT.
            -- Foreign keys must be off meanwhile, as they are in the migrations of this tool.
            -- https://www.sqlite.org/lang_altertable.html#otheralter

            """
        let statements =
            [comment + (rebuild.statements.first ?? "")]
            + rebuild.statements.dropFirst()
        sql = NewMigrationSQL(up: statements, down: statements)
    }
}

extension MigrationFormat: ExpressibleByArgument {
    /// The names on the command line.
    public static var allValueStrings: [String] {
        allCases.map(\.argument)
    }

    /// Reads a name from the command line.
    ///
    /// - Parameter argument: The name.
    public init?(argument: String) {
        guard let format = Self.allCases.first(where: { $0.argument == argument }) else {
            return nil
        }
        self = format
    }

    /// Its name on the command line.
    var argument: String { self == .upOnly ? "up-only" : rawValue }
}
