import Foundation
import MigrationKitCommon
import MigrationKitGRDB

/// Why there can't be a rehearsal.
public enum RehearsalError: Error, Equatable, Sendable {
    /// The folder for the copy isn't there, or isn't a folder.
    case noSuchFolder(path: String)

    /// The copy can't be made in this folder.
    case cannotCopy(folder: String, cause: MigrationBackupError)

    /// The database is in memory.
    case inMemory
}

extension RehearsalError: LocalizedError {
    /// What is wrong, in one line.
    public var errorDescription: String? {
        switch self {
        case .noSuchFolder(let path): "there is no folder \(path) for the copy"
        case .cannotCopy(let folder, let cause):
            "the copy can't be made in \(folder): \(cause.reason)"
        case .inMemory: "a database in memory has no file to copy"
        }
    }

    /// What to do about it.
    public var recoverySuggestion: String? {
        switch self {
        case .noSuchFolder: "Make it, or name another one."
        case .cannotCopy:
            "Name a folder for the copy that can be written and has room. Nothing was changed."
        case .inMemory: "Rehearse on a database in a file, or use a dry run."
        }
    }
}

extension MigrationBackupError {
    /// Why the copy can't be made, for the end of a line.
    fileprivate var reason: String {
        switch self {
        case .cannotCreate(_, let code): systemReason(code)
        case .cannotCopy(_, let code): "SQLite \(code)"
        case .copyIsDamaged(_, let finding): finding
        }
    }
}

extension RehearsalError: CodedError {
    /// The error's code for programs, and its exit status.
    public var code: ErrorCode {
        switch self {
        case .noSuchFolder: ErrorCode("noSuchFolder", .noInput)
        case .cannotCopy(_, .cannotCreate(_, ENOSPC)), .cannotCopy(_, .cannotCopy(_, .SQLITE_FULL)):
            ErrorCode("diskFull", .inputOutput)
        case .cannotCopy(_, let cause): cause.code
        case .inMemory: ErrorCode("inMemory", .usage)
        }
    }
}
