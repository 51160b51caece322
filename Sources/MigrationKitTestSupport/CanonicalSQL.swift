/// The text of `CREATE` statements without meaningless differences: white space, comments, the case
/// of names and keywords, and quotes around names that need none.
///
/// SQLite keeps the author's text, but changes it when a table is altered: for example, it puts the
/// new name of a renamed table in quotes. A rollback that rebuilds a table still produces the same
/// schema.
enum CanonicalSQL {
    /// A part of a statement: a column or a constraint of a table, or the whole of another object.
    struct Line: Equatable {
        fileprivate var tokens: [Token] = []

        /// Its original text on one line, without the comma after it: adding a column at the end
        /// must not change the line of the column before it.
        var text: String {
            tokens.dropLast(tokens.last?.text == "," ? 1 : 0).enumerated()
                .map { $0 > 0 && $1.followsSpace ? " " + $1.text : $1.text }
                .joined()
        }

        private var meaning: some Sequence<String> {
            tokens.dropLast(tokens.last?.text == "," ? 1 : 0).lazy.map(\.meaning)
        }

        static func == (one: Line, other: Line) -> Bool {
            one.meaning.elementsEqual(other.meaning)
        }

        mutating func append(_ line: Line) {
            tokens += line.tokens
        }
    }

    fileprivate struct Token {
        let text: String
        let meaning: String
        let followsSpace: Bool
    }

    /// The parts of a `CREATE` statement.
    static func lines(_ statement: String) -> [Line] {
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

    // MARK: - Tokens

    private static func tokens(_ sql: String) -> [Token] {
        var rest = Substring(sql)
        var tokens: [Token] = []
        var followsSpace = false
        while let first = rest.first {
            if first.isWhitespace {
                rest.removeFirst()
                followsSpace = true
            } else if rest.hasPrefix("--") {
                rest = rest.drop { !$0.isNewline }
                followsSpace = true
            } else if rest.hasPrefix("/*") {
                rest = afterComment(rest)
                followsSpace = true
            } else {
                let length = tokenLength(rest, first: first)
                let text = String(rest.prefix(length))
                tokens.append(
                    Token(text: text, meaning: meaning(of: text), followsSpace: followsSpace)
                )
                rest = rest.dropFirst(length)
                followsSpace = false
            }
        }
        return tokens
    }

    private static func afterComment(_ rest: Substring) -> Substring {
        rest.firstRange(of: "*/").map { rest[$0.upperBound...] } ?? ""
    }

    private static func tokenLength(_ rest: Substring, first: Character) -> Int {
        switch first {
        case "'", "\"", "`": quotedLength(rest, quote: first)
        case "[":
            (rest.firstIndex(of: "]").map { rest.distance(from: rest.startIndex, to: $0) } ?? 0) + 1
        default: max(1, rest.prefix(while: isPartOfWord).count)
        }
    }

    /// A quote inside the quotes is doubled.
    private static func quotedLength(_ rest: Substring, quote: Character) -> Int {
        var index = rest.index(after: rest.startIndex)
        while let end = rest[index...].firstIndex(of: quote) {
            index = rest.index(after: end)
            guard index < rest.endIndex, rest[index] == quote else { break }
            index = rest.index(after: index)
        }
        return rest.distance(from: rest.startIndex, to: index)
    }

    private static func meaning(of text: String) -> String {
        guard let first = text.first else { return text }
        switch first {
        case "'":
            return text
        case "\"", "`", "[":
            let name = text.dropFirst().dropLast()
            return name.allSatisfy(isPartOfWord) && !name.isEmpty ? name.lowercased() : text
        default:
            return text.lowercased()
        }
    }

    private static func isPartOfWord(_ character: Character) -> Bool {
        character.isLetter || character.isNumber || character == "_" || character == "$"
            || !character.isASCII
    }
}
