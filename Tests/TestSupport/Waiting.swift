import Foundation
import Testing

/// How long something may take that must happen, in seconds. It only ends what would never end, so it
/// is longer than the slowest and busiest machine needs.
public let patience = 600

/// Waits until something is so, and throws when that takes longer than `patience`.
///
/// - Parameters:
///   - what: What is waited for, for the error.
///   - interval: How long to wait before asking again, in microseconds.
public func wait(
    for what: String,
    interval: UInt32 = 1000,
    until isSo: () throws -> Bool
) throws {
    let deadline = ContinuousClock.now + .seconds(patience)
    while try !isSo() {
        try #require(ContinuousClock.now < deadline, "\(what): still not so after \(patience) s")
        usleep(interval)
    }
}
