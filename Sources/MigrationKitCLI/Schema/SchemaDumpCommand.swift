import ArgumentParser
import Foundation
import GRDB
import MigrationKitCommon
import MigrationKitSQL
import MigrationKitSchema

struct SchemaDumpCommand: DatabaseUsing {
    static var configuration: CommandConfiguration {
        CommandConfiguration(
            commandName: "schema-dump",
            _superCommandName: Program.name,
            abstract: "Write the schema that the migrations produce, or that of a database.",
            usage: """
                \(Program.name) schema-dump [--format <format>] [<options>]
                \(Program.name) schema-dump --check <path> [<options>]
                \(Program.name) schema-dump --db-path <path> [<options>]
                """,
            discussion: """
                Needs no database and no key: the migrations run on an empty one in memory. With \
                --db-path on the command line, it writes the schema of that database instead, \
                which is only read. Rows are not included.

                Formats: 'sql' can be loaded again, by 'schema-load' or any SQLite; 'json' is for \
                programs; 'mermaid' and 'dot' (Graphviz) are diagrams of the tables, their columns \
                and what refers to what.

                --check compares a file with what would be written. If they differ, it prints the \
                difference and exits with 3. In SQL, spaces, comments and quotes around names are no \
                difference.
                """
        )
    }

    @Option(
        help: ArgumentHelp("The format: sql, json, mermaid or dot; default: sql.")
    )
    var format: SchemaFormat?

    @Option(
        name: .shortAndLong,
        help: ArgumentHelp(
            "The file to write or replace; '-' is standard output.",
            valueName: "path"
        ),
        completion: .file()
    )
    var output = "-"

    @Option(
        help: ArgumentHelp("Compare with this file, and write nothing.", valueName: "path"),
        completion: .file()
    )
    var check: String?

    @Flag(help: "Print one JSON document.")
    var json = false

    @Flag(name: .shortAndLong, help: .quiet)
    var quiet = false

    @OptionGroup(title: "Database") var database: KeyedDatabaseOptions
    @OptionGroup(title: "Database") var encryption: EncryptionOptions
    @OptionGroup(title: "Migrations") var migrations: MigrationsOptions

    var isReport: Bool { output == "-" && check == nil }

    var needsNoDatabase: Bool { true }

    func validate() throws {
        let key =
            database.secret.named.first ?? (database.secret.rawKey ? "--raw-key" : nil)
            ?? database.keychain.keychainService.map { _ in "--keychain-service" }
            ?? (encryption.noEncryption ? "--no-encryption" : nil)
        if let key, database.dbPath == nil {
            throw ValidationError(
                "\(key) needs --db-path. Without a database, the schema is that of the migrations."
            )
        }
        if check != nil, output != "-" {
            throw ValidationError("--check writes nothing. Leave out --output.")
        }
    }

    func run(in context: CommandContext) throws {
        let format = format ?? .sql
        let text = try schema(as: format, in: context)
        if let check {
            return try compare(check, with: text, format: format, in: context)
        }
        guard output != "-" else {
            // The JSON format is already a JSON document.
            if json, format != .json {
                return try context.printJSON(
                    fields: ["format": format.rawValue, format.rawValue: text]
                )
            }
            return context.outputLines(text.hasSuffix("\n") ? String(text.dropLast()) : text)
        }
        try OutputFile(path: output).write(text, besides: migrations.folder(in: context))
        if json {
            return try context.printJSON(fields: ["format": format.rawValue, "output": output])
        }
        context.output("Wrote the schema to \(output.printable)")
    }

    /// A database is opened only if the command line names it, so that a dump of the migrations
    /// needs no key.
    private func schema(as format: SchemaFormat, in context: CommandContext) throws -> String {
        guard database.dbPath != nil else {
            let runner = try migrations.load(in: context, ofStranger: true).runnerWithoutDrafts()
            return try format.text(of: runner, in: context)
        }
        context.settingsSource.use(migrations.config)
        let writer = try context.open(
            database,
            for: .examine,
            isPlaintext: encryption.noEncryption
        ).writer
        let applied = try GRDBMigrationRunner(steps: []).appliedMigrationIdentifiers(in: writer)
            .sorted { $0.compare($1, options: .numeric) == .orderedAscending }
        return try writer.read { try format.text(of: $0, applied) }
    }

    // MARK: - Comparing

    private func compare(
        _ path: String,
        with text: String,
        format: SchemaFormat,
        in context: CommandContext
    ) throws {
        let command = command(writing: path)
        let found = try contents(of: path, command: command)
        let matches =
            found == Array(text.utf8)
            || format == .sql && isSameSchema(found, text, path: path, in: context)
        let difference =
            matches
            ? ""
            : UnifiedDifference(
                from: (path, String(decoding: found, as: UTF8.self)),
                to: (database.dbPath ?? "migrations", text)
            ).lines.joined(separator: "\n")
        if json {
            try context.printJSON(
                fields: [
                    "file": path, "format": format.rawValue, "matches": matches,
                    "difference": difference,
                ]
            )
        } else {
            context.outputLines(matches ? "\(path.printable) is up to date." : difference)
        }
        guard matches else {
            throw CommandError.fileDiffers(
                path: path,
                isDatabases: database.dbPath != nil,
                command: command
            )
        }
    }

    /// What a dump makes of an empty database.
    private struct LoadedDump {
        let schema: DatabaseSchema
        let migrations: Set<String>
        /// `user_version` and `application_id`.
        let numbers: [Int]

        init(_ sql: [UInt8], path: String, in context: CommandContext) throws {
            let dump = try SQLDump(sql, name: path)
            let ignored = try context.ignoredTables([])
            let queue = try DatabaseQueue(configuration: context.configurationOfSteps)
            (schema, migrations, numbers) = try queue.write { db in
                try dump.run(in: db)
                return (
                    try DatabaseSchema(of: db)
                        .ignoring(tables: ignored + MigrationTool.recordTables(in: db)),
                    try GRDBMigrationRunner(steps: []).appliedMigrationIdentifiers(in: db),
                    try ["user_version", "application_id"].map {
                        try Int.fetchOne(db, sql: "PRAGMA main.\($0)") ?? 0
                    }
                )
            }
        }
    }

    /// Whether a file's SQL makes the same schema as a dump, in other words: SQLite adds quotes to a
    /// name when a table is renamed. If the file records migrations, they are the same, too, and so are
    /// the numbers of the header. A file written by hand may leave out both.
    private func isSameSchema(
        _ file: [UInt8],
        _ text: String,
        path: String,
        in context: CommandContext
    ) -> Bool {
        // The difference of the texts also shows what is wrong with a file that can't be loaded.
        guard let found = try? LoadedDump(file, path: path, in: context),
            let wanted = try? LoadedDump(Array(text.utf8), path: path, in: context),
            let difference = try? SchemaDifference(from: found.schema, to: wanted.schema)
        else { return false }
        let isByHand = found.migrations.isEmpty
        return difference.isEmpty
            && (isByHand || found.migrations == wanted.migrations)
            && zip(found.numbers, wanted.numbers).allSatisfy { $0 == $1 || isByHand && $0 == 0 }
    }

    private func contents(of path: String, command: String) throws -> [UInt8] {
        try Repository.refuseLink(path)
        do {
            return try FileContents.of(path)
        } catch let error as POSIXError {
            switch error.code {
            case .ENOENT, .ENOTDIR:
                throw CommandError.noSchemaFile(path: path, command: command)
            case .EISDIR:
                throw CommandError(
                    ErrorCode("isDirectory", .noInput),
                    "\(path) is a folder, not a file",
                    "Give the path of the file in it."
                )
            default:
                throw CommandError(
                    ErrorCode("unreadableFile", .noPermission),
                    "\(path) can't be read: \(error.reason)",
                    "Check the file and its permissions."
                )
            }
        }
    }

    private func command(writing path: String) -> String {
        let format = format.map { " --format \($0.rawValue)" } ?? ""
        let database = database.dbPath.map { " --db-path \($0.shellWord)" } ?? ""
        let options =
            database + migrations.given.map { " \($0.option) \($0.value.shellWord)" }.joined()
        return
            "\(Program.name) schema-dump\(format)\(options) --output \(path.shellWord)"
    }
}

// MARK: - Errors

extension CommandError {
    /// A file differs from the schema of the migrations, or from that of a database.
    ///
    /// - Parameter command: What rewrites the file.
    fileprivate static func fileDiffers(
        path: String,
        isDatabases: Bool,
        command: String
    ) -> CommandError {
        CommandError(
            ErrorCode("schemaDiffers", .differs),
            "\(path) differs from the schema of the \(isDatabases ? "database" : "migrations")",
            """
            The difference is on standard output: '-' is in the file, '+' in the schema of the \
            \(isDatabases ? "database. If the database is" : "migrations. If the migrations are") \
            right, write the file again:
              \(command)
            """
        )
    }

    /// There is no file to compare with.
    fileprivate static func noSchemaFile(path: String, command: String) -> CommandError {
        CommandError(
            ErrorCode("noSuchFile", .noInput),
            "there is no file \(path)",
            "Check the path, or write the file:\n  \(command)"
        )
    }
}
