import CKeyStore
import Dispatch
import Foundation

/// Ctrl-C, and the other signals that ask a program to end, during a run: what isn't committed is
/// undone first.
final class EndingSignals: @unchecked Sendable {
    // `@unchecked`: every access to `first` holds the lock.
    private let lock = NSLock()
    private var first: Int32?
    private var source: (any DispatchSourceRead)?

    /// The signal that came, if one did.
    var received: Int32? {
        lock.withLock { first }
    }

    /// Listens until ``stop()``. A second signal ends the process at once, as it would have without
    /// this: a step that isn't SQL can't be interrupted.
    ///
    /// A signal's handler writes into a pipe, so that none is lost before Dispatch reads from it.
    ///
    /// - Parameter cancel: Asks for the end, at the first signal.
    init(_ cancel: @escaping @Sendable () -> Void) {
        // Ignored is someone else's wish, such as nohup's, and so is a handler.
        let signals = [SIGINT, SIGTERM, SIGHUP].filter { number in
            var action = sigaction()
            sigaction(number, nil, &action)
            return action.__sigaction_handler.sa_handler == nil
        }
        var pipe: [Int32] = [-1, -1]
        guard !signals.isEmpty, ckeystore_pipe(&pipe) == 0 else { return }
        let (output, input) = (pipe[0], pipe[1])
        guard ckeystore_catch_signals(input, signals, signals.count) == 0 else {
            close(output)
            close(input)
            return
        }
        let source = DispatchSource.makeReadSource(fileDescriptor: output, queue: .global())
        source.setEventHandler { [self] in
            var number: UInt8 = 0
            guard read(output, &number, 1) == 1 else { return }
            lock.withLock { first = first ?? Int32(number) }
            cancel()
            signal(Int32(number), SIG_DFL)
        }
        source.setCancelHandler {
            close(output)
            close(input)
        }
        source.resume()
        self.source = source
    }

    func stop() {
        guard let source else { return }
        ckeystore_release_signals()
        source.cancel()
        self.source = nil
    }
}
