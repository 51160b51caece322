import MigrationKitSQLCipher
import Synchronization

/// Shows on a terminal how far a conversion is, and ends it by Ctrl-C.
final class ConversionProgress: Sendable {
    private struct State {
        var phase: ConversionEvent.Phase?
        var start = ContinuousClock.now
    }

    private let state = Mutex(State())
    private let context: CommandContext
    private let cancellation = ConversionCancellation()

    init(context: CommandContext) {
        self.context = context
    }

    /// Runs a conversion.
    ///
    /// - Parameter run: Gets a function that puts this watching into its options.
    func watch<Result>(
        _ run: (_ watched: (inout DatabaseConversion.Options) -> Void) throws -> Result
    ) throws -> Result {
        try watch { cancellation, observer in
            try run { options in
                options.cancellation = cancellation
                options.observer = observer
            }
        }
    }

    /// Runs what tells of itself as a conversion does.
    func watch<Result>(
        _ run: (
            ConversionCancellation, @escaping @Sendable (ConversionEvent) -> Void
        ) throws -> Result
    ) throws -> Result {
        try context.endingOnSignals(
            by: cancellation.cancel,
            leaving: "The database is as it was, and nothing is left of the new file.",
            atOnce:
                "The database stays as it is; the next run removes what is left of the new file."
        ) {
            try run(cancellation) { [self] in note($0) }
        }
    }

    private func note(_ event: ConversionEvent) {
        switch event {
        case .waiting(let processes):
            let names = processes.map(\.description).joined(separator: ", ")
            context.showProgress("waiting for \(names.isEmpty ? "another process" : names)")
        case .progress(let phase, let done, let total):
            let seconds = state.withLock { state in
                if state.phase != phase { state = State(phase: phase) }
                return (ContinuousClock.now - state.start) / .seconds(1)
            }
            context.showProgress(Self.line(phase, done: done, total: total, seconds: seconds))
        }
    }

    /// `copying: 123.4 of 512.0 MB, 85.1 MB/s, 5 s left`
    static func line(
        _ phase: ConversionEvent.Phase,
        done: Int,
        total: Int,
        seconds: Double
    ) -> String {
        // Its numbers are attempts.
        guard phase != .searchingSalt else { return "looking for the salt: \(done) of \(total)" }
        let parts = "\(phase.rawValue): \(done.megabytes) of \(total.megabytes) MB"
        guard seconds >= 0.5, done > 0 else { return parts }
        let rate = Double(done) / seconds
        let left = Double(max(0, total - done)) / rate
        return parts + ", \(Int(rate).megabytes) MB/s, \(Int(left.rounded(.up))) s left"
    }
}

extension Int {
    /// So many bytes, in millions, with one decimal.
    var megabytes: String { tenths(of: 1_000_000) }

    /// So many bytes, in thousands or millions.
    var byteCount: String {
        self < 1_000_000 ? "\(tenths(of: 1000)) kB" : "\(megabytes) MB"
    }

    private func tenths(of unit: Int) -> String {
        let tenths = (self + unit / 20) / (unit / 10)
        return "\(tenths / 10).\(tenths % 10)"
    }
}
