import CKeyStore
import Dispatch
import Foundation
import MigrationKitCommon
import MigrationKitKeys

/// Handles Ctrl-C and the other signals that ask a program to end: during a run, uncommitted
/// changes are undone first.
final class EndingSignals: @unchecked Sendable {
    // `@unchecked`: only the thread that created this uses `source`.
    private struct State {
        var first: Int32?
        var isOver = false
    }

    private let state = Locked(State())
    private var source: (any DispatchSourceRead)?

    /// The received signal, if any.
    var received: Int32? {
        state.withLock { $0.first }
    }

    /// How long a run may continue after a signal, in seconds, before more is done about it.
    static let patience = 2

    /// Handles signals until ``stop()``. A second signal ends the process at once, as it would
    /// without this: neither a step that isn't SQL nor a single long SQLite function can be
    /// interrupted.
    ///
    /// The signal handler writes to a pipe, so that no signal is lost before Dispatch reads it.
    ///
    /// - Parameters:
    ///   - cancel: Called at the first signal, to cancel the run.
    ///   - stillRunning: Called with the signal if the run continues for ``patience`` after that.
    init(
        _ cancel: @escaping @Sendable () -> Void,
        stillRunning: @escaping @Sendable (_ signal: Int32) -> Void
    ) {
        // If a signal is ignored (nohup) or has a handler, somebody else wanted that.
        let signals = [SIGINT, SIGTERM, SIGHUP].filter { number in
            var action = sigaction()
            sigaction(number, nil, &action)
            return action.__sigaction_handler.sa_handler == nil
        }
        var pipe: [Int32] = [-1, -1]
        guard !signals.isEmpty, ckeystore_pipe(&pipe) == 0 else { return }
        let (output, input) = (pipe[0], pipe[1])
        guard ckeystore_catch_first_signal(input, signals, signals.count) == 0 else {
            close(output)
            close(input)
            return
        }
        let source = DispatchSource.makeReadSource(fileDescriptor: output, queue: .global())
        source.setEventHandler { [self] in
            var number: UInt8 = 0
            guard read(output, &number, 1) == 1 else { return }
            state.withLock { $0.first = $0.first ?? Int32(number) }
            cancel()
            DispatchQueue.global().asyncAfter(deadline: .now() + .seconds(Self.patience)) {
                [self, number] in
                state.withLock {
                    if !$0.isOver { stillRunning(Int32(number)) }
                }
            }
        }
        source.setCancelHandler {
            close(output)
            close(input)
        }
        source.resume()
        self.source = source
    }

    func stop() {
        // Waits for a note that is being printed.
        state.withLock { $0.isOver = true }
        guard let source else { return }
        ckeystore_release_signals()
        source.cancel()
        self.source = nil
    }
}
