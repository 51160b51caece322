/// The page on errors, read from the documentation, which is built into the tool.
///
/// A heading of the third level is a message. Below it stand, each in a paragraph of its own and in this order:
/// "Also:" with other messages and SQLite's results, the meaning, "Usual causes:" and "What to do:" with a list,
/// "More:" with pages, and "Codes:". The table under "Codes" has what each code means.
struct ErrorsPage: Sendable {
    /// The messages, in the page's order.
    let explanations: [Explanation]

    /// The codes, by exit code.
    let codes: [ErrorMeaning]

    /// The page of this version.
    static let current = ErrorsPage(
        String(decoding: PackageResources.Errors_md, as: UTF8.self)
    )

    init(_ text: String) {
        let lines = text.split(separator: "\n")
        let table = lines.firstIndex(of: "## Codes") ?? lines.endIndex
        let headings = lines[..<table].indices.filter { lines[$0].hasPrefix("### ") }
        explanations = zip(headings, headings.dropFirst() + [table]).map { start, end in
            Explanation(lines[start].dropFirst(4), lines[(start + 1)..<end])
        }
        codes = lines[table...].compactMap { line in
            line.hasPrefix("| `") ? ErrorMeaning(row: line) : nil
        }
    }
}

extension Explanation {
    /// Every heading, in the page's order.
    static var all: [Explanation] { ErrorsPage.current.explanations }

    /// - Parameters:
    ///   - message: The heading.
    ///   - lines: What stands below it, without empty lines.
    fileprivate init(_ message: Substring, _ lines: ArraySlice<Substring>) {
        self.message = String(message)
        var meaning = "", causes: [String] = [], next: [Action] = []
        var isAboutCauses = true
        for line in lines {
            if let list = line.part(after: "Also: ") {
                (alike, results) = Self.others(list)
            } else if let item = line.dropping("- ") {
                if isAboutCauses {
                    causes.append(String(item))
                } else {
                    next.append(Action(item: item))
                }
            } else if let list = line.part(after: "More: ") {
                pages = list.split(separator: ", ").compactMap {
                    $0.dropping("[")?.prefix { $0 != "]" }
                }.map(String.init)
            } else if let list = line.part(after: "Codes: ") {
                codes = list.split(separator: ", ").map { String($0.dropFirst().dropLast()) }
            } else if line == "Usual causes:" || line == "What to do:" {
                isAboutCauses = line == "Usual causes:"
            } else {
                meaning = String(line)
            }
        }
        (self.meaning, self.causes, self.next) = (meaning, causes, next)
    }

    /// - Parameter list: `"a message", "another", SQLITE_NOTADB (26)`. A message may have quotes.
    private static func others(
        _ list: Substring
    ) -> (messages: [String], results: [(code: Int32, name: String)]) {
        var messages: [String] = []
        var rest = list
        while let quoted = rest.dropping("\"") {
            let end = quoted.firstRange(of: "\", ")
            messages.append(String(end.map { quoted[..<$0.lowerBound] } ?? quoted.dropLast()))
            rest = end.map { quoted[$0.upperBound...] } ?? ""
        }
        let results = rest.split(separator: ", ").compactMap { result in
            let words = result.split(separator: " ")
            return words.last.flatMap { Int32($0.dropFirst().dropLast()) }
                .map { (code: $0, name: String(words[0])) }
        }
        return (messages, results)
    }
}

extension Explanation.Action {
    /// - Parameter item: A command in backquotes and what it is good for, or only words.
    fileprivate init(item: Substring) {
        guard let command = item.dropping("`migrationkit-cli "),
            let end = command.firstIndex(of: "`")
        else {
            self.init(String(item))
            return
        }
        self.init(
            String(command[..<end]),
            String(command[command.index(after: end)...].dropFirst())
        )
    }
}

/// What each code of an error means, for `explain` and the page on errors.
struct ErrorMeaning: Sendable {
    let code: String

    /// The exit codes of commands that end with it; none for signals.
    let exitCodes: [Int32]

    /// What has happened.
    let meaning: String

    /// Every code, by exit code.
    static var all: [ErrorMeaning] { ErrorsPage.current.codes }

    /// - Parameter row: A row of the page's table. A meaning may contain a bar.
    fileprivate init?(row: Substring) {
        let cells = row.dropFirst(2).dropLast(2).split(
            separator: " | ",
            maxSplits: 2,
            omittingEmptySubsequences: false
        )
        guard cells.count == 3 else { return nil }
        code = String(cells[0].dropFirst().dropLast())
        exitCodes = cells[1].split(separator: ", ").compactMap { Int32($0) }
        meaning = String(cells[2])
    }
}

extension Substring {
    fileprivate func dropping(_ prefix: String) -> Substring? {
        hasPrefix(prefix) ? dropFirst(prefix.count) : nil
    }

    /// What comes after a prefix, without the full stop.
    fileprivate func part(after prefix: String) -> Substring? { dropping(prefix)?.dropLast() }
}
