import Common
import Foundation

/// A salvage that is done, and couldn't bring back everything.
struct SalvageLoss: Error, LocalizedError {
    let path: String

    var errorDescription: String? { "not everything of \(path) came back" }

    var recoverySuggestion: String? {
        "The report on standard output tells what is lost. Keep the damaged file: what is missing may be in a backup."
    }
}

extension SalvageLoss: CodedError {
    var code: ErrorCode { ErrorCode("incomplete", .verificationFailed) }
}
