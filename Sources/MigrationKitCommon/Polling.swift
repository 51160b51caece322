import Foundation

/// Waits for events that the system doesn't announce: another process releases a lock, closes a
/// file or replaces it.
package enum Polling {
    /// Retries until it succeeds or the timeout is over.
    ///
    /// - Parameters:
    ///   - timeout: How long to wait, in seconds. There is always one attempt.
    ///   - attempt: Returns `nil` if it fails.
    /// - Returns: `nil` if it never succeeded.
    package static func value<Value>(
        within timeout: TimeInterval,
        _ attempt: () throws -> Value?
    ) rethrows -> Value? {
        try value(within: timeout, whileWaiting: {}, attempt)
    }

    /// Retries until it succeeds or the timeout is over.
    ///
    /// - Parameters:
    ///   - timeout: How long to wait, in seconds. There is always one attempt.
    ///   - whileWaiting: Called between two attempts. If it throws, the waiting ends.
    ///   - attempt: Returns `nil` if it fails.
    /// - Returns: `nil` if it never succeeded.
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
            // Short pauses first, so that a brief lock costs little time.
            pause = min(pause * 2, longestPause)
        }
    }

    /// Pauses for the longest interval between two attempts.
    package static func pause() {
        usleep(longestPause)
    }

    /// In microseconds.
    private static let longestPause: useconds_t = 20_000
}
