import ArgumentParser
import Foundation

struct SchemaDumpCommand<Migrations: MigrationsOptions>: ContextCommand {
    static var configuration: CommandConfiguration {
        CommandConfiguration(
            commandName: "schema-dump",
            abstract: "Write down, as SQL, the schema that the migrations lead to.",
            usage: "\(Migrations.programName) schema-dump [--output <path>] [<options>]",
            discussion: """
                Needs no database and no key: the migrations run on an empty one in memory.
                """
        )
    }

    @Option(
        name: .shortAndLong,
        help: ArgumentHelp(
            "The file to write, replacing what is there ('-': standard output).",
            valueName: "path"
        )
    )
    var output = "-"

    @Flag(help: "Print one JSON document.")
    var json = false

    @OptionGroup(title: "Migrations") var migrations: Migrations

    func run(in context: CommandContext) throws {
        guard let generateSchemaSnapshot = context.host.generateSchemaSnapshot else {
            throw MigrationCLIError.schemaSnapshotNotConfigured
        }
        let runner = try migrations.load(from: context.host, context: context).runner
        let sql = try generateSchemaSnapshot(runner)
        guard output != "-" else {
            if json {
                return try context.printJSON(Document(sql: sql))
            }
            return context.output(sql.hasSuffix("\n") ? String(sql.dropLast()) : sql)
        }
        do {
            try Data(sql.utf8).write(to: URL(fileURLWithPath: output), options: .atomic)
        } catch {
            throw MigrationCLIError.cannotWrite(path: output, reason: Self.reason(error))
        }
        if json {
            return try context.printJSON(Document(output: output))
        }
        context.output("Schema snapshot written to \(output)")
    }

    private static func reason(_ error: any Error) -> String {
        let underlying = (error as NSError).userInfo[NSUnderlyingErrorKey] as? any Error
        guard let posix = (underlying ?? error) as? POSIXError else {
            return error.localizedDescription
        }
        return String(cString: strerror(posix.code.rawValue)).lowercased()
    }

    private struct Document: Encodable {
        let schemaVersion = JSON.schemaVersion
        var sql: String?
        var output: String?
    }
}
