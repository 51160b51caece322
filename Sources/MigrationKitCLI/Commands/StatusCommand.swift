import ArgumentParser
import MigrationKit

struct StatusCommand<Migrations: MigrationsOptions>: StoreCommand {
    static var configuration: CommandConfiguration {
        CommandConfiguration(
            commandName: "status",
            abstract: "Show which migrations are applied.",
            usage: "\(Migrations.programName) status [<options>]",
            discussion: """
                'up' is applied, 'down' is pending, and 'unknown' was applied by a newer program.
                """
        )
    }

    @Flag(help: "Show every setting and where it comes from, and open nothing.")
    var showSettings = false

    @Flag(help: "Print one JSON document.")
    var json = false

    @OptionGroup(title: "Database") var database: KeyedDatabaseOptions
    @OptionGroup(title: "Database") var encryption: EncryptionOptions
    @OptionGroup(title: "Migrations") var migrations: Migrations

    func run(in context: CommandContext) throws {
        if showSettings { return try context.showSettings(of: self, json: json) }
        let opened = try openStore(in: context)
        let runner = opened.runner
        let applied = try runner.appliedMigrationIdentifiers(in: opened.writer)
        let unknown = applied.subtracting(runner.migrationIdentifiers).sorted()
        let pending = runner.migrationIdentifiers.filter { !applied.contains($0) }

        let rows =
            runner.migrationManifest.map { migration in
                Row(
                    identifier: migration.identifier,
                    source: migration.sourceFile,
                    state: (applied.contains(migration.identifier)
                        ? MigrationState.up : .down).rawValue
                )
            } + unknown.map { Row(identifier: $0, source: nil, state: "unknown") }

        if json {
            return try context.printJSON(
                Document(database: opened.path, migrations: rows, pending: pending)
            )
        }
        context.output(Self.table(rows))
        context.output("")
        context.output(
            pending.isEmpty
                ? "Nothing is pending."
                : "\(pending.count) pending: 'migrate' applies \(pending.count == 1 ? "it" : "them")."
        )
        if !unknown.isEmpty {
            context.output(
                "\(unknown.count) unknown: a newer program was here, so 'migrate' will refuse."
            )
        }
    }

    private static func table(_ rows: [Row]) -> String {
        let width = max(9, rows.map(\.identifier.count).max() ?? 0)
        func line(_ state: String, _ identifier: String, _ source: String) -> String {
            let cells = [
                state.padded(to: 7), identifier.padded(to: width), source,
            ]
            return cells.joined(separator: "  ").trimmingTrailingSpaces()
        }
        let lines = rows.map { line($0.state, $0.identifier, $0.source ?? "") }
        return ([line("STATE", "MIGRATION", "SOURCE")] + lines).joined(separator: "\n")
    }

    private struct Row: Encodable {
        let identifier: String
        let source: String?
        let state: String
    }

    private struct Document: Encodable {
        let schemaVersion = JSON.schemaVersion
        let database: String?
        let migrations: [Row]
        let pending: [String]
    }
}
