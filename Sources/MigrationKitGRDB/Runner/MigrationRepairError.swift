import Foundation
import MigrationKit
import MigrationKitCommon

/// Why the ledger can't be updated for renamed or deleted steps.
public enum MigrationRepairError: Error, Equatable, Sendable {
    /// The ledger doesn't have the step that was renamed or deleted.
    case notApplied(String)

    /// The runner still has the step that should have been renamed or deleted, and it has run.
    case stillThere(String)

    /// The step, or the new name of one, is already recorded as applied.
    case alreadyApplied(String)

    /// The step that should be recorded as applied or renamed, or whose new text should be accepted, is
    /// begun: some of its batches are done.
    case begun(String)
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
        case .begun(let identifier):
            "the migration '\(identifier)' is begun: some of its batches are done"
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
            "If it was to be renamed, and the old entry is not needed, forget that instead."
        case .begun:
            "With its name and its text, a run goes on from there. To undo what is done, roll it back."
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
        case .begun: ErrorCode("migrationBegun", .usage)
        }
    }
}
