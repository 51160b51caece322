import MigrationKitCommon
import Foundation

/// Why another tool's version table can't be adopted.
///
/// See ``MigrationFolder/identifiersApplied(by:table:in:)``.
public enum MigrationAdoptionError: Error, Equatable, Sendable {
    /// The database doesn't have the tool's table.
    case noVersionTable(MigrationTool, table: String)

    /// `PRAGMA user_version` is this number, which counts no version, and the database has tables.
    case noUserVersion(Int)

    /// There is a table with that name, but its columns are not the tool's. Lists them with their types
    /// and constraints, in small letters.
    case unexpectedColumns(MigrationTool, table: String, columns: [String])

    /// The tool has started a migration and not finished it.
    case unfinishedMigration(MigrationTool, version: String)

    /// The tool has applied versions for which the folder has no file.
    case unknownVersions(MigrationTool, versions: [String])

    /// The checksums of these steps differ from those that the tool recorded. Lists the steps'
    /// identifiers, in order.
    case changedMigrations(MigrationTool, identifiers: [String])
}

extension MigrationAdoptionError: LocalizedError {
    /// What is wrong.
    public var errorDescription: String? {
        switch self {
        case .noVersionTable(let tool, let table):
            "there is no table '\(table)', where \(tool.rawValue) records applied migrations"
        case .noUserVersion(let number):
            "the database's user_version is \(number): no version was counted there"
        case .unexpectedColumns(let tool, let table, let columns):
            "the table '\(table)' is not \(tool.rawValue)'s: it has the columns "
                + columns.joined(separator: ", ")
        case .unfinishedMigration(let tool, let version):
            "\(tool.rawValue) started the migration \(version) and did not finish it"
        case .unknownVersions(.userVersion, let versions):
            "the database's user_version is \(versions.joined()), and no file in the folder has that number"
        case .unknownVersions(let tool, let versions):
            "\(tool.rawValue) applied versions that have no file in the folder: "
                + versions.joined(separator: ", ")
        case .changedMigrations(let tool, let identifiers):
            "\(identifiers.joined(separator: ", ")) changed after \(tool.rawValue) applied "
                + (identifiers.count == 1
                    ? "it: the checksum differs" : "them: the checksums differ")
        }
    }

    /// What to do about it.
    public var recoverySuggestion: String? {
        switch self {
        case .noVersionTable:
            """
            Check that it is the right database and the right tool. If the tool was given another \
            name for its table, name that one.
            """
        case .noUserVersion:
            """
            Choose the last migration whose result the database has, and record it and those before \
            it by a baseline.
            """
        case .unexpectedColumns(let tool, _, let columns):
            owner(of: columns, besides: tool).map { "It looks like \($0.rawValue)'s." }
                ?? """
                Check which tool created it. If an app counts the folder's migrations there, record those \
                that are applied by a baseline.
                """
        case .unfinishedMigration(let tool, _):
            "First finish or undo the migration with \(tool.rawValue). It is unknown which part of it was applied."
        case .unknownVersions(.userVersion, _):
            """
            If it is older than the folder's first migration, begin the folder with the oldest version \
            that is in use: the first file has the schema of that version, the next ones what changed. \
            If it is higher than the folder's, a newer version of the program made the database.
            """
        case .unknownVersions:
            "Use the complete folder with which the database was migrated."
        case .changedMigrations:
            """
            Restore the text that was applied. If the new text has the same effect, use a baseline \
            instead of adopting the table.
            """
        }
    }

    private func owner(of columns: [String], besides tool: MigrationTool) -> MigrationTool? {
        MigrationTool.allCases.first {
            $0 != tool && $0.versionTable == tool.versionTable
                && $0.table?.shapes.contains(columns) == true
        }
    }
}

extension MigrationAdoptionError: CodedError {
    /// The error's code for programs, and its exit status.
    public var code: ErrorCode {
        switch self {
        case .noVersionTable: ErrorCode("noVersionTable", .noInput)
        case .noUserVersion: ErrorCode("noUserVersion", .dataError)
        case .unexpectedColumns: ErrorCode("unexpectedVersionTable", .dataError)
        case .unfinishedMigration: ErrorCode("unfinishedMigration", .dataError)
        case .unknownVersions: ErrorCode("unknownVersions", .dataError)
        case .changedMigrations: ErrorCode("adoptedMigrationsChanged", .dataError)
        }
    }
}
