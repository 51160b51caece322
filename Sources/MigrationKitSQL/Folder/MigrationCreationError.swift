import Foundation
import MigrationKitCommon

/// Why a new migration can't be created.
public enum MigrationCreationError: Error, Equatable, Sendable {
    /// The name can't be part of a file's name.
    case unusableName(String)

    /// The folder's migrations have another format than the requested one.
    case otherFormat(MigrationFormat, MigrationFormat, file: String)

    /// A folder whose files have such names can't have the format.
    case unusableFormat(MigrationFormat, pattern: MigrationNamePattern)

    /// A file can't be written.
    case cannotWrite(path: String, reason: String)
}

extension MigrationCreationError {
    /// An error of Foundation or of the system, with its own text.
    static func cannotWrite(path: String, _ error: any Error) -> MigrationCreationError {
        let underlying = error as? POSIXError ?? (error as? CocoaError)?.underlying as? POSIXError
        return .cannotWrite(
            path: path,
            reason: underlying?.reason ?? error.localizedDescription
        )
    }
}

extension MigrationCreationError: LocalizedError {
    /// What is wrong, in one line.
    public var errorDescription: String? {
        switch self {
        case .unusableName(let name):
            "'\(name)' can't be the name of a migration"
        case .otherFormat(let asked, let known, let file):
            "the folder has the format \(known.rawValue), not \(asked.rawValue): \(file) "
                + known.implementation.phrase
        case .unusableFormat(let format, let pattern):
            "files of the format \(format.rawValue) can't have the pattern \(pattern.text)"
        case .cannotWrite(let path, let reason):
            "\(path) can't be written: \(reason)"
        }
    }

    /// What to do about it.
    public var recoverySuggestion: String? {
        switch self {
        case .unusableName:
            "Say in a few words what it does: letters, digits, spaces, '-', '+' and '_'."
        case .otherFormat:
            "All migrations of a folder have one format: leave the format out."
        case .unusableFormat:
            "Leave the format out: the pattern says whether a migration has two files."
        case .cannotWrite:
            "Check the folder and its permissions."
        }
    }
}

extension MigrationCreationError: CodedError {
    /// What programs are given of the error.
    public var code: ErrorCode {
        switch self {
        case .unusableName, .otherFormat, .unusableFormat: ErrorCode("unusableName", .usage)
        case .cannotWrite: ErrorCode("cannotWrite", .cannotCreate)
        }
    }
}
