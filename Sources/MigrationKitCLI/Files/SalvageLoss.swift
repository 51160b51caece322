import MigrationKitCommon
import Foundation

/// A salvage has finished, but couldn't recover everything.
struct SalvageLoss: Error, LocalizedError {
    let path: String

    var errorDescription: String? { "not everything in \(path) was recovered" }

    var recoverySuggestion: String? {
        "The report on standard output lists what is lost. Keep the damaged file. A backup may have what is missing."
    }
}

extension SalvageLoss: CodedError {
    var code: ErrorCode { ErrorCode("incomplete", .verificationFailed) }
}
