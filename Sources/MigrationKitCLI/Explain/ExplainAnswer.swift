import MigrationKitCommon
import MigrationKitLint

/// What is known of a message, a code, a rule or a number.
struct ExplainAnswer: Encodable {
    /// The message, code or rule as it is spelled.
    let title: String

    /// The exit codes of commands that end with it.
    private var exitCodes: [Int32] = []

    /// The codes of this tool's errors that are about it.
    private var codes: [String] = []

    /// SQLite's names for it.
    private var results: [String] = []

    /// What it means, in paragraphs.
    private let meaning: String

    private var causes: [String] = []

    /// What to do; commands begin with the program's name.
    private var next: [Explanation.Action] = []

    /// Pages of the documentation.
    private var pages: [String] = []

    /// The codes and rules, which are answered by their names.
    static var names: [String] {
        ErrorMeaning.all.map(\.code) + LintRule.allCases.map(\.rawValue)
    }

    /// - Returns: `nil` if nothing is known.
    init?(_ words: String) {
        if let rule = LintRule(rawValue: words) {
            (title, meaning) = (rule.rawValue, rule.text)
        } else if let error = ErrorMeaning.all.first(where: { $0.code == words }) {
            (title, meaning) = (error.code, error.meaning)
            exitCodes = error.exitCodes
            if let explanation = Explanation.of(code: error.code) { add(explanation) }
        } else if let status = ErrorCode.ExitStatus.meanings.first(where: {
            Self.spellings(ofExit: $0.code).contains(words.lowercased())
        }) {
            title = "exit code \(status.code)"
            meaning = status.meaning.prefix(1).uppercased() + status.meaning.dropFirst() + "."
            codes = ErrorMeaning.all.filter { $0.exitCodes.contains(status.code) }.map(\.code)
        } else if let explanation = Explanation.of(result: words) ?? Explanation.of(message: words)
        {
            (title, meaning) = (explanation.message, explanation.meaning)
            codes = explanation.codes
            add(explanation)
        } else {
            return nil
        }
    }

    /// How people write an exit code.
    private static func spellings(ofExit code: Int32) -> [String] {
        ["", "exit ", "exit code ", "exit status ", "exited with ", "code ", "status "]
            .map { "\($0)\(code)" }
    }

    private mutating func add(_ explanation: Explanation) {
        results = explanation.results.map(\.name)
        causes = explanation.causes
        next = explanation.next.map { action in
            var action = action
            action.command = action.command.map { "\(Program.name) \($0)" }
            return action
        }
        pages = explanation.pages
    }

    /// For a terminal.
    ///
    /// - Parameter width: Its columns.
    func text(width: Int) -> String {
        func paragraph(_ text: String, mark: String = "") -> [String] {
            let indent = String(repeating: " ", count: mark.count)
            return text[...].wrapped(to: width - 2 - mark.count).enumerated()
                .map { "  " + ($0.offset == 0 ? mark : indent) + $0.element }
        }
        // A rule's page has its title.
        if LintRule(rawValue: title) != nil { return meaning }
        var lines = [title, ""] + paragraph(meaning)
        if !results.isEmpty {
            lines += [""] + paragraph("SQLite: " + results.joined(separator: ", "))
        }
        if !exitCodes.isEmpty {
            let listed = exitCodes.map { code in
                let meaning = ErrorCode.ExitStatus.meanings.first { $0.code == code }?.meaning
                return "\(code)" + (meaning.map { " (\($0))" } ?? "")
            }
            lines += [""] + paragraph("Exit code: " + listed.joined(separator: ", "))
        }
        if !codes.isEmpty { lines += [""] + paragraph("Codes: " + codes.joined(separator: ", ")) }
        if !causes.isEmpty {
            lines += ["", "Usual causes"] + causes.flatMap { paragraph($0, mark: "- ") }
        }
        if !next.isEmpty {
            lines += ["", "What to do"]
            for action in next {
                guard let command = action.command else {
                    lines += paragraph(action.purpose)
                    continue
                }
                lines += ["  \(command)"] + paragraph(action.purpose, mark: "    ")
            }
        }
        if !pages.isEmpty {
            lines += [""] + paragraph("Documentation: " + pages.joined(separator: ", "))
        }
        return lines.joined(separator: "\n")
    }
}
