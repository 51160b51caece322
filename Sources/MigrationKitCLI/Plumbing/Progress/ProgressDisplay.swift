import Dispatch
import Foundation
import MigrationKit
import MigrationKitCommon
import MigrationKitSQLCipher

/// How the events of one kind of long operation read on a terminal.
protocol OperationProgress: Sendable {
    associatedtype Event: Sendable

    /// What is so after a signal has ended the operation, for people.
    static var endedState: String { get }

    /// What is so if the process ends at once, in the middle of something, for people.
    static var endedAtOnceState: String { get }

    /// Whether SQLite undoes everything that an end at once leaves. Then the first signal is enough.
    static var isUndoneBySQLite: Bool { get }

    /// Whether signals end the process as they usually do, since there is nothing to undo.
    static var endsAtOnce: Bool { get }

    mutating func note(_ event: Event)

    /// How far it is now; `nil` if there is nothing to show.
    var line: String? { get }
}

extension OperationProgress {
    static var endedState: String { "Nothing was changed." }
    static var endedAtOnceState: String { "Nothing is lost by it." }
    static var isUndoneBySQLite: Bool { false }
    static var endsAtOnce: Bool { false }
}

/// Shows how far a long operation is, and ends it by Ctrl-C and the other signals that ask a program
/// to end. A terminal has a line that changes; elsewhere, a line is written now and then.
final class ProgressDisplay<Progress: OperationProgress>: Sendable {
    private let state: Locked<Progress>
    private let context: CommandContext

    init(_ progress: Progress, in context: CommandContext) {
        state = Locked(progress)
        self.context = context
    }

    var progress: Progress { state.withLock { $0 } }

    /// Runs the operation. The line of progress is gone after it.
    ///
    /// - Parameter run: Gets the options with this display in them. It ends with a
    ///   `CancellationError` if it is asked to end.
    /// - Throws: ``Interruption`` if a signal came; everything else as it is.
    func watch<Options: OperationOptions, Result>(
        _ options: Options,
        _ run: (Options) throws -> Result
    ) throws -> Result where Options.Event == Progress.Event {
        let cancellation = Cancellation()
        var options = options
        options.cancellation = cancellation
        options.observer = { [self] event in
            state.withLock { progress in
                progress.note(event)
                context.showProgress(progress.line)
            }
        }
        defer { context.showProgress(nil) }
        let signals =
            context.endsOnSignals && !Progress.endsAtOnce
            ? EndingSignals(cancellation.cancel, stillRunning: insist) : nil
        defer { signals?.stop() }
        do {
            return try refreshing { try run(options) }
        } catch let error as CancellationError {
            guard let signal = signals?.received else { throw error }
            throw Interruption(signal: signal, state: Progress.endedState)
        }
    }

    /// Shows the line again and again: time goes by while nothing is reported.
    private func refreshing<Result>(_ body: () throws -> Result) throws -> Result {
        let showsLine = context.showsProgress
        guard showsLine || context.writesNotes else { return try body() }
        let queue = DispatchQueue(label: "MigrationKit.progress")
        let timer = DispatchSource.makeTimerSource(queue: queue)
        // In a log: after 5 s, 10, 20, 40, and then every minute.
        let (period, most) = showsLine ? (0.5, 0.5) : (5, 60)
        let interval = Locked(period)
        timer.schedule(deadline: .now() + period)
        timer.setEventHandler { [self, timer] in
            state.withLock { progress in
                guard let line = progress.line else { return }
                showsLine ? context.showProgress(line) : context.message(line.printable)
            }
            timer.schedule(deadline: .now() + interval.withLock { $0 })
            interval.withLock { $0 = min($0 * 2, most) }
        }
        timer.resume()
        defer {
            timer.cancel()
            // Nothing is shown after the end.
            queue.sync {}
        }
        return try body()
    }

    /// Ends the process if the signal has not ended the operation yet, or says that a second one
    /// does. With JSON, that isn't said: standard error holds the document of a failure alone.
    private func insist(_ signal: Int32) {
        if Progress.isUndoneBySQLite, let reportEnd = context.reportEnd {
            // SQLite is in the middle of an instruction, such as the one that empties a table.
            state.withLock { _ in
                context.showProgress(nil)
                let interruption = Interruption(signal: signal, state: Progress.endedAtOnceState)
                _exit(reportEnd(interruption))
            }
        }
        guard context.writesNotes else { return }
        let again = signal == SIGINT ? "Ctrl-C again" : "A second signal"
        state.withLock { _ in
            context.showProgress(nil)
            context.note(
                "still busy with something that can't be interrupted",
                ["\(again) ends the process at once. \(Progress.endedAtOnceState)"]
            )
        }
    }
}

extension CommandContext {
    /// Replaces the line of progress on a terminal; `nil` takes it away.
    func showProgress(_ line: String?) {
        guard showsProgress else { return }
        StandardError.showProgress(line)
    }
}

// MARK: - Conversion Progress

extension Int {
    /// The number of bytes in millions, with one decimal.
    var megabytes: String { tenths(of: 1_000_000) }

    /// The number of bytes in thousands or millions.
    var byteCount: String {
        self < 1_000_000 ? "\(tenths(of: 1000)) kB" : "\(megabytes) MB"
    }

    private func tenths(of unit: Int) -> String {
        let tenths = (self + unit / 20) / (unit / 10)
        return "\(tenths / 10).\(tenths % 10)"
    }
}

// MARK: - Conversion Note

extension CommandContext {
    /// Prints notes for people.
    func tell(_ notes: [ConversionNote]) {
        for note in notes {
            self.note(
                note.headline,
                [note.explanation] + (note.command.map { ["  \($0)"] } ?? [])
            )
        }
    }
}
