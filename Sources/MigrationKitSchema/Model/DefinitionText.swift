import MigrationKitGRDB

/// The text of a `CREATE TRIGGER` or `CREATE VIEW` statement, as SQLite has stored it.
struct DefinitionText: Sendable {
    private let sql: SQLTokens
    private let isTrigger: Bool

    init(_ text: String, isTrigger: Bool) {
        sql = SQLTokens(text)
        self.isTrigger = isTrigger
    }

    /// The names in double quotes, in lower case: they may be strings.
    var doubtfulNames: Set<String> { Set(sql.tokens.filter(\.isDoubleQuoted).map(\.name)) }

    /// The names that can't be strings, in lower case: those of the result columns, for example.
    var certainNames: Set<String> {
        var names: Set<String> = []
        for (place, token) in sql.tokens.enumerated() where token.isName {
            let isCertain =
                token.kind == .word || token.kind == .quotedName && !token.isDoubleQuoted
                || place > 0 && sql.tokens[place - 1].isWord("AS")
            if isCertain { names.insert(token.name) }
        }
        return names
    }

    /// The statement without meaningless differences.
    ///
    /// - Parameter known: The names that something has, in lower case.
    func meaning(known: Set<String>) -> String {
        let tokens = sql.tokens
        let words = sql.meanings(0..<tokens.count, known: known)
        guard isTrigger,
            let on = tokens.indices.dropFirst(3).first(where: { tokens[$0].isWord("ON") }),
            let event = tokens[..<on].indices.dropFirst(3).first(where: { place in
                ["INSERT", "UPDATE", "DELETE"].contains(where: tokens[place].isWord)
            })
        else { return words.joined(separator: " ") }
        // BEFORE is the default, and FOR EACH ROW is the only way.
        // <https://www.sqlite.org/lang_createtrigger.html>
        var parts = Array(words[..<3])
        parts += event > 3 ? Array(words[3..<event]) : ["before"]
        parts.append(words[event])
        if event + 1 < on {
            parts +=
                ["of"] + [
                    words[(event + 2)..<on].filter { $0 != "," }.sorted()
                        .joined(separator: " , ")
                ]
        }
        let body =
            tokens[on...].firstIndex { $0.isWord("WHEN") || $0.isWord("BEGIN") } ?? tokens.count
        let target = words[on..<body]
        parts += target.suffix(3) == ["for", "each", "row"] ? target.dropLast(3) : target
        return (parts + words[body...]).joined(separator: " ")
    }
}
