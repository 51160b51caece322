import ArgumentParser
import Foundation
import MigrationKitFleet

/// The options of every command that works on many stores.
struct FleetOptions: ParsableArguments {
    @Flag(help: "Print one JSON document.")
    var json = false

    @Flag(name: .shortAndLong, help: .quiet)
    var quiet = false

    @OptionGroup(title: "Databases") var stores: FleetStoresOptions
    @OptionGroup(title: "Databases") var run: FleetRunOptions
    @OptionGroup(title: "Keys") var keys: FleetKeyOptions
}

/// The options that say how a run works, and what it writes.
struct FleetRunOptions: ParsableArguments {
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

    @OptionGroup var metrics: FleetMetricsOptions

    func validate() throws {
        guard jobs.map({ (1...256).contains($0) }) ?? true else {
            throw ValidationError("The value for '--jobs' must be at least 1 and at most 256.")
        }
        try checkNotEmpty(report, "--report")
    }

    /// How many stores to work on at the same time, as far as the limit of open files allows. A
    /// process that has no descriptor left crashes in places.
    ///
    /// - Parameter raises: Whether the process's limit may be raised to the one that is allowed.
    /// - Throws: ``CommandError/tooManyJobs(_:most:limit:)`` if it allows fewer than --jobs.
    func jobCount(raises: Bool) throws -> Int {
        let wanted = jobs ?? ProcessInfo.processInfo.activeProcessorCount
        var limit = rlimit()
        guard getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0 else {
            return wanted
        }
        let needed = rlim_t(Self.openFiles + wanted * Self.openFilesOfAStore)
        if raises, limit.rlim_cur < needed {
            var raised = limit
            raised.rlim_cur = min(needed, limit.rlim_max)
            if setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &raised) == 0 {
                limit = raised
            }
        }
        guard limit.rlim_cur < needed else { return wanted }
        let most = max(1, (Int(limit.rlim_cur) - Self.openFiles) / Self.openFilesOfAStore)
        guard jobs == nil else {
            throw CommandError.tooManyJobs(wanted, most: most, limit: Int(limit.rlim_cur))
        }
        return min(wanted, most)
    }

    /// What the tool itself has open.
    private static let openFiles = 48

    /// A database, its log and journal, its locks, its key and the pipes of a helper.
    private static let openFilesOfAStore = 16
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
