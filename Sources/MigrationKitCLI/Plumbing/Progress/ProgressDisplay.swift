import Dispatch
import Foundation
import MigrationKit
import MigrationKitCommon

/// How the events of one kind of long operation read on a terminal.
protocol OperationProgress: Sendable {
    associatedtype Event: Sendable

    /// What is so after a signal has ended the operation, for people.
    static var endedState: String { get }

    /// What is so if a second signal ends the process at once, for people.
    static var endedAtOnceState: String { get }

    mutating func note(_ event: Event)

    /// How far it is now; `nil` if there is nothing to show.
    var line: String? { get }
}

/// Shows on a terminal how far a long operation is, and ends it by Ctrl-C and the other signals that
/// ask a program to end.
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
            context.endsOnSignals ? EndingSignals(cancellation.cancel, stillRunning: warn) : nil
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
        guard context.showsProgress else { return try body() }
        let queue = DispatchQueue(label: "MigrationKit.progress")
        let timer = DispatchSource.makeTimerSource(queue: queue)
        timer.schedule(deadline: .now() + 0.5, repeating: 0.5)
        timer.setEventHandler { [self] in
            state.withLock { progress in
                if let line = progress.line { context.showProgress(line) }
            }
        }
        timer.resume()
        defer {
            timer.cancel()
            // Nothing is shown after the end.
            queue.sync {}
        }
        return try body()
    }

    /// Says what a second signal does, if the first one has not ended the operation yet. With JSON,
    /// nothing is said: standard error holds the document of a failure alone.
    private func warn(_ signal: Int32) {
        guard context.writesNotes else { return }
        let again = signal == SIGINT ? "Ctrl-C again" : "A second signal"
        state.withLock { _ in
            context.showProgress(nil)
            context.errorOutput(
                """
                note: still busy with something that can't be interrupted
                  \(again) ends the process at once. \(Progress.endedAtOnceState)
                """
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
