import Foundation

extension Duration {
    /// How long a timeout is, which may be infinite. A duration can't be: a century will do.
    package init(timeout seconds: TimeInterval) {
        self = .seconds(seconds > 0 ? min(seconds, 3e9) : 0)
    }
}

extension TimeInterval {
    /// A time in whole microseconds, for reports: the clock isn't more precise.
    package var inMicroseconds: TimeInterval { (self * 1_000_000).rounded() / 1_000_000 }

    /// The number as it is typed, `30` or `0.5`, whatever the user's language is.
    package var plainText: String {
        let text = "\(self)"
        return text.hasSuffix(".0") ? String(text.dropLast(2)) : text
    }
}
