import CKeyStore
import MigrationKitCommon
import Dispatch
import Foundation

/// Ctrl-C, and the other signals that ask a program to end, during a run: what isn't committed is
/// undone first.
final class EndingSignals: @unchecked Sendable {
    // `@unchecked`: `source` is used by the thread that made this only.
    private struct State {
        var first: Int32?
        var isOver = false
    }

    private let state = Locked(State())
    private var source: (any DispatchSourceRead)?

    /// The signal that came, if one did.
    var received: Int32? {
        state.withLock { $0.first }
    }

    /// How long a run that was asked to end may go on before more is said about it.
    private static let patience = DispatchTimeInterval.seconds(1)

    /// Listens until ``stop()``. A second signal ends the process at once, as it would have without
    /// this: neither a step that isn't SQL nor a single long function of SQLite's can be interrupted.
    ///
    /// A signal's handler writes into a pipe, so that none is lost before Dispatch reads from it.
    ///
    /// - Parameters:
    ///   - cancel: Asks for the end, at the first signal.
    ///   - stillRunning: Is called with the signal if the run goes on for a second after that.
    init(
        _ cancel: @escaping @Sendable () -> Void,
        stillRunning: @escaping @Sendable (_ signal: Int32) -> Void
    ) {
        // Ignored is someone else's wish, such as nohup's, and so is a handler.
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
            DispatchQueue.global().asyncAfter(deadline: .now() + Self.patience) {
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
        // Waits for what is just being said.
        state.withLock { $0.isOver = true }
        guard let source else { return }
        ckeystore_release_signals()
        source.cancel()
        self.source = nil
    }
}
