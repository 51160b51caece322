import MigrationKitCommon
import TestSupport

@testable import MigrationKitCLI

/// The tool in the tests' own process. Nobody is there to be asked for a key.
struct ToolInProcess {
    var host = MigrationCLIHost.standalone
    /// The whole environment.
    var environment: [String: String] = [:]
    /// How many columns the terminal has.
    var columns = 80

    func run(_ arguments: String...) -> ProcessResult {
        run(arguments)
    }

    /// Runs a command; answers what a process would have printed, and its exit code.
    func run(_ arguments: [String]) -> ProcessResult {
        let (output, errorOutput) = (Locked<[UInt8]>([]), Locked<[UInt8]>([]))
        let context = CommandContext(
            host: host,
            environment: ProcessEnvironment(environment),
            output: { line in output.withLock { $0 += "\(line)\n".utf8 } },
            write: { bytes in
                output.withLock { $0 += bytes }
                return true
            },
            errorOutput: { line in errorOutput.withLock { $0 += "\(line)\n".utf8 } },
            canPrompt: false,
            columns: columns,
            reveal: { secret in output.withLock { $0 += "\(secret.unwipableText)\n".utf8 } },
            showsProgress: false,
            writesNotes: !MigrationCLI.asksForJSON(arguments)
        )
        var status: Int32 = 0
        do {
            try MigrationCLI.run(arguments: arguments, context: context)
        } catch {
            status = MigrationCLI.report(error, in: context)
        }
        return ProcessResult(
            status: status,
            signal: nil,
            outputBytes: output.withLock(\.self),
            errorBytes: errorOutput.withLock(\.self)
        )
    }
}
