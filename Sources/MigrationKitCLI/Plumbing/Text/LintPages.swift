import MigrationKitLint

extension LintRule {
    /// The command that prints its page.
    var explainCommand: String { "\(Program.name) lint --explain \(rawValue)" }

    /// Where to read more, for people.
    var seePage: String { "See '\(explainCommand)'" }

    /// Its page for a terminal. Links to other pages lead nowhere there: those to rules become the
    /// rules' names.
    var text: String {
        var page = page
        while page.hasSuffix("\n") { page.removeLast() }
        return page.replacing(/\[([^\]]+)\]\((?!https:)([^)]+)\)/) { link in
            let name = link.2.hasSuffix(".md") ? String(link.2.dropLast(3)) : ""
            guard let rule = LintRule(rawValue: name) else { return String(link.1) }
            return "\(link.1) ('\(rule.explainCommand)')"
        }
    }
}
