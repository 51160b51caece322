import MigrationKit

/// The text of `CREATE` statements without meaningless differences: white space, comments, the case
/// of names and keywords, and quotes around names that need none.
///
/// SQLite keeps the author's text, but changes it when a table is altered: for example, it puts the
/// new name of a renamed table in quotes. A rollback that rebuilds a table still produces the same
/// schema.
package enum CanonicalSQL {
    /// A part of a statement: a column or a constraint of a table, or the whole of another object.
    package struct Line: Equatable, Sendable {
        fileprivate var tokens: [Token] = []

        package init() {}

        /// Its original text on one line, without the comma after it: adding a column at the end
        /// must not change the line of the column before it.
        package var text: String {
            tokens.dropLast(tokens.last?.text == "," ? 1 : 0).enumerated()
                .map { $0 > 0 && $1.followsSpace ? " " + $1.text : $1.text }
                .joined()
        }

        /// The tokens without meaningless differences, and without the comma after them.
        package var meaning: some Sequence<String> {
            tokens.dropLast(tokens.last?.text == "," ? 1 : 0).lazy.map(\.meaning)
        }

        package static func == (one: Line, other: Line) -> Bool {
            one.meaning.elementsEqual(other.meaning)
        }

        package mutating func append(_ line: Line) {
            tokens += line.tokens
        }
    }

    fileprivate struct Token: Sendable {
        let text: String
        let meaning: String
        let followsSpace: Bool
    }

    /// The parts of a `CREATE` statement.
    package static func lines(_ statement: String) -> [Line] {
        let tokens = tokens(statement)
        let isTable = tokens.prefix(3).contains { $0.meaning == "table" }
        var lines = [Line()]
        var depth = 0
        for token in tokens {
            if token.text == ")" { depth -= 1 }
            if isTable, depth == 0, token.text == ")", lines.count > 1 { lines.append(Line()) }
            lines[lines.endIndex - 1].tokens.append(token)
            if isTable, depth == 1, token.text == "," { lines.append(Line()) }
            if token.text == "(" {
                depth += 1
                if isTable, depth == 1, lines.count == 1 { lines.append(Line()) }
            }
        }
        return lines
    }

    /// A statement or an expression as one text. Two texts are equal if they mean the same.
    package static func text(of sql: String) -> String {
        tokens(sql).map(\.meaning).joined(separator: " ")
    }

    /// The name that a token stands for, without quotes.
    package static func name(_ token: String) -> String {
        guard let quote = token.first, token.count > 1 else { return token }
        let inside = token.dropFirst().dropLast()
        switch quote {
        case "\"", "`", "'":
            return String(inside).replacing("\(quote)\(quote)", with: "\(quote)")
        case "[":
            return String(inside)
        default:
            return token
        }
    }

    // MARK: - Tokens

    private static func tokens(_ sql: String) -> [Token] {
        let bytes = Array(sql.utf8)
        var tokens: [Token] = []
        var followsSpace = false
        for token in SQLTokenizer(bytes) {
            switch token.kind {
            case .space, .lineComment, .blockComment:
                followsSpace = true
            case .word, .quoted, .semicolon, .symbol, .unterminated:
                let text = String(decoding: bytes[token.range], as: UTF8.self)
                let meaning = token.kind == .quoted ? meaning(ofQuoted: text) : text.lowercased()
                tokens.append(Token(text: text, meaning: meaning, followsSpace: followsSpace))
                followsSpace = false
            }
        }
        return tokens
    }

    /// A quoted name that needs no quotes means the same without them.
    private static func meaning(ofQuoted text: String) -> String {
        guard !text.hasPrefix("'") else { return text }
        let name = text.dropFirst().dropLast()
        return name.allSatisfy(isPartOfWord) && !name.isEmpty ? name.lowercased() : text
    }

    private static func isPartOfWord(_ character: Character) -> Bool {
        character.isLetter || character.isNumber || character == "_" || character == "$"
            || !character.isASCII
    }
}
