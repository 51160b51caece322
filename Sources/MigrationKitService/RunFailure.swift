import Foundation
import GRDB
import MigrationKitCommon
import MigrationKitGRDB
import ServiceLifecycle

/// What is said of an error: to a log, and when a program ends with it. No SQL and no value is in it.
struct RunFailure {
    let code: ErrorCode
    /// What is wrong, in one line.
    let reason: String
    /// What to do about it.
    let suggestion: String?

    init(_ error: any Error) {
        switch error {
        case let error as any CodedError:
            code = error.code
            reason = error.errorDescription ?? "\(error)"
            suggestion = error.recoverySuggestion
        case let error as DatabaseError:
            code =
                error.isUnexplained
                ? ErrorCode("damaged", .inputOutput)
                : ErrorCode(sqlite: error.resultCode.rawValue)
                    ?? ErrorCode("databaseError", .failed)
            // Its description would have the SQL.
            reason = error.messageWithoutValues
            suggestion = nil
        default:
            code = ErrorCode("failed", .failed)
            reason = (error as? any LocalizedError)?.errorDescription ?? "\(error)"
            suggestion = nil
        }
    }
}

extension ServiceGroup {
    /// Runs the group, as the main work of a program. If it fails, this writes the error's message to
    /// standard error, and ends the process with the error's exit status: a service manager can tell a
    /// wrong key (77) from a full disk (74).
    ///
    /// An error that leaves `main` ends the process by a trap instead, with a backtrace.
    public func runOrExit() async {
        do {
            try await run()
        } catch {
            let failure = RunFailure(error)
            let lines = (failure.suggestion ?? "").split(separator: "\n").map { "  \($0)\n" }
            let text = "error: \(failure.reason)\n" + lines.joined()
            FileHandle.standardError.write(Data(text.utf8))
            exit(failure.code.exitStatus.rawValue)
        }
    }
}
