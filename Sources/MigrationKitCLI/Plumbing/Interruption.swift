import Foundation

/// A run that a signal has ended.
struct Interruption: Error {
    let signal: Int32

    /// What is so now, for people.
    let state: String
}

extension CommandContext {
    /// Runs what Ctrl-C, and the other signals that ask a program to end, end in good order. The
    /// line of progress is gone after it.
    ///
    /// - Parameters:
    ///   - cancel: Asks the run for its end.
    ///   - state: What is so after that, for people.
    ///   - stateAtOnce: What is so if a second signal ends the process in the middle, for people.
    ///   - run: The run, which ends with a `CancellationError` where it is asked to.
    /// - Throws: ``Interruption`` where a signal came; everything else as it is.
    func endingOnSignals<Value>(
        by cancel: @escaping @Sendable () -> Void,
        leaving state: String,
        atOnce stateAtOnce: String,
        _ run: () throws -> Value
    ) throws -> Value {
        defer { showProgress(nil) }
        let signals =
            endsOnSignals
            ? EndingSignals(cancel) { tellStillRunning($0, stateAtOnce) } : nil
        defer { signals?.stop() }
        do {
            return try run()
        } catch let error as CancellationError {
            throw signals?.received.map { Interruption(signal: $0, state: state) } ?? error
        }
    }

    /// Says what a second signal does, while the first one has not ended the run yet. With JSON,
    /// nothing is said: standard error holds the document of a failure alone.
    private func tellStillRunning(_ signal: Int32, _ stateAtOnce: String) {
        guard writesNotes else { return }
        showProgress(nil)
        let again = signal == SIGINT ? "Ctrl-C again" : "A second signal"
        errorOutput(
            """
            note: still busy with something that can't be interrupted
              \(again) ends the process at once. \(stateAtOnce)
            """
        )
    }

    /// Replaces the line of progress on a terminal; `nil` takes it away.
    func showProgress(_ line: String?) {
        guard showsProgress else { return }
        StandardError.showProgress(line)
    }
}
