/// How many stores may fail before no more are started.
public enum FailureLimit: Equatable, Sendable {
    /// A number of stores.
    case count(Int)

    /// A percentage of the run's stores, but no fewer than a number.
    case percent(Double, atLeast: Int = 0)

    /// 5 % and at least 10: a migration that fails everywhere ends early, and a few stores that are
    /// busy or broken end nothing.
    public static let standard = FailureLimit.percent(5, atLeast: 10)

    /// - Parameter text: A number, or a number and `%`.
    /// - Returns: `nil` if it is neither.
    public init?(_ text: String) {
        if text.hasSuffix("%") {
            guard let percent = Double(text.dropLast()), (0...100).contains(percent) else {
                return nil
            }
            self = .percent(percent)
        } else {
            guard let count = Int(text), count >= 0 else { return nil }
            self = .count(count)
        }
    }

    /// How many may fail of a number of stores.
    func count(of total: Int) -> Int {
        switch self {
        case .count(let count): count
        case .percent(let percent, let least): max(Int(percent / 100 * Double(total)), least)
        }
    }
}
