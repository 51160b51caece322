import MigrationKitLint

extension LintRule {
    /// The command that prints its page.
    func explainCommand(program: String) -> String { "\(program) lint --explain \(rawValue)" }

    /// Where to read more, for people.
    func seePage(program: String) -> String { "See '\(explainCommand(program: program))'" }

    /// Its page for a terminal. Links to other pages lead nowhere there: those to rules become the
    /// rules' names.
    func text(program: String) -> String {
        var text = page
        while text.hasSuffix("\n") { text.removeLast() }
        return text.replacing(/\[([^\]]+)\]\((?!https:)([^)]+)\)/) { link in
            let name = link.2.hasSuffix(".md") ? String(link.2.dropLast(3)) : ""
            guard let rule = LintRule(rawValue: name) else { return String(link.1) }
            return "\(link.1) ('\(rule.explainCommand(program: program))')"
        }
    }
}
