import MigrationKitCommon
import Dispatch
import MigrationKitSQLCipher

/// Shows on a terminal how far a conversion is, and ends it by Ctrl-C.
final class ConversionProgress: Sendable {
    private struct State {
        var estimate: RunEstimate
        var start: ContinuousClock.Instant?
        var isWaiting = false
    }

    private let state: Locked<State>
    private let context: CommandContext
    private let cancellation = ConversionCancellation()

    /// - Parameter phases: What is done, one after the other, as far as is known before.
    init(
        context: CommandContext,
        phases: [ConversionEvent.Phase] = [.copying, .comparing, .verifying]
    ) {
        self.context = context
        state = Locked(State(estimate: RunEstimate(phases)))
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

    /// Runs something that reports its progress as conversions do.
    func watch<Result>(
        _ run: (
            ConversionCancellation, @escaping @Sendable (ConversionEvent) -> Void
        ) throws -> Result
    ) throws -> Result {
        try context.endingOnSignals(
            by: cancellation.cancel,
            leaving: "The database is unchanged, and the new file was removed.",
            atOnce:
                "The database is unchanged. The next run removes the unfinished file."
        ) {
            try showingTime { try run(cancellation) { [self] in note($0) } }
        }
    }

    /// Updates the estimate while no progress is reported, as in the check of all HMACs.
    private func showingTime<Result>(_ body: () throws -> Result) throws -> Result {
        guard context.showsProgress else { return try body() }
        let queue = DispatchQueue(label: "MigrationKit.progress")
        let timer = DispatchSource.makeTimerSource(queue: queue)
        timer.schedule(deadline: .now() + 0.5, repeating: 0.5)
        timer.setEventHandler { [self] in show() }
        timer.resume()
        defer {
            timer.cancel()
            // Nothing is shown after the end.
            queue.sync {}
        }
        return try body()
    }

    private func note(_ event: ConversionEvent) {
        switch event {
        case .waiting(let processes):
            state.withLock { $0.isWaiting = true }
            let names = processes.map(\.description).joined(separator: ", ")
            context.showProgress("waiting for \(names.isEmpty ? "another process" : names)")
        case .progress(let phase, let done, let total):
            state.withLock { state in
                let now = ContinuousClock.now
                let start = state.start ?? now
                state.start = start
                state.isWaiting = false
                state.estimate.note(
                    phase,
                    done: done,
                    total: total,
                    at: (now - start) / .seconds(1)
                )
            }
            show()
        }
    }

    private func show() {
        let line = state.withLock { state -> String? in
            guard let start = state.start, !state.isWaiting else { return nil }
            return state.estimate.line(at: (.now - start) / .seconds(1))
        }
        if let line { context.showProgress(line) }
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
