/// What a check of migrations has found.
public struct LintReport: Equatable, Sendable {
    /// The findings, in the order of the migrations and of the places in them.
    public let findings: [LintFinding]

    /// How many migrations were checked.
    public let checked: Int

    /// Creates a report.
    ///
    /// - Parameters:
    ///   - findings: The findings, in order.
    ///   - checked: How many migrations were checked.
    public init(findings: [LintFinding], checked: Int) {
        self.findings = findings
        self.checked = checked
    }
}

extension [LintFinding] {
    /// Those of one migration, sorted by their places. Those without a place come first.
    var inOrder: [LintFinding] {
        enumerated().sorted {
            ($0.element.line ?? 0, $0.element.column ?? 0, $0.offset)
                < ($1.element.line ?? 0, $1.element.column ?? 0, $1.offset)
        }.map(\.element)
    }
}
