import Foundation
import MigrationKitCommon

/// The steps can't run again on a new database, for the comparison of its schema with another's.
public struct GRDBMigrationReplayError: Error {
    /// Which step or which database it is, and why, in one line.
    public let reason: String

    /// The error of the step, of `prepareDatabase` or of the system, if there is one.
    public let underlying: (any Error)?
}

extension GRDBMigrationReplayError: LocalizedError {
    /// What is wrong, in one line.
    public var errorDescription: String? { reason }

    /// What to do about it.
    public var recoverySuggestion: String? {
        """
        The steps and the configuration's 'prepareDatabase' run on a new, empty database: they must \
        work there, too.
        """
    }
}

extension GRDBMigrationReplayError: CodedError {
    /// The error's code for programs, and its exit status.
    public var code: ErrorCode { ErrorCode("failed", .failed) }
}
