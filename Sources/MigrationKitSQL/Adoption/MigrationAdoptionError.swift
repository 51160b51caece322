import Common
import Foundation

/// A reason for which another tool's version table can't be taken over.
///
/// See ``MigrationFolder/identifiersApplied(by:in:)``.
public enum MigrationAdoptionError: Error, Equatable, Sendable {
    /// The database doesn't have the tool's table.
    case noVersionTable(MigrationTool)

    /// There is a table of that name, but its columns are none of the tool's.
    case unexpectedColumns(MigrationTool, columns: [String])

    /// The tool began a migration and has not ended it.
    case unfinishedMigration(MigrationTool, version: String)

    /// The tool has applied versions that no file of the folder has.
    case unknownVersions(MigrationTool, versions: [String])

    /// The tool has applied other files than those of these steps: its checksums are others. The
    /// steps' identifiers, in order.
    case changedMigrations(MigrationTool, identifiers: [String])
}

extension MigrationAdoptionError: LocalizedError {
    /// What is wrong.
    public var errorDescription: String? {
        switch self {
        case .noVersionTable(let tool):
            "there is no table '\(tool.versionTable)', in which \(tool.rawValue) keeps what it has "
                + "applied"
        case .unexpectedColumns(let tool, let columns):
            "the table '\(tool.versionTable)' is none of \(tool.rawValue)'s: it has the columns "
                + columns.joined(separator: ", ")
        case .unfinishedMigration(let tool, let version):
            "\(tool.rawValue) has begun the migration \(version), and not ended it"
        case .unknownVersions(let tool, let versions):
            "\(tool.rawValue) has applied what no file of the folder is: "
                + versions.joined(separator: ", ")
        case .changedMigrations(let tool, let identifiers):
            "\(identifiers.joined(separator: ", ")) \(identifiers.count == 1 ? "is" : "are") not as "
                + "\(tool.rawValue) has applied \(identifiers.count == 1 ? "it" : "them"): the "
                + "checksum is another"
        }
    }

    /// What to do about it.
    public var recoverySuggestion: String? {
        switch self {
        case .noVersionTable:
            "Check that it is the right database and the right tool. A table that was given "
                + "another name can't be read."
        case .unexpectedColumns(let tool, let columns):
            owner(of: columns, besides: tool).map { "It looks like \($0.rawValue)'s." }
                ?? "Check which tool has made it."
        case .unfinishedMigration(let tool, _):
            "Bring the database in order with \(tool.rawValue) first: what of the migration is in "
                + "it, nothing tells."
        case .unknownVersions:
            "Use the folder with which the database was migrated, with all files in it."
        case .changedMigrations:
            """
            Bring back the text that was applied, line ends included. If the new one does the same, \
            record by a baseline what the database has, instead of reading it from the tool's table.
            """
        }
    }

    private func owner(of columns: [String], besides tool: MigrationTool) -> MigrationTool? {
        MigrationTool.allCases.first {
            $0 != tool && $0.versionTable == tool.versionTable && $0.hasMade(columns: Set(columns))
        }
    }
}

extension MigrationAdoptionError: CodedError {
    /// What programs are given of the error.
    public var code: ErrorCode {
        switch self {
        case .noVersionTable: ErrorCode("noVersionTable", .noInput)
        case .unexpectedColumns: ErrorCode("unexpectedVersionTable", .dataError)
        case .unfinishedMigration: ErrorCode("unfinishedMigration", .dataError)
        case .unknownVersions: ErrorCode("unknownVersions", .dataError)
        case .changedMigrations: ErrorCode("adoptedMigrationsChanged", .dataError)
        }
    }
}
