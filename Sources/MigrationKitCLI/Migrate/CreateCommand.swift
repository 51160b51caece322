import ArgumentParser
import Foundation
import GRDB
import MigrationKitCommon
import MigrationKitLint
import MigrationKitSQL
import MigrationKitSchema

struct CreateCommand: DifferenceCommand {
    static var configuration: CommandConfiguration {
        CommandConfiguration(
            commandName: "create",
            _superCommandName: Program.name,
            abstract: "Write the files of a new migration.",
            usage: """
                \(Program.name) create <name> [--timestamp] [<options>]
                \(Program.name) create --rebuild <table> [<name>] [<options>]
                \(Program.name) create <name> --to <schema> [<options>]
                """,
            discussion: """
                The files have the folder's format and the next number. No database and no key is \
                needed. Until you write SQL into them, the migration is a draft, which 'migrate' \
                refuses.

                With --rebuild, the files have the statements that give a table a new definition \
                and keep its rows, indexes, triggers, views and foreign keys, up and down, from \
                the schema that the folder's migrations produce. If you don't edit them, the table \
                stays as it is.

                With --to, the files have the statements that lead from the schema of the folder's \
                migrations to another one, and back: that of a dump ('-': standard input), of \
                another folder, or of a database, which is only read. They are proved on generated \
                rows before they are written. What may lose or refuse rows must be allowed by \
                name. If --db-path is given, the rows concerned are counted in that database.
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

    @Option(
        help: ArgumentHelp("Write what leads to this schema.", valueName: "schema"),
        completion: .file()
    )
    var to: String?

    @Flag(
        help: """
            Also prove the migration on a copy of the database, which is encrypted with the same \
            key and removed at once.
            """
    )
    var proveOnCopy = false

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

    @Flag(name: .shortAndLong, help: .quiet)
    var quiet = false

    @OptionGroup(title: "Difference, with --to") var comparison: DifferenceOptions
    @OptionGroup(title: "Database, with --to") var database: KeyedDatabaseOptions
    @OptionGroup(title: "Database, with --to") var encryption: EncryptionOptions
    @OptionGroup(title: "Migrations") var migrations: MigrationsOptions

    var isReport: Bool { true }

    var needsNoDatabase: Bool { true }

    func validate() throws {
        guard name != nil || rebuild != nil && to == nil else {
            throw ValidationError("Missing expected argument '<name>'")
        }
        guard to == nil || rebuild == nil else {
            throw ValidationError("--rebuild and --to write different migrations. Use only one.")
        }
        guard to != nil || !comparison.isGiven, to != nil || !proveOnCopy else {
            throw ValidationError(
                "--rename, --ignore-table, --allow-hazard, --backfill and --prove-on-copy need --to."
            )
        }
    }

    func run(in context: CommandContext) throws {
        if migrations.migrations == nil {
            try context.checkPlace(ofFound: "migrations", migrations.path(in: context))
        }
        try checkName(in: context)
        if let to { return try writeDifference(to: to, in: context) }
        let rebuilding = try rebuild.map { try RebuildMigration(of: $0, migrations, context) }
        let created = try MigrationFolder.create(
            name ?? rebuilding?.name ?? "",
            in: migrations.path(in: context),
            format: format,
            numbering: timestamp ? .timestamp : .asLatest,
            names: context.namePattern,
            sql: rebuilding?.sql ?? NewMigrationSQL()
        )
        if json {
            return try context.printJSON(
                fields: ["identifier": created.identifier, "files": created.files]
            )
        }
        tell(created.files, in: context)
        guard !quiet else { return }
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

    /// Refuses a name that was meant otherwise.
    private func checkName(in context: CommandContext) throws {
        guard name != "help" else {
            throw CommandError(
                ErrorCode("usage", .usage),
                "'help' is no name of a migration",
                "'create --help' lists what the command takes."
            )
        }
        // What is wrong with the folder is said when the file is written.
        let runner = try? migrations.load(in: context, ofStranger: true).runner
        guard let name, runner?.migrationIdentifiers.contains(name) == true else { return }
        throw CommandError(
            ErrorCode("usage", .usage),
            "there is a migration '\(name)' already",
            "Nothing was created. 'plan' shows its SQL if it is pending. A new one needs another name."
        )
    }

    /// The paths are what a script asks for.
    private func tell(_ files: [String], in context: CommandContext) {
        for file in files { context.output((quiet ? "" : "Created ") + file.printable) }
    }

    // MARK: - From a Difference

    private func writeDifference(to path: String, in context: CommandContext) throws {
        // Without --prove-on-copy, no database is needed, and so none is opened that isn't named here.
        let presentPath =
            try proveOnCopy ? context.value(\.dbPath, of: database.file) : database.dbPath
        guard !proveOnCopy || presentPath != nil else { throw MigrationCLIError.noDatabasePath }
        let source = try SchemaSource(path)
        try checkStandardInput([source] + (presentPath.map { [.database($0)] } ?? []))
        let ignored = try context.ignoredTables(comparison.ignoredTables)
        let from = try schema(
            of: .migrations,
            ignoring: ignored,
            allowsNoMigrations: true,
            in: context
        )
        let to = try schema(of: source, ignoring: ignored, in: context)
        let difference = try difference(from: from.schema, to: to.schema, asks: true, in: context)
        guard !difference.isEmpty else {
            guard !json else {
                return try context.printJSON(
                    fields: [
                        "files": [String](), "changes": [String](), "hazards": [String](),
                        "notBroughtBack": [String](), "refusedOnWayBack": [String](),
                    ]
                )
            }
            return quiet ? () : context.output("No difference. Nothing was written.")
        }
        let folder = try migrations.path(in: context)
        let present = try presentPath.map { try open($0, in: context) }
        let (migration, proof) = try provenMigration(
            difference,
            ignoring: ignored,
            present: present,
            in: context
        )
        let sql = try proof.sql(as: newFormat(in: folder, context))
        var counts: [SchemaMigrationProof.RowCount]?
        if proveOnCopy, let present, let path = presentPath {
            counts = try proof.run(
                onCopyOf: present,
                at: path,
                after: migrations.load(in: context).runnerWithoutDrafts(),
                in: context
            )
        }
        let created = try MigrationFolder.create(
            name ?? "",
            in: folder,
            format: format,
            numbering: timestamp ? .timestamp : .asLatest,
            names: context.namePattern,
            sql: sql
        )
        guard !json else {
            return try context.printJSON(
                fields: [
                    "identifier": created.identifier, "files": created.files,
                    "changes": difference.changes,
                    "hazards": migration.hazards,
                    "notBroughtBack": migration.notBroughtBack,
                    "refusedOnWayBack": migration.refusedOnWayBack,
                    // How many rows the copy has in all tables.
                    "provedRows": counts?.map(\.after).reduce(0, +),
                ]
            )
        }
        tell(created.files, in: context)
        guard !quiet else { return }
        context.output(ChangeList(changes: difference.changes, style: context.style).text)
        context.output("Proved on generated rows: up, down and up again.")
        if let counts, let path = presentPath {
            let rows = counts.map(\.after).reduce(0, +)
            context.output(
                "Proved on a copy of \(path.printable) with \(counted(rows, "row"))."
            )
        }
        for hazard in migration.hazards {
            context.output("Allowed: \(hazard.title)")
        }
        for part in migration.notBroughtBack {
            context.output("The rollback can't bring back \(part.printable).")
        }
        for part in migration.refusedOnWayBack {
            context.output("The rollback may fail: \(part.printable).")
        }
    }

    /// The format of what is written. Without a folder, it is that of an empty one.
    private func newFormat(in folder: String, _ context: CommandContext) throws -> MigrationFormat {
        let names = try context.namePattern
        guard names != nil || FileManager.default.fileExists(atPath: folder) else {
            return format ?? .dbmate
        }
        return try MigrationFolder.newFormat(in: folder, format, names: names)
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
    init(of table: String, _ migrations: MigrationsOptions, _ context: CommandContext) throws {
        let runner = try migrations.load(in: context, ofStranger: true).runner
        let rebuild = try runner.inMemory(configuration: context.configurationOfSteps) { db in
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
