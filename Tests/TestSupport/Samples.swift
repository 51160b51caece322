import Foundation

/// How much random tests and loops of kills try.
package enum Samples {
    /// How many times as much as by itself: `TESTS_SAMPLES`.
    package static let factor =
        ProcessInfo.processInfo.environment["TESTS_SAMPLES"].flatMap { Int($0) } ?? 1

    /// - Parameter count: How many a test tries by itself.
    package static func count(_ count: Int) -> Int { count * factor }
}
