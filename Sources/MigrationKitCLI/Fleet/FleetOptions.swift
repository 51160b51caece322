import ArgumentParser
import Foundation
import MigrationKitFleet

/// The options of a run on many stores.
struct FleetOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "How many databases to work on at the same time; default: one for each processor.",
            valueName: "number"
        )
    )
    var jobs: Int?

    @Option(
        help: ArgumentHelp(
            "Append a line for each database to this file, as JSON.",
            valueName: "path"
        ),
        completion: .file()
    )
    var report: String?

    func validate() throws {
        guard jobs.map({ (1...256).contains($0) }) ?? true else {
            throw ValidationError("The value for '--jobs' must be at least 1 and at most 256.")
        }
        try checkNotEmpty(report, "--report")
    }

    var jobCount: Int { jobs ?? ProcessInfo.processInfo.activeProcessorCount }
}

/// The options that stop a run before it comes to all stores.
struct FleetLimitOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "How many databases come first; the others follow only if these went well.",
            valueName: "number"
        )
    )
    var canary: Int?

    @Option(
        help: ArgumentHelp(
            "The group of the databases that come first.",
            valueName: "group"
        )
    )
    var canaryGroup: String?

    @Option(
        help: ArgumentHelp(
            "How many databases may fail before no more are started, as a number or 'P%'; default: 5%, and at least 10.",
            valueName: "number"
        ),
        transform: { text in
            guard let limit = FailureLimit(text) else {
                throw ValidationError("'\(text)' is neither a number nor a percentage.")
            }
            return limit
        }
    )
    var maxFailures: FailureLimit?

    func validate() throws {
        guard canary == nil || canaryGroup == nil else {
            throw ValidationError("--canary and --canary-group both say what comes first.")
        }
        guard canary.map({ $0 > 0 }) ?? true else {
            throw ValidationError("The value for '--canary' must be at least 1.")
        }
    }

    /// Which stores come first.
    var first: Canary? { canaryGroup.map(Canary.group) ?? canary.map(Canary.count) }
}
