import Foundation

extension Date {
    /// For programs: ISO 8601 in UTC, with milliseconds.
    package var iso8601: String {
        let milliseconds = Int((timeIntervalSince1970 * 1000).rounded())
        var seconds = time_t(milliseconds / 1000)
        var parts = tm()
        gmtime_r(&seconds, &parts)
        let fraction = String(1000 + milliseconds % 1000).dropFirst()
        return parts.text("%Y-%m-%dT%H:%M:%S") + ".\(fraction)Z"
    }
}

extension tm {
    /// The time in a form of `strftime`.
    package func text(_ format: String) -> String {
        var parts = self
        var text = [CChar](repeating: 0, count: 64)
        strftime(&text, text.count, format, &parts)
        return String(
            decoding: text.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) },
            as: UTF8.self
        )
    }
}
