import Foundation
import MigrationKitCommon
import MigrationKitGRDB
import MigrationKitSQL

/// Why a command on schema dumps fails.
enum SchemaCommandError: Error, Equatable {
    /// A file differs from the schema of the migrations, or from that of a database. `command`
    /// rewrites it.
    case differs(path: String, isDatabases: Bool, command: String)

    /// Two schemas differ, and `--exit-code` was given.
    case schemasDiffer(from: String, to: String)

    /// There is no file to compare with.
    case noSuchFile(path: String, command: String)

    /// The path of the file to compare with leads to a folder.
    case isFolder(path: String)

    /// The file to compare with can't be read.
    case unreadable(path: String, reason: String)

    /// A file exists at the path of the new database.
    case databaseExists(path: String)

    /// The host opens another file than the given one.
    case opensAnotherFile
}

extension SchemaCommandError: LocalizedError {
    var errorDescription: String? {
        switch self {
        case .differs(let path, let isDatabases, _):
            "\(path) differs from the schema of the \(isDatabases ? "database" : "migrations")"
        case .schemasDiffer(let from, let to): "\(from) and \(to) have different schemas"
        case .noSuchFile(let path, _): "there is no file \(path)"
        case .isFolder(let path): "\(path) is a folder, not a file"
        case .unreadable(let path, let reason): "\(path) can't be read: \(reason)"
        case .databaseExists(let path): "\(path) already exists"
        case .opensAnotherFile: "this program doesn't open the database that --db-path names"
        }
    }

    var recoverySuggestion: String? {
        switch self {
        case .differs(_, let isDatabases, let command):
            """
            The difference is on standard output: '-' is in the file, '+' in the schema of the \
            \(isDatabases ? "database. If the database is" : "migrations. If the migrations are") \
            right, write the file again:
              \(command)
            """
        case .schemasDiffer:
            "'create NAME --to SCHEMA' writes the migration that leads to a schema."
        case .noSuchFile(_, let command):
            "Check the path, or write the file:\n  \(command)"
        case .isFolder:
            "Give the path of the file in it."
        case .unreadable:
            "Check the file and its permissions."
        case .databaseExists:
            "A dump creates a new database. Choose another path, or move the existing file away."
        case .opensAnotherFile:
            "Its 'openWriter' must open the path that it is given."
        }
    }
}

extension SchemaCommandError: CodedError {
    var code: ErrorCode {
        switch self {
        case .differs, .schemasDiffer: ErrorCode("schemaDiffers", .differs)
        case .noSuchFile: ErrorCode("noSuchFile", .noInput)
        case .isFolder: ErrorCode("isDirectory", .noInput)
        case .unreadable: ErrorCode("unreadableFile", .noPermission)
        case .databaseExists: ErrorCode("databaseExists", .cannotCreate)
        case .opensAnotherFile: ErrorCode("opensAnotherFile", .cannotCreate)
        }
    }
}

extension SQLDumpError: ToolSuggesting {
    var suggestion: String? {
        guard case .noSuchFile = self else { return recoverySuggestion }
        return "Check the path. 'schema-dump' writes such a file."
    }
}
