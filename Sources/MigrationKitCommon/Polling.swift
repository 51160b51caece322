import Foundation

/// Waiting for what the system announces to nobody: another process that lets go of a lock, closes a
/// file or replaces it.
package enum Polling {
    /// Tries again and again until it works, or the timeout is over.
    ///
    /// - Parameters:
    ///   - timeout: How long to wait, in seconds. It is tried once in any case.
    ///   - attempt: Returns `nil` as long as it doesn't work.
    /// - Returns: `nil` if it never worked.
    package static func value<Value>(
        within timeout: TimeInterval,
        _ attempt: () throws -> Value?
    ) rethrows -> Value? {
        try value(within: timeout, whileWaiting: {}, attempt)
    }

    /// Tries again and again until it works, or the timeout is over.
    ///
    /// - Parameters:
    ///   - timeout: How long to wait, in seconds. It is tried once in any case.
    ///   - whileWaiting: Is called between two attempts. What it throws ends the waiting.
    ///   - attempt: Returns `nil` as long as it doesn't work.
    /// - Returns: `nil` if it never worked.
    package static func value<Value>(
        within timeout: TimeInterval,
        whileWaiting: () throws -> Void,
        _ attempt: () throws -> Value?
    ) rethrows -> Value? {
        let deadline = ContinuousClock.now + Duration(timeout: timeout)
        var pause: useconds_t = 1_000
        while true {
            if let value = try attempt() { return value }
            guard ContinuousClock.now < deadline else { return nil }
            try whileWaiting()
            usleep(pause)
            // Short pauses first, so that a lock that is held briefly costs little time.
            pause = min(pause * 2, longestPause)
        }
    }

    /// Waits as long as makes sense before another look.
    package static func pause() {
        usleep(longestPause)
    }

    /// In microseconds.
    private static let longestPause: useconds_t = 20_000
}

extension Duration {
    /// How long a timeout is, which may be infinite. A duration can't be: a century will do.
    package init(timeout seconds: TimeInterval) {
        self = .seconds(seconds > 0 ? min(seconds, 3e9) : 0)
    }
}
