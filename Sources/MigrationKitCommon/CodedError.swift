import Foundation

/// An error with a code for programs and an exit status for commands.
public protocol CodedError: LocalizedError {
    /// The error's code for programs, and its exit status.
    var code: ErrorCode { get }
}
