import GRDB

/// What records in a database which migrations are applied, so that the database can be continued
/// here: another tool's own table, or the number that hand-written code keeps in the header.
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

    /// Code that keeps the number of the last migration in `PRAGMA user_version`. All before it are
    /// applied, too. <https://sqlite.org/pragma.html#pragma_user_version>
    case userVersion = "user_version"

    /// The table's default name; `nil` for ``userVersion``, which is no table.
    public var versionTable: String? { table?.name }

    /// The one place that connects a tool with what is known of its table.
    var table: ToolTable? {
        switch self {
        case .userVersion: nil
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

extension MigrationTool {
    /// The tools that have migrated a database, according to their version tables, whatever the
    /// tables' names are.
    ///
    /// A table is a tool's only if its columns, their types and constraints, and the forms of its values
    /// are those that the tool gives them.
    ///
    /// A runner ignores these tables, and would apply everything a second time. Call this before
    /// the first run on a database that may belong to another tool. ``userVersion`` is never found:
    /// apps use that number for other things, too.
    ///
    /// - Parameter db: The database.
    /// - Returns: The tools, each with its table; empty if no such table lists a migration.
    /// - Throws: GRDB's `DatabaseError` if the database can't be read.
    public static func found(in db: Database) throws -> [(tool: MigrationTool, table: String)] {
        let found = try TableColumn.ofAllTables(in: db)
            .compactMap { table, columns -> (tool: MigrationTool, table: String)? in
                guard let tool = owner(of: table, columns), let known = tool.table,
                    try known.hasWritten(table, in: db),
                    try !known.read(table, in: db).isEmpty
                else { return nil }
                return (tool, table)
            }
        return allCases.flatMap { tool in found.filter { $0.tool == tool } }
    }

    /// The tool to which a table belongs, judged by its name and columns.
    static func owner(of table: String, _ columns: [TableColumn]) -> MigrationTool? {
        allCases.first { $0.table?.hasMade(table, columns: columns) == true }
    }
}
