import TestSupport

@testable import MigrationKitCLI

/// The tool in the tests' own process, for what it does before it opens anything: it prints its
/// help, or refuses what it was asked for. Nobody is there to be asked for a key.
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
        let (output, errorOutput) = (Lines(), Lines())
        let context = CommandContext(
            host: host,
            environment: ProcessEnvironment(environment),
            output: output.append,
            errorOutput: errorOutput.append,
            canPrompt: false,
            columns: columns,
            reveal: { _ in },
            showsProgress: false,
            writesNotes: !MigrationCLI.asksForJSON(arguments)
        )
        var status: Int32 = 0
        do {
            try MigrationCLI.run(arguments: arguments, context: context)
        } catch {
            status = MigrationCLI.report(error, in: context)
        }
        func bytes(_ lines: Lines) -> [UInt8] {
            lines.text.isEmpty ? [] : Array("\(lines.text)\n".utf8)
        }
        return ProcessResult(
            status: status,
            signal: nil,
            outputBytes: bytes(output),
            errorBytes: bytes(errorOutput)
        )
    }
}
