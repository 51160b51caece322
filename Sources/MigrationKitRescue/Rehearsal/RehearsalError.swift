import Foundation
import MigrationKitCommon

/// Why there can't be a rehearsal.
public enum RehearsalError: Error, Equatable, Sendable {
    /// The folder for the copy isn't there, or isn't a folder.
    case noSuchFolder(path: String)

    /// The database is in memory.
    case inMemory
}

extension RehearsalError: LocalizedError {
    /// What is wrong, in one line.
    public var errorDescription: String? {
        switch self {
        case .noSuchFolder(let path): "there is no folder \(path) for the copy"
        case .inMemory: "a database in memory has no file to copy"
        }
    }

    /// What to do about it.
    public var recoverySuggestion: String? {
        switch self {
        case .noSuchFolder: "Make it, or name another one."
        case .inMemory: "Rehearse on a database in a file, or use a dry run."
        }
    }
}

extension RehearsalError: CodedError {
    /// The error's code for programs, and its exit status.
    public var code: ErrorCode {
        switch self {
        case .noSuchFolder: ErrorCode("noSuchFolder", .noInput)
        case .inMemory: ErrorCode("inMemory", .usage)
        }
    }
}
