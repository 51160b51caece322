/// The tokens of SQL text as SQLite reads them, without white space and comments.
package struct SQLTokens: Sendable {
    package struct Token: Sendable {
        package enum Kind: Sendable {
            /// A keyword, or a name without quotes.
            case word
            /// A name in `"…"`, `` `…` `` or `[…]`.
            case quotedName
            /// A string in single quotes. SQLite takes it for a name where it expects one.
            case string
            case number, blob
            case semicolon
            /// An operator or another symbol.
            case symbol
            /// A string or a comment without an end.
            case unterminated
        }

        package let kind: Kind
        /// Where it is in the text's bytes.
        package let range: Range<Int>
        package let text: String
        /// Whether white space or a comment stands before it.
        package let followsSpace: Bool
        /// How many parentheses are open before it.
        package let depth: Int

        /// What it names: without quotes.
        package var unquoted: String {
            kind == .quotedName || kind == .string ? text.unquotedName : text
        }

        /// What it names: without quotes, and with ASCII letters in lower case.
        package var name: String { unquoted.foldedName }

        package var isName: Bool { kind == .word || kind == .quotedName || kind == .string }

        /// The word in upper case; `nil` if it is quoted, a value or a symbol.
        package var keyword: String? { kind == .word ? text.uppercased() : nil }

        /// Whether it is a string, a blob or a number, perhaps without its end.
        package var isLiteral: Bool {
            switch kind {
            case .string, .number, .blob: true
            case .unterminated: text.hasPrefix("'")
            case .word, .quotedName, .semicolon, .symbol: false
            }
        }

        /// Whether it is a name in double quotes, which SQLite may take for a string.
        /// <https://www.sqlite.org/quirks.html#double_quoted_string_literals_are_accepted>
        package var isDoubleQuoted: Bool {
            kind == .quotedName && text.utf8.first == UInt8(ascii: "\"")
        }

        package func isWord(_ word: String) -> Bool {
            kind == .word && text.utf8.count == word.utf8.count && text.uppercased() == word
        }

        /// What it stands for. Two tokens with the same meaning are the same for SQLite.
        package var meaning: String {
            switch kind {
            case .word, .number, .blob: return text.foldedName
            case .quotedName: return name.bareOrQuoted
            // SQLite's tokenizer has one token for each pair.
            case .symbol where text == "==": return "="
            case .symbol where text == "!=": return "<>"
            case .string, .symbol, .semicolon, .unterminated: return text
            }
        }

        /// The same, but a name that needs its quotes with its letters as they are written: it may be a
        /// string, or be read by a module.
        package var exactMeaning: String {
            guard kind == .quotedName, meaning.utf8.first == UInt8(ascii: "\"") else {
                return meaning
            }
            return isDoubleQuoted ? text : unquoted.quotedName
        }
    }

    package let bytes: [UInt8]
    package let tokens: [Token]

    package init(_ sql: String) {
        let bytes = Array(sql.utf8)
        var raw = Array(SQLTokenizer(bytes))[...]
        var tokens: [Token] = []
        var followsSpace = false
        var depth = 0
        while let first = raw.popFirst() {
            guard let kind = Token.Kind(first.kind, bytes[first.range.lowerBound]) else {
                followsSpace = true
                continue
            }
            var token = (kind: kind, range: first.range)
            Self.extend(&token, with: &raw, bytes)
            let text = String(decoding: bytes[token.range], as: UTF8.self)
            if text == ")" { depth -= 1 }
            tokens.append(
                Token(
                    kind: token.kind,
                    range: token.range,
                    text: text,
                    followsSpace: followsSpace,
                    depth: depth
                )
            )
            if text == "(" { depth += 1 }
            followsSpace = false
        }
        self.bytes = bytes
        self.tokens = tokens
    }

    /// Joins what is one token for SQLite, and several ones for ``SQLTokenizer``: a number with a
    /// point or an exponent, a blob, an operator of several characters.
    private static func extend(
        _ token: inout (kind: Token.Kind, range: Range<Int>),
        with raw: inout ArraySlice<SQLToken>,
        _ bytes: [UInt8]
    ) {
        func adjacent() -> SQLToken? {
            raw.first.flatMap { $0.range.lowerBound == token.range.upperBound ? $0 : nil }
        }
        func take() {
            guard let next = raw.popFirst() else { return }
            token.range = token.range.lowerBound..<next.range.upperBound
        }
        func isDigit(_ place: Int) -> Bool {
            bytes.indices.contains(place)
                && (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(bytes[place])
        }
        let start = token.range.lowerBound
        func takeExponent() {
            let text = bytes[token.range]
            let isHexadecimal = text.count > 1 && text[start + 1] | 0x20 == UInt8(ascii: "x")
            guard !isHexadecimal, text.last.map({ $0 | 0x20 }) == UInt8(ascii: "e"),
                let sign = adjacent(),
                [UInt8(ascii: "+"), UInt8(ascii: "-")].contains(bytes[sign.range.lowerBound]),
                isDigit(sign.range.upperBound)
            else { return }
            take()
            take()
        }
        switch token.kind {
        case .word where token.range.count == 1 && bytes[start] | 0x20 == UInt8(ascii: "x"):
            guard let next = adjacent(), next.kind == .quoted,
                bytes[next.range.lowerBound] == UInt8(ascii: "'")
            else { return }
            take()
            token.kind = .blob
        case .symbol where bytes[start] == UInt8(ascii: ".") && isDigit(start + 1):
            token.kind = .number
            take()
            takeExponent()
        case .number:
            if let point = adjacent(), bytes[point.range.lowerBound] == UInt8(ascii: ".") {
                take()
                if let fraction = adjacent(), fraction.kind == .word { take() }
            }
            takeExponent()
        case .symbol:
            let operators = ["->>", "||", "<<", ">>", "<=", ">=", "<>", "==", "!=", "->"]
            let rest = bytes[start...].prefix(3)
            guard let found = operators.first(where: { rest.starts(with: $0.utf8) }) else { return }
            while token.range.count < found.utf8.count { take() }
        default: return
        }
    }
}

extension SQLTokens.Token {
    /// A token by itself.
    ///
    /// - Returns: `nil` for white space and comments.
    package init?(_ token: SQLToken, in bytes: [UInt8]) {
        guard let kind = Kind(token.kind, bytes[token.range.lowerBound]) else { return nil }
        self.init(
            kind: kind,
            range: token.range,
            text: String(decoding: bytes[token.range], as: UTF8.self),
            followsSpace: false,
            depth: 0
        )
    }
}

extension SQLTokens.Token.Kind {
    /// - Returns: `nil` for white space and comments.
    fileprivate init?(_ kind: SQLToken.Kind, _ first: UInt8) {
        switch kind {
        case .space, .lineComment, .blockComment: return nil
        case .word:
            self = (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(first) ? .number : .word
        case .quoted: self = first == UInt8(ascii: "'") ? .string : .quotedName
        case .semicolon: self = .semicolon
        case .symbol: self = .symbol
        case .unterminated: self = .unterminated
        }
    }
}

// MARK: - Names

extension SQLTokens {
    /// Whether a token is one of the names. The names are in lower case.
    package func names(any names: Set<String>) -> Bool {
        tokens.contains { $0.isName && names.contains($0.name) }
    }

    /// The names in the text, in lower case.
    package var allNames: Set<String> {
        Set(tokens.filter(\.isName).map(\.name))
    }
}

extension String {
    /// A name without its quotes, or a string's value.
    package var unquotedName: String {
        guard let quote = unicodeScalars.first, unicodeScalars.count > 1 else { return self }
        let inside = unicodeScalars.dropFirst().dropLast()
        switch quote {
        case "\"", "`", "'":
            var isSecond = false
            let single = inside.filter { scalar in
                isSecond = scalar == quote && !isSecond
                return scalar != quote || isSecond
            }
            return String(String.UnicodeScalarView(single))
        case "[":
            return String(inside)
        default:
            return self
        }
    }

    /// A name in lower case, in quotes if it means something else without them.
    fileprivate var bareOrQuoted: String { isBareName ? self : quotedName }

    private var isBareName: Bool {
        guard let first = utf8.first, !(UInt8(ascii: "0")...UInt8(ascii: "9")).contains(first),
            first != UInt8(ascii: "$")
        else { return false }
        return utf8.allSatisfy(Self.isPartOfWord) && !Self.wordsWithMeaning.contains(self)
    }

    private static func isPartOfWord(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "_"), UInt8(ascii: "$"), 0x80...:
            true
        default: false
        }
    }

    /// The words that aren't names, or aren't always. SQLite takes any other keyword for a name
    /// where only a name can stand. <https://www.sqlite.org/lang_keywords.html>
    private static let wordsWithMeaning: Set<String> = [
        "add", "all", "alter", "and", "as", "autoincrement", "between", "case", "cast", "check",
        "collate", "commit", "constraint", "create", "cross", "current_date", "current_time",
        "current_timestamp", "default", "deferrable", "delete", "distinct", "drop", "else",
        "escape", "except", "exists", "false", "filter", "foreign", "from", "full", "group",
        "having", "in", "index", "indexed", "inner", "insert", "intersect", "into", "is", "isnull",
        "join", "left", "limit", "natural", "not", "nothing", "notnull", "null", "on", "or",
        "order", "outer", "over", "primary", "raise", "references", "returning", "right", "select",
        "set", "table", "then", "to", "transaction", "true", "union", "unique", "update", "using",
        "values", "when", "where", "window",
    ]
}

// MARK: - Meaning

extension SQLTokens {
    /// The text without meaningless differences: white space, comments, the case of names and
    /// keywords, and quotes around names that need none. SQLite can run it.
    package var meaning: String { meaning(renaming: [:]) }

    /// The same with other names for some columns.
    ///
    /// - Parameter renames: New names by old ones, in lower case.
    package func meaning(renaming renames: [String: String]) -> String {
        tokens.map { token in
            let isName = token.kind == .word || token.kind == .quotedName
            guard isName, let newName = renames[token.name] else { return token.meaning }
            return newName.foldedName.bareOrQuoted
        }.joined(separator: " ")
    }

    /// The meaning of some tokens, in which a name in double quotes that nothing has is a string.
    /// <https://www.sqlite.org/quirks.html#double_quoted_string_literals_are_accepted>
    ///
    /// - Parameter known: The names that something has, in lower case.
    package func meanings(_ range: Range<Int>, known: Set<String>) -> [String] {
        range.map { place in
            let token = tokens[place]
            guard token.isDoubleQuoted, !known.contains(token.name), !isNameByPlace(place) else {
                return token.meaning
            }
            return token.unquoted.sqlString
        }
    }

    /// Whether only a name can stand there.
    private func isNameByPlace(_ place: Int) -> Bool {
        if place + 1 < tokens.count {
            let next = tokens[place + 1]
            if next.text == "." || next.text == "(" || next.isWord("AS") { return true }
        }
        guard place > 0 else { return false }
        let previous = tokens[place - 1]
        let words = ["AS", "FROM", "JOIN", "INTO", "UPDATE", "TABLE", "VIEW", "TRIGGER", "COLLATE"]
        return previous.text == "." || words.contains(where: previous.isWord)
    }

    /// Some tokens as they are written, on one line.
    package func text(_ range: Range<Int>) -> String { Self.text(tokens[range]) }

    private static func text(_ tokens: ArraySlice<Token>) -> String {
        tokens.enumerated().map { $0 > 0 && $1.followsSpace ? " " + $1.text : $1.text }.joined()
    }

    /// The bytes from the first of some tokens to the last one, with comments.
    package func source(_ range: Range<Int>) -> String {
        guard let first = tokens[range].first, let last = tokens[range].last else { return "" }
        return String(
            decoding: bytes[first.range.lowerBound..<last.range.upperBound],
            as: UTF8.self
        )
    }

    /// The place after the parenthesis that closes the one at a place.
    package func end(ofGroupAt place: Int) -> Int {
        var depth = 0
        for place in place..<tokens.count {
            if tokens[place].text == "(" { depth += 1 }
            if tokens[place].text == ")" { depth -= 1 }
            if depth == 0 { return place + 1 }
        }
        return tokens.count
    }

    /// The parts of a range between commas that aren't in parentheses.
    package func items(_ range: Range<Int>) -> [Range<Int>] {
        var items: [Range<Int>] = []
        var start = range.lowerBound
        var place = start
        while place < range.upperBound {
            switch tokens[place].text {
            case "(": place = end(ofGroupAt: place)
            case ",":
                items.append(start..<place)
                place += 1
                start = place
            default: place += 1
            }
        }
        if start < range.upperBound { items.append(start..<range.upperBound) }
        return items
    }

    /// A range without parentheses around all of it.
    package func withoutParentheses(_ range: Range<Int>) -> Range<Int> {
        var range = range
        while range.count > 2, tokens[range.lowerBound].text == "(",
            end(ofGroupAt: range.lowerBound) == range.upperBound
        {
            range = range.lowerBound + 1..<range.upperBound - 1
        }
        return range
    }
}

// MARK: - Lines

extension SQLTokens {
    /// A part of a `CREATE` statement: a column or a constraint of a table, or the whole of another
    /// object.
    package struct Line: Equatable, Sendable {
        fileprivate var tokens: [Token] = []

        package init() {}

        /// Without the comma after it: adding a column at the end must not change the line of the
        /// column before it.
        private var shown: ArraySlice<Token> {
            tokens.dropLast(tokens.last?.text == "," ? 1 : 0)
        }

        /// Its original text on one line.
        package var text: String { SQLTokens.text(shown) }

        package static func == (one: Line, other: Line) -> Bool {
            one.shown.lazy.map(\.exactMeaning).elementsEqual(other.shown.lazy.map(\.exactMeaning))
        }

        package mutating func append(_ line: Line) {
            tokens += line.tokens
        }
    }

    /// The parts of a `CREATE` statement.
    package var lines: [Line] {
        let isTable = tokens.prefix(3).contains { $0.isWord("TABLE") }
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
}
