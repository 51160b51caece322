import MigrationKitGRDB

/// The text of a `CREATE INDEX` statement.
struct IndexText {
    let sql: SQLTokens
    /// The tokens of each column or expression, without ASC and DESC.
    let columns: [Range<Int>]
    /// The tokens of a partial index's condition.
    let condition: Range<Int>?

    /// - Parameter text: `CREATE INDEX name ON table (column, ...) WHERE condition`.
    /// - Returns: `nil` if it isn't one.
    init?(_ text: String) {
        sql = SQLTokens(text)
        let tokens = sql.tokens
        guard let open = tokens.firstIndex(where: { $0.text == "(" }) else { return nil }
        let end = sql.end(ofGroupAt: open)
        guard tokens[end - 1].text == ")", end - 1 > open else { return nil }
        columns = sql.items(open + 1..<end - 1).map { [tokens] item in
            let hasDirection = ["ASC", "DESC"].contains(where: tokens[item.upperBound - 1].isWord)
            return hasDirection ? item.dropLast() : item
        }
        guard !columns.contains(where: \.isEmpty) else { return nil }
        guard end < tokens.count else {
            condition = nil
            return
        }
        guard tokens[end].isWord("WHERE"), end + 1 < tokens.count else { return nil }
        condition = end + 1..<tokens.count
    }

    /// The columns and expressions as they are written.
    var columnSources: [String] { columns.map(sql.source) }

    /// The condition as it is written.
    var conditionSource: String? { condition.map(sql.source) }
}

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
