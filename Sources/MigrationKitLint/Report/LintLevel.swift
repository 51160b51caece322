/// How serious a finding is.
public enum LintLevel: String, CaseIterable, Codable, Comparable, Sendable {
    /// Advice.
    case note
    /// Needs a look.
    case warning
    /// Almost always a mistake.
    case error

    /// A note is less than a warning, and a warning less than an error.
    public static func < (left: LintLevel, right: LintLevel) -> Bool {
        left.rank < right.rank
    }

    private var rank: Int {
        switch self {
        case .note: 0
        case .warning: 1
        case .error: 2
        }
    }
}
