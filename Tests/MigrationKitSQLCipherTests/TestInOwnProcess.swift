import Foundation
import TestSupport
import Testing

/// Runs one test of this program in a process of its own, for what concerns a whole process.
enum TestInOwnProcess {
    private static let variable = "MIGRATIONKIT_TEST_CHILD"

    /// The arguments that the parent gave; `nil` in the parent.
    static var arguments: [String]? {
        ProcessInfo.processInfo.environment[variable].map {
            $0.split(separator: "\n", omittingEmptySubsequences: false).map(String.init)
        }
    }

    /// - Parameters:
    ///   - test: The name of a test function that is enabled if ``arguments`` are there.
    ///   - shell: What a shell does before it becomes the child, such as lowering a limit.
    static func run(
        _ test: String,
        arguments: [String],
        shell: String = ":"
    ) throws -> ProcessResult {
        let program = try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")
        let own = [variable: arguments.joined(separator: "\n")]
        return try TestSupport.run(
            "/bin/bash",
            [
                "-c", shell + #"; exec "$0" --testing-library swift-testing --filter "$1""#,
                program, test,
            ],
            environment: ProcessInfo.processInfo.environment.merging(own) { $1 },
            within: 600
        )
    }
}

extension ProcessResult {
    /// Whether the child ran the test, and found nothing wrong.
    func hasPassed(_ test: String) -> Bool {
        status == 0 && (stdout + stderr).contains("\(test)() passed")
    }
}
