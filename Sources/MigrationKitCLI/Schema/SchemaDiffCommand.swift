import ArgumentParser
import Foundation
import MigrationKitSQL
import MigrationKitSchema

struct SchemaDiffCommand: DifferenceCommand {
    static var configuration: CommandConfiguration {
        CommandConfiguration(
            commandName: "schema-diff",
            _superCommandName: Program.name,
            abstract: "Show what differs between two schemas.",
            usage: """
                \(Program.name) schema-diff [--from <schema>] --to <schema> [<options>]
                """,
            discussion: """
                A schema is a folder of migrations, a dump that 'schema-dump' has written ('-': \
                standard input), or a database, which is only read. --from defaults to the \
                project's migrations. Schemas are compared as SQLite understands them: spaces, \
                comments and quotes around names are no difference.

                Formats: 'human', a list by table; 'json' for programs; 'sql', the migration that \
                leads from one schema to the other, and back. It is proved before it is printed.

                With --exit-code, the command exits with 3 if the schemas differ.
                """
        )
    }

    @Option(
        name: .customLong("from"),
        help: ArgumentHelp(
            "The present schema; default: that of the migrations.",
            valueName: "schema"
        ),
        completion: .file()
    )
    var from: String?

    @Option(help: ArgumentHelp("The wanted schema.", valueName: "schema"), completion: .file())
    var to: String

    @Option(help: "The format: human, json or sql; default: human.")
    var format: DifferenceFormat?

    @Flag(help: "Print the difference of the two dumps, as 'diff -u' does.")
    var unified = false

    @Flag(help: "Exit with 3 if the schemas differ.")
    var exitCode = false

    @Flag(help: "Print one JSON document.")
    var json = false

    @Flag(name: .shortAndLong, help: .quiet)
    var quiet = false

    @OptionGroup(title: "Difference") var comparison: DifferenceOptions
    @OptionGroup(title: "Database") var database: KeyedDatabaseOptions
    @OptionGroup(title: "Database") var encryption: EncryptionOptions
    @OptionGroup(title: "Migrations") var migrations: MigrationsOptions

    var isReport: Bool { true }

    var needsNoDatabase: Bool { true }

    func validate() throws {
        guard !json || format ?? .json == .json else {
            throw ValidationError("--json is the same as --format json. Use only one.")
        }
        guard !unified || !json && format ?? .human == .human else {
            throw ValidationError("--unified is for people. Leave out the format.")
        }
        guard format == .sql || comparison.allowedHazards.isEmpty else {
            throw ValidationError("--allow-hazard is for a migration: add --format sql.")
        }
        guard format == .sql || comparison.givenBackfills.isEmpty else {
            throw ValidationError("--backfill is for a migration: add --format sql.")
        }
    }

    func run(in context: CommandContext) throws {
        context.settingsSource.use(migrations.config)
        let sources = (try from.map(SchemaSource.init) ?? .migrations, try SchemaSource(to))
        try checkStandardInput([sources.0, sources.1])
        let ignored = try context.ignoredTables(comparison.ignoredTables)
        let from = try schema(of: sources.0, ignoring: ignored, in: context)
        let to = try schema(of: sources.1, ignoring: ignored, in: context)
        let difference = try difference(
            from: from.schema,
            to: to.schema,
            asks: format == .sql,
            in: context
        )
        switch json ? .json : format ?? .human {
        case .json: try context.printJSON(fields: document(of: difference, from: from, to: to))
        case .human:
            guard !difference.isEmpty else { return context.output("No difference.") }
            context.output(
                unified
                    ? UnifiedDifference(
                        from: (from.source.name.printable, from.text),
                        to: (to.source.name.printable, to.text)
                    ).lines.joined(separator: "\n")
                    : ChangeList(changes: difference.changes, style: context.style).text
            )
        case .sql:
            guard !difference.isEmpty else { return context.output("-- No difference.") }
            context.output(try sql(difference, from: from, in: context))
        }
        guard !exitCode || difference.isEmpty else {
            throw CommandError(
                ErrorCode("schemaDiffers", .differs),
                "\(from.source.name) and \(to.source.name) have different schemas",
                "'create NAME --to SCHEMA' writes the migration that leads to a schema."
            )
        }
    }

    /// The migration as the folder's next file, or its next two.
    private func sql(
        _ difference: SchemaDifference,
        from: ComparedSchema,
        in context: CommandContext
    ) throws -> String {
        let present = try from.database ?? database.dbPath.map { try open($0, in: context) }
        let folder = try folder(of: from.source, in: context)
        let names = try context.namePattern
        let format =
            try folder.map { try MigrationFolder.newFormat(in: $0, names: names) } ?? .dbmate
        let sql = try provenMigration(difference, present: present, in: context)
            .proof.sql(as: format)
        let files = try MigrationFolder.preview("schema_diff", in: folder, names: names, sql: sql)
        let texts = files.map { files.count == 1 ? $0.text : "-- \($0.path)\n\($0.text)" }
        return texts.joined(separator: "\n").trimmingCharacters(in: .newlines)
    }

    /// The folder whose form the migration gets; `nil` if there is none.
    private func folder(of source: SchemaSource, in context: CommandContext) throws -> String? {
        if case .folder(let path) = source { return path }
        guard context.host.hasFolder else { return nil }
        let path = try migrations.path(in: context)
        return FileManager.default.fileExists(atPath: path) ? path : nil
    }
    private func document(
        of difference: SchemaDifference,
        from: ComparedSchema,
        to: ComparedSchema
    ) -> JSONFields {
        let renames = difference.possibleRenames.map { rename -> JSONFields in
            ["table": rename.table, "column": rename.column, "newName": rename.newName]
        }
        return [
            "from": from.source.name, "to": to.source.name, "matches": difference.isEmpty,
            "changes": difference.changes,
            "possibleRenames": renames,
        ]
    }
}

/// The formats of `schema-diff`.
enum DifferenceFormat: String, CaseIterable, ExpressibleByArgument {
    case human, json, sql
}
