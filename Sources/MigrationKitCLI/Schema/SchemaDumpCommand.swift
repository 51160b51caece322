import ArgumentParser
import Foundation
import MigrationKitSQL

struct SchemaDumpCommand<Migrations: MigrationsOptions>: ContextCommand {
    static var configuration: CommandConfiguration {
        CommandConfiguration(
            commandName: "schema-dump",
            _superCommandName: Migrations.programName,
            abstract: "Write the schema that the migrations produce.",
            usage: """
                \(Migrations.programName) schema-dump [--format <format>] [<options>]
                \(Migrations.programName) schema-dump --check <path> [<options>]
                """,
            discussion: """
                Needs no database and no key: the migrations run on an empty one in memory. Rows \
                are not included.

                Formats: 'sql' can be loaded again, by 'schema-load' or any SQLite; 'json' is for \
                programs; 'mermaid' and 'dot' (Graphviz) are diagrams of the tables, their columns \
                and what refers to what.

                --check compares a file with what would be written. If they differ, it prints the \
                difference and exits with 3.
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

    @OptionGroup(title: "Migrations") var migrations: Migrations

    func validate() throws {
        if check != nil, output != "-" {
            throw ValidationError("--check writes nothing. Leave out --output.")
        }
    }

    func run(in context: CommandContext) throws {
        let runner = try migrations.load(from: context.host, context: context)
            .runnerWithoutDrafts()
        let format = format ?? .sql
        let text = try format.text(of: runner, host: context.host)
        if let check {
            return try compare(check, with: text, format: format, in: context)
        }
        guard output != "-" else {
            // The JSON format is already a JSON document.
            if json, format != .json {
                return try context.printJSON(Document(format: format, text: text))
            }
            return context.output(text.hasSuffix("\n") ? String(text.dropLast()) : text)
        }
        try OutputFile(path: output).write(text)
        if json {
            return try context.printJSON(Document(format: format, output: output))
        }
        context.output("Wrote the schema to \(output.printable)")
    }

    // MARK: - Comparing

    private func compare(
        _ path: String,
        with text: String,
        format: SchemaFormat,
        in context: CommandContext
    ) throws {
        let command = command(writing: path)
        let found = Data(try contents(of: path, command: command))
        let matches = found == Data(text.utf8)
        let difference = UnifiedDifference(
            from: (path, String(decoding: found, as: UTF8.self)),
            to: ("migrations", text)
        ).lines.joined(separator: "\n")
        if json {
            try context.printJSON(
                Comparison(
                    file: path,
                    format: format.rawValue,
                    matches: matches,
                    difference: difference
                )
            )
        } else {
            context.output(matches ? "\(path.printable) is up to date." : difference)
        }
        guard matches else {
            throw SchemaCommandError.differs(path: path, command: command)
        }
    }

    private func contents(of path: String, command: String) throws -> [UInt8] {
        do {
            return try FileContents.of(path)
        } catch let error as POSIXError {
            switch error.code {
            case .ENOENT, .ENOTDIR:
                throw SchemaCommandError.noSuchFile(path: path, command: command)
            case .EISDIR:
                throw SchemaCommandError.isFolder(path: path)
            default:
                throw SchemaCommandError.unreadable(path: path, reason: error.reason)
            }
        }
    }

    private func command(writing path: String) -> String {
        let format = format.map { " --format \($0.rawValue)" } ?? ""
        let options = migrations.given.map { " \($0.option) \($0.value.shellWord)" }.joined()
        return
            "\(Migrations.programName) schema-dump\(format)\(options) --output \(path.shellWord)"
    }

    private struct Document: Encodable {
        let schemaVersion = JSON.schemaVersion
        let format: String
        var sql: String?
        var mermaid: String?
        var dot: String?
        var output: String?

        init(format: SchemaFormat, text: String? = nil, output: String? = nil) {
            self.format = format.rawValue
            self.output = output
            switch format {
            case .sql: sql = text
            case .mermaid: mermaid = text
            case .dot: dot = text
            case .json: break
            }
        }
    }

    private struct Comparison: Encodable {
        let schemaVersion = JSON.schemaVersion
        let file: String
        let format: String
        let matches: Bool
        let difference: String
    }
}
