import Foundation
import MigrationKit
import MigrationKitCommon

/// Why the ledger can't be updated for renamed or deleted steps.
public enum MigrationRepairError: Error, Equatable, Sendable {
    /// The ledger doesn't have the step that was renamed or deleted.
    case notApplied(String)

    /// The runner still has the step that should have been renamed or deleted.
    case stillThere(String)

    /// The step's new name is already recorded as applied.
    case alreadyApplied(String)
}

extension MigrationRepairError: LocalizedError {
    /// What is wrong, in one line.
    public var errorDescription: String? {
        switch self {
        case .notApplied(let identifier):
            "no migration '\(identifier)' is recorded as applied"
        case .stillThere(let identifier):
            "the migration '\(identifier)' is still there: it was neither renamed nor deleted"
        case .alreadyApplied(let identifier):
            "the migration '\(identifier)' is already recorded as applied"
        }
    }

    /// What to do about it.
    public var recoverySuggestion: String? {
        switch self {
        case .notApplied:
            "Give the full identifier of an applied migration."
        case .stillThere:
            "To undo it, roll it back. To accept its new text, repair it without renaming or forgetting it."
        case .alreadyApplied:
            "If the old entry is not needed, forget it instead."
        }
    }
}

extension MigrationRepairError: CodedError {
    /// The error's code for programs, and its exit status.
    public var code: ErrorCode {
        switch self {
        case .notApplied: ErrorCode("notApplied", .usage)
        case .stillThere: ErrorCode("stillThere", .usage)
        case .alreadyApplied: ErrorCode("alreadyApplied", .usage)
        }
    }
}
