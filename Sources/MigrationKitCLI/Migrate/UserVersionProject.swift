import Foundation
import GRDB
import MigrationKit
import MigrationKitGRDB
import MigrationKitSQL

/// A new project for a database whose version code counts in `PRAGMA user_version`.
struct UserVersionProject {
    private let baseline: BaselineCommand
    private let folder: String

    /// The first migration, which has the schema; `nil` if the folder has migrations.
    private let first: (number: Int, sql: NewMigrationSQL)?

    /// Looks at what would be recorded, and changes nothing.
    ///
    /// - Parameters:
    ///   - path: The database.
    ///   - folder: The folder of migrations.
    ///   - options: The options for both, and for the key.
    ///   - isFolderEmpty: Whether the folder gets its first migration.
    /// - Throws: `MigrationAdoptionError`; ``CommandError`` if the schema isn't that of the version;
    ///   what opening the database throws.
    init(
        of path: String,
        _ folder: String,
        options: [String],
        isFolderEmpty: Bool,
        in context: CommandContext
    ) throws {
        let tool = MigrationTool.userVersion
        baseline = try BaselineCommand.parse(["--adopt", tool.rawValue] + options)
        self.folder = folder
        guard isFolderEmpty else {
            first = nil
            try baseline.check(in: context)
            return
        }
        let schema = try baseline.schema(
            of: .database(path),
            ignoring: context.ignoredTables([]),
            in: context
        )
        let (number, application) =
            try schema.database?.read { db in
                let runner = try GRDBMigrationRunner(steps: [])
                if let latest = try runner.appliedMigrationIdentifiers(in: db).max() {
                    throw MigrationKitError.baselineOnMigratedDatabase(latestApplied: latest)
                }
                return (
                    try Int.fetchOne(db, sql: "PRAGMA main.user_version") ?? 0,
                    try Int.fetchOne(db, sql: "PRAGMA main.application_id") ?? 0
                )
            } ?? (0, 0)
        guard number > 0 else { throw MigrationAdoptionError.noUserVersion(number) }
        var statements = schema.schema.statements
        if application != 0 { statements.append("PRAGMA application_id = \(application)") }
        // A new database tells other code its version, too. There is no way back: it would drop every
        // table.
        statements.append("-- migrate:older works\nPRAGMA user_version = \(number)")
        first = (number, NewMigrationSQL(up: statements))
    }

    /// Writes the first migration, and records as applied what the database has. If that is refused, the
    /// migration is removed again.
    ///
    /// - Returns: The files that were written, and the identifiers.
    func adopt(in context: CommandContext) throws -> (files: [String], recorded: [String]) {
        guard let first else { return ([], try baseline.record(in: context).identifiers) }
        let created = try MigrationFolder.create(
            "schema",
            in: folder,
            numbering: .number(first.number),
            names: context.namePattern,
            sql: first.sql
        )
        func remove() {
            created.files.forEach { try? FileManager.default.removeItem(atPath: $0) }
        }
        do {
            let recorded = try baseline.record(in: context).identifiers
            if recorded.contains(created.identifier) { return (created.files, recorded) }
            // Another process was faster, and this file got the next number.
            remove()
            return ([], recorded)
        } catch MigrationKitError.baselineOnMigratedDatabase(let latest) {
            // Another process may have recorded this file.
            throw MigrationKitError.baselineOnMigratedDatabase(latestApplied: latest)
        } catch {
            remove()
            throw error
        }
    }

    /// What would be done.
    var preview: String {
        guard let first else { return "Would record the migrations up to the database's version." }
        return "Would write the database's schema to a first migration, number \(first.number)."
    }
}
