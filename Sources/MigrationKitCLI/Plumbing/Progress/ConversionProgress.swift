import Dispatch
import MigrationKit
import MigrationKitCommon
import MigrationKitSQLCipher

/// How far a conversion, a backup, a restore or a salvage is.
struct ConversionProgress: OperationProgress {
    static let endedState = "The database is unchanged, and the new file was removed."
    static let endedAtOnceState =
        "The database is unchanged. The next run removes the unfinished file."

    private var estimate: RunEstimate
    private var start: ContinuousClock.Instant?
    private var waiting: String?

    /// - Parameter phases: The expected phases, in order.
    init(phases: [ConversionEvent.Phase] = [.copying, .comparing, .verifying]) {
        estimate = RunEstimate(phases)
    }

    mutating func note(_ event: ConversionEvent) {
        switch event {
        case .waiting(let processes):
            let names = processes.map(\.description).joined(separator: ", ")
            waiting = "waiting for \(names.isEmpty ? "another process" : names)"
        case .progress(let phase, let done, let total):
            waiting = nil
            start = start ?? .now
            estimate.note(phase, done: done, total: total, at: elapsed)
        }
    }

    /// The time since it began to work, in seconds.
    private var elapsed: Double { start.map { (.now - $0) / .seconds(1) } ?? 0 }

    var line: String? { waiting ?? estimate.line(at: elapsed) }
}
