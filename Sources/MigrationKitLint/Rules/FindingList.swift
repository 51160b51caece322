/// Collects what rules find in one migration.
struct FindingList {
    private let migration: String
    private let file: String
    private(set) var findings: [LintFinding] = []
    private var rulesByStatement: [Int: Set<LintRule>] = [:]

    init(of step: StepRecord) {
        migration = step.identifier
        file = step.file
    }

    /// Adds a finding.
    ///
    /// - Parameters:
    ///   - rule: The rule.
    ///   - level: Its level if that differs from the rule's.
    ///   - statement: The statement that does it; `nil` if it is the whole migration.
    ///   - message: What happens, in one sentence that names tables and columns, never a value.
    ///   - fix: What to do instead.
    mutating func add(
        _ rule: LintRule,
        level: LintLevel? = nil,
        at statement: StatementRecord?,
        _ message: String,
        fix: String? = nil
    ) {
        let finding = LintFinding(
            rule: rule,
            level: level,
            migration: migration,
            file: statement?.place?.file ?? file,
            line: statement?.place?.line,
            column: statement?.place?.column,
            message: message,
            fix: fix
        )
        if let statement { rulesByStatement[statement.number, default: []].insert(rule) }
        if !findings.contains(finding) { findings.append(finding) }
    }

    /// The rules that have found something in a statement.
    func rules(at statement: StatementRecord) -> Set<LintRule> {
        rulesByStatement[statement.number] ?? []
    }
}

/// "a, b and c", with each name in single quotes.
func listed(_ names: some Sequence<String>) -> String {
    let names = names.map { "'\($0)'" }
    guard let last = names.last, names.count > 1 else { return names.first ?? "" }
    return names.dropLast().joined(separator: ", ") + " and " + last
}
