import ArgumentParser
import Foundation
import GRDB
import MigrationKit
import MigrationKitSQLCipher
import MigrationKitSchema

/// The formats of `schema-dump`.
enum SchemaFormat: String, CaseIterable, ExpressibleByArgument {
    case sql, json, mermaid, dot

    /// The schema that the migrations produce. It ends with a line feed.
    ///
    /// The host makes the SQL. For a folder, the migrations are recorded at its end. The other
    /// formats are read from a database in memory on which the steps have run.
    ///
    /// - Throws: ``MigrationCLIError/schemaSnapshotNotConfigured``; what a step throws.
    func text(of runner: GRDBMigrationRunner, in context: CommandContext) throws -> String {
        let host = context.host
        switch self {
        case .sql:
            if host.hasFolder {
                let schema = try GRDBSchemaSnapshotProvider(
                    configuration: context.configurationOfSteps,
                    migrate: { try runner.migrate(in: $0) }
                ).generateCanonicalSnapshot()
                return schema + Self.ledger(of: runner.migrationIdentifiers)
            }
            guard let generateSchemaSnapshot = host.generateSchemaSnapshot else {
                throw MigrationCLIError.schemaSnapshotNotConfigured
            }
            let schema = try generateSchemaSnapshot(runner)
            return host.opensItself
                ? schema : schema + Self.ledger(of: runner.migrationIdentifiers)
        case .json, .mermaid, .dot:
            return try runner.inMemory(configuration: context.configurationOfSteps) {
                try text(of: $0, runner.migrationIdentifiers)
            }
        }
    }

    /// The schema of a database. It ends with a line feed.
    ///
    /// - Parameters:
    ///   - db: The database.
    ///   - migrations: The migrations that have led there.
    func text(of db: Database, _ migrations: [String]) throws -> String {
        switch self {
        case .sql:
            return try GRDBSchemaSnapshotProvider.snapshot(of: db)
                + (migrations.isEmpty ? "" : Self.ledger(of: migrations))
        case .json:
            let schema = try SchemaDescription(of: db)
            let document: JSONFields = [
                "schemaVersion": JSON.schemaVersion, "migrations": migrations,
                "tables": schema.tables, "views": schema.views, "triggers": schema.triggers,
            ]
            return try JSON.text(of: document, isPretty: true) + "\n"
        case .mermaid:
            return MermaidDiagram(of: try SchemaDescription(of: db)).text
        case .dot:
            return GraphvizDiagram(of: try SchemaDescription(of: db)).text
        }
    }

    /// The statements that record the schema's migrations, for `schema-load` and for any SQLite.
    private static func ledger(of identifiers: [String]) -> String {
        let values = identifiers.map { "    (\($0.sqlString))" }
        return """

            -- The migrations that have led here.
            CREATE TABLE grdb_migrations (identifier TEXT NOT NULL PRIMARY KEY);
            INSERT INTO grdb_migrations (identifier) VALUES
            \(values.joined(separator: ",\n"));

            """
    }
}
