import Dispatch
import Foundation

/// Ctrl-C, and the other signals that ask a program to end, during a run: what isn't committed is
/// undone first.
final class EndingSignals: @unchecked Sendable {
    // `@unchecked`: every access to `first` holds the lock.
    private let lock = NSLock()
    private var first: Int32?
    private var sources: [Int32: any DispatchSourceSignal] = [:]
    private let listening = DispatchSemaphore(value: 0)

    /// The signal that came, if one did.
    var received: Int32? {
        lock.withLock { first }
    }

    /// Listens until ``stop()``. A second signal ends the process at once, as it would have without
    /// this: a step that isn't SQL can't be interrupted. So does one that comes before Dispatch's
    /// thread has begun to listen: to wait for that would take longer than a run with nothing to do.
    ///
    /// - Parameter cancel: Asks for the end, at the first signal.
    init(_ cancel: @escaping @Sendable () -> Void) {
        for number in [SIGINT, SIGTERM, SIGHUP] {
            // Ignored is someone else's wish, such as nohup's. It is not ignored here: Dispatch puts
            // a handler of its own in place, and a signal would be lost till then.
            var action = sigaction()
            sigaction(number, nil, &action)
            guard action.__sigaction_handler.sa_handler == nil else { continue }
            let source = DispatchSource.makeSignalSource(signal: number, queue: .global())
            source.setEventHandler { [self] in
                lock.withLock { first = first ?? number }
                cancel()
                signal(number, SIG_DFL)
            }
            source.setRegistrationHandler { [listening] in listening.signal() }
            source.resume()
            sources[number] = source
        }
    }

    func stop() {
        // Dispatch puts a handler of its own in place when it begins to listen, and leaves it there.
        for _ in sources { _ = listening.wait(timeout: .now() + 1) }
        for (number, source) in sources {
            source.cancel()
            signal(number, SIG_DFL)
        }
        sources = [:]
    }
}
