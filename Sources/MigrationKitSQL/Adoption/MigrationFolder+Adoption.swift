import GRDB

extension MigrationFolder {
    /// The steps that another tool has applied to a database, according to its version table.
    ///
    /// ```swift
    /// let applied = try database.read { try folder.identifiersApplied(by: .dbmate, in: $0) }
    /// ```
    ///
    /// - Parameters:
    ///   - tool: The tool that has migrated the database.
    ///   - table: The name of the tool's table; `nil` is its default name.
    ///   - db: The database, in a transaction or not.
    /// - Returns: The identifiers in the folder's order; empty if the tool has applied nothing.
    /// - Throws: What ``adoption(from:table:in:)`` throws.
    public func identifiersApplied(
        by tool: MigrationTool,
        table: String? = nil,
        in db: Database
    ) throws -> [String] {
        try adoption(from: tool, table: table, in: db).identifiers
    }

    /// The steps that another tool has applied to a database, according to its version table, and
    /// notes for continuing the database here.
    ///
    /// Versions are compared as numbers, so `0001_a` is what the tool calls `1`. Versions of
    /// diesel's folders are compared as text. The table is read, and never changed. The checksums
    /// of sqlx and Flyway are compared with the files. The other tools' checksums are not, so the
    /// caller must know that the files are those that the tool has run.
    ///
    /// - Parameters:
    ///   - tool: The tool that has migrated the database.
    ///   - name: The name of the tool's table; `nil` is its default name.
    ///   - db: The database, in a transaction or not.
    /// - Returns: The identifiers in the folder's order, empty if the tool has applied nothing; and
    ///   the notes.
    /// - Throws: ``MigrationAdoptionError`` if there is no such table, or if it doesn't match the
    ///   folder; GRDB's `DatabaseError` if the database can't be read.
    public func adoption(
        from tool: MigrationTool,
        table name: String? = nil,
        in db: Database
    ) throws -> MigrationAdoption {
        let name = name ?? tool.versionTable
        guard let columns = try ToolTable.columns(of: name, in: db) else {
            throw MigrationAdoptionError.noVersionTable(tool, table: name)
        }
        guard tool.table.hasMade(columns: Set(columns)) else {
            throw MigrationAdoptionError.unexpectedColumns(tool, table: name, columns: columns)
        }
        let table = try tool.table.read(name, in: db)
        if let version = sorted(table.unfinished).first {
            throw MigrationAdoptionError.unfinishedMigration(tool, version: version)
        }

        let known = Set(versions)
        let unknown = table.versions.filter { recorded in
            version(recorded).map { !known.contains($0) } ?? true
        }
        guard unknown.isEmpty else {
            throw MigrationAdoptionError.unknownVersions(tool, versions: sorted(unknown))
        }
        let applied = Set(table.versions.compactMap(version))
        let through = table.through.compactMap(version).max()
        let identifiers = zip(steps, versions)
            .filter { _, version in
                applied.contains(version) || through.map { version <= $0 } ?? false
            }
            .map(\.0.identifier)
        try checkChecksums(of: table, from: tool)
        return MigrationAdoption(
            tool: tool,
            identifiers: identifiers,
            notes: [orderNote(for: tool), repeatableNote(of: table)].compactMap { $0 }
        )
    }

    private func checkChecksums(of table: VersionTable, from tool: MigrationTool) throws {
        guard !table.checksums.isEmpty else { return }
        let recorded = table.checksums.reduce(into: [MigrationVersion: DatabaseValue]()) {
            if let version = version($1.key) { $0[version] = $1.value }
        }
        let changed = zip(steps, versions).compactMap { step, version -> String? in
            guard let checksum = recorded[version],
                let file = scripts[step.identifier]?.scripts.up.file,
                !tool.table.matches(checksum, file.contents)
            else { return nil }
            return step.identifier
        }
        guard changed.isEmpty else {
            throw MigrationAdoptionError.changedMigrations(tool, identifiers: changed)
        }
    }

    /// A note if the tool runs the files in another order.
    private func orderNote(for tool: MigrationTool) -> String? {
        guard tool.table.sortsFilesByText else { return nil }
        let files = steps.map(\.sourceFile)
        let theirs = files.sorted { $0.utf8.lexicographicallyPrecedes($1.utf8) }
        guard let (ours, other) = zip(files, theirs).first(where: { $0 != $1 }) else { return nil }
        return """
            \(tool.rawValue) runs files in the order of their names as text, \(other) before \
            \(ours). Here they run in the order of their numbers, \(ours) before \(other).
            """
    }

    private func repeatableNote(of table: VersionTable) -> String? {
        guard !table.repeatable.isEmpty else { return nil }
        return """
            These scripts have no version. They are not run again, and what they made stays: \
            \(table.repeatable.sorted().joined(separator: ", ")).
            """
    }

    // MARK: - Versions

    /// Parses a version of a table like those of this folder's files.
    private func version(_ recorded: String) -> MigrationVersion? {
        format.implementation.version(of: recorded)
    }

    /// Sorted by number. Anything else comes last.
    private func sorted(_ recorded: [String]) -> [String] {
        recorded.sorted { left, right in
            switch (version(left), version(right)) {
            case (let left?, let right?): left < right
            case (_?, nil): true
            case (nil, _?): false
            case (nil, nil): left < right
            }
        }
    }
}

extension MigrationTool {
    /// The tools that have migrated a database, according to their version tables, whatever the
    /// tables' names are.
    ///
    /// A runner ignores these tables, and would apply everything a second time. Call this before
    /// the first run on a database that may belong to another tool.
    ///
    /// - Parameter db: The database.
    /// - Returns: The tools, each with its table; empty if no such table lists a migration.
    /// - Throws: GRDB's `DatabaseError` if the database can't be read.
    public static func found(in db: Database) throws -> [(tool: MigrationTool, table: String)] {
        // Virtual tables have no root page. Their columns are known only to their modules.
        let rows = try Row.fetchAll(
            db,
            sql: """
                SELECT object.name AS "table", lower(info.name) AS name, lower(info.type) AS type
                FROM main.sqlite_master AS object, pragma_table_info(object.name, 'main') AS info
                WHERE object.type = 'table' AND object.rootpage > 0
                    AND object.name NOT LIKE 'sqlite\\_%' ESCAPE '\\'
                ORDER BY object.rowid
                """
        )
        var tables: [(name: String, columns: [(name: String, type: String)])] = []
        for row in rows {
            let table: String = row["table"]
            if tables.last?.name != table { tables.append((table, [])) }
            tables[tables.count - 1].columns.append((row["name"], row["type"]))
        }
        let found = try tables.compactMap { table -> (tool: MigrationTool, table: String)? in
            guard let tool = owner(of: table.name, columns: table.columns),
                try !tool.table.read(table.name, in: db).isEmpty
            else { return nil }
            return (tool, table.name)
        }
        return allCases.flatMap { tool in found.filter { $0.tool == tool } }
    }

    /// The tool to which a table belongs, judged by its name and columns.
    private static func owner(
        of table: String,
        columns: [(name: String, type: String)]
    ) -> MigrationTool? {
        let named = allCases.filter { $0.versionTable == table.lowercased() }
        guard named.isEmpty else {
            let columns = Set(columns.map(\.name))
            return named.first { $0.table.hasMade(columns: columns) }
        }
        // Some tools' tables have the columns of another's and more.
        return allCases.filter { $0.table.hasMade(table, columns: columns) }
            .max { $0.table.columns.count < $1.table.columns.count }
    }
}

// MARK: - Result

/// What another tool has applied to a folder's database, according to its version table.
///
/// See ``MigrationFolder/adoption(from:table:in:)``.
public struct MigrationAdoption: Equatable, Sendable {
    /// The tool.
    public let tool: MigrationTool

    /// The identifiers of the steps that the tool has applied, in the folder's order.
    public let identifiers: [String]

    /// Notes for continuing the database here, a sentence or two each.
    public let notes: [String]
}

// MARK: - Migration Tool

/// A tool that records what it has applied in its own table, so its databases can be continued
/// here.
///
/// See ``MigrationFolder/identifiersApplied(by:table:in:)``.
public enum MigrationTool: String, CaseIterable, Sendable {
    /// `schema_migrations(version)`, one row for each applied migration.
    /// <https://github.com/amacneil/dbmate/blob/main/pkg/driver/sqlite/sqlite.go>
    case dbmate

    /// `goose_db_version(id, version_id, is_applied, tstamp)`, with a row 0 for the table itself. A
    /// migration that was rolled back has no row or, with an older goose, a later row with
    /// `is_applied` 0. <https://github.com/pressly/goose/blob/main/database/dialect/sqlite3.go>
    case goose

    /// `schema_migrations(version, dirty)`, one row: the last applied migration. All before it are
    /// applied, too.
    /// <https://github.com/golang-migrate/migrate/blob/master/database/sqlite3/sqlite3.go>
    case golangMigrate = "golang-migrate"

    /// `_sqlx_migrations(version, description, installed_on, success, checksum, execution_time)`,
    /// one row for each migration that was started.
    /// <https://github.com/launchbadge/sqlx/blob/main/sqlx-sqlite/src/migrate.rs>
    case sqlx

    /// `__diesel_schema_migrations(version, run_on)`, a row for each migration that is applied. The
    /// version is the beginning of the folder's name, without its dashes.
    /// <https://github.com/diesel-rs/diesel/blob/master/diesel/src/migration/setup_migration_table.sql>
    case diesel

    /// `refinery_schema_history(version, name, applied_on, checksum)`, a row for each migration that
    /// is applied.
    /// <https://github.com/rust-db/refinery/blob/main/refinery_core/src/traits/mod.rs>
    case refinery

    /// `flyway_schema_history(installed_rank, version, description, type, script, checksum,
    /// installed_by, installed_on, execution_time, success)`, one row for each operation.
    /// <https://documentation.red-gate.com/fd/flyway-schema-history-table-273973417.html>
    case flyway

    /// The table's default name.
    public var versionTable: String { table.name }

    /// The one place that connects a tool with what is known of its table.
    var table: ToolTable {
        switch self {
        case .dbmate: .dbmate
        case .goose: .goose
        case .golangMigrate: .golangMigrate
        case .sqlx: .sqlx
        case .diesel: .diesel
        case .refinery: .refinery
        case .flyway: .flyway
        }
    }
}
