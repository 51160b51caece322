import GRDB
import MigrationKit

/// The tokens of a schema object's SQL, without white space and comments, and the names in it.
struct SQLTokens {
    struct Token {
        let kind: SQLToken.Kind
        let range: Range<Int>
        let text: String

        /// What the token names: without its quotes, and with ASCII letters in lower case. SQLite
        /// also takes a string in single quotes for a name where it expects one.
        let name: String

        func isWord(_ word: String) -> Bool {
            kind == .word && text.uppercased() == word
        }
    }

    let bytes: [UInt8]
    let tokens: [Token]

    init(_ sql: String) {
        let bytes = Array(sql.utf8)
        self.bytes = bytes
        tokens = SQLTokenizer(bytes).compactMap { token in
            switch token.kind {
            case .space, .lineComment, .blockComment: return nil
            case .word, .quoted, .semicolon, .symbol, .unterminated:
                let text = String(decoding: bytes[token.range], as: UTF8.self)
                let name = token.kind == .quoted ? CanonicalSQL.name(text) : text
                return Token(
                    kind: token.kind,
                    range: token.range,
                    text: text,
                    name: name.foldedName
                )
            }
        }
    }

    /// Whether a token is one of the names. The names are in lower case.
    func names(any names: Set<String>) -> Bool {
        tokens.contains { isName($0) && names.contains($0.name) }
    }

    /// The names in the text, in lower case.
    var allNames: Set<String> {
        Set(tokens.filter(isName).map(\.name))
    }

    private func isName(_ token: Token) -> Bool {
        token.kind == .word || token.kind == .quoted
    }

    /// A text that is the same for the same tokens, apart from quotes and the case of names.
    ///
    /// - Parameter renames: New names by old ones, in lower case.
    func normalized(_ renames: [String: String] = [:]) -> String {
        tokens.map { token in
            let isString = token.text.hasPrefix("'")
            return isString ? token.text : renames[token.name] ?? token.name
        }.joined(separator: " ")
    }
}

// MARK: - Table Text

/// The text of a `CREATE TABLE` statement with a list of columns.
struct TableText {
    private let sql: SQLTokens
    /// The table's name, without its quotes.
    let name: String
    /// The index of the token after the name, which is an opening parenthesis.
    private let open: Int

    /// - Parameter text: The statement, with or without a semicolon.
    /// - Throws: ``Problem`` if the text isn't one such statement.
    init(_ text: String) throws {
        sql = SQLTokens(text)
        let tokens = sql.tokens
        var place = 0
        func take(_ words: String...) -> Bool {
            guard place + words.count <= tokens.count,
                zip(tokens[place...], words).allSatisfy({ $0.isWord($1) })
            else { return false }
            place += words.count
            return true
        }
        guard take("CREATE", "TABLE") else { throw Problem.isNoCreateTable }
        _ = take("IF", "NOT", "EXISTS")
        if place + 2 < tokens.count, tokens[place + 1].text == "." {
            guard tokens[place].name == "main" else { throw Problem.isNoCreateTable }
            place += 2
        }
        guard place + 1 < tokens.count, tokens[place + 1].text == "(" else {
            throw Problem.isNoCreateTable
        }
        let last = tokens.lastIndex { $0.kind != .semicolon } ?? 0
        guard !tokens[..<last].contains(where: { $0.kind == .semicolon }) else {
            throw Problem.hasMoreStatements
        }
        let token = tokens[place]
        name = token.kind == .quoted ? CanonicalSQL.name(token.text) : token.text
        open = place + 1
    }

    enum Problem: Error {
        case isNoCreateTable, hasMoreStatements
    }

    /// The statement for a table with another name.
    ///
    /// A `CHECK` may name the table before a column. SQLite checks that at once, and renames it
    /// again with the table.
    func renamed(to newName: String) -> String {
        let own = name.foldedName
        let last = sql.tokens.lastIndex { $0.kind != .semicolon } ?? open
        var changes: [(Range<Int>, String)] = []
        for place in open..<last
        where sql.tokens[place].name == own && sql.tokens[place + 1].text == "." {
            changes.append((sql.tokens[place].range, newName.quotedName))
        }
        let range = sql.tokens[open].range.lowerBound..<sql.tokens[last].range.upperBound
        return "CREATE TABLE \(newName.quotedName) " + text(range, changing: changes)
    }

    /// Whether `AUTOINCREMENT`, a reserved word, is in it.
    var hasAutoincrement: Bool { sql.tokens.contains { $0.isWord("AUTOINCREMENT") } }

    /// The tokens that define a column: from its name to its last constraint.
    private func column(_ name: String) -> Range<Int>? {
        var depth = 0
        var start = open + 1
        for place in open..<sql.tokens.count {
            switch sql.tokens[place].text {
            case "(": depth += 1
            case ")": depth -= 1
            default: break
            }
            let ends = depth == 0 || depth == 1 && sql.tokens[place].text == ","
            guard ends else { continue }
            if start < place, sql.tokens[start].name == name.foldedName { return start..<place }
            guard depth > 0 else { return nil }
            start = place + 1
        }
        return nil
    }

    /// The statement with a further constraint at the end of a column.
    ///
    /// - Returns: `nil` if there is no such column.
    func adding(_ constraint: String, to name: String) -> String? {
        guard let column = column(name) else { return nil }
        let end = sql.tokens[column.upperBound - 1].range.upperBound
        return text(0..<sql.bytes.count, changing: [(end..<end, " " + constraint)])
    }

    /// The statement with another type of a column.
    ///
    /// - Returns: `nil` if there is no such column.
    func changingType(of name: String, to type: String) -> String? {
        guard let column = column(name) else { return nil }
        // <https://www.sqlite.org/syntax/column-constraint.html>
        let constraints: Set = [
            "CONSTRAINT", "PRIMARY", "NOT", "NULL", "UNIQUE", "CHECK", "DEFAULT", "COLLATE",
            "REFERENCES", "GENERATED", "AS",
        ]
        let end =
            column.dropFirst().first {
                sql.tokens[$0].kind == .word
                    && constraints.contains(sql.tokens[$0].text.uppercased())
            } ?? column.upperBound
        let range =
            sql.tokens[column.lowerBound].range.upperBound..<sql.tokens[end - 1].range.upperBound
        return text(0..<sql.bytes.count, changing: [(range, type.isEmpty ? "" : " " + type)])
    }

    private func text(_ range: Range<Int>, changing changes: [(Range<Int>, String)]) -> String {
        var result: [UInt8] = []
        var start = range.lowerBound
        for (place, replacement) in changes {
            result += sql.bytes[start..<place.lowerBound]
            result += replacement.utf8
            start = place.upperBound
        }
        result += sql.bytes[start..<range.upperBound]
        return String(decoding: result, as: UTF8.self)
    }
}
