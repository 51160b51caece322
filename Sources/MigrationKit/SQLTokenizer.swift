/// A token of SQL text, as in SQLite's own tokenizer.
package struct SQLToken: Equatable {
    package enum Kind: Equatable {
        /// White space, or a byte order mark in the middle of the text, which SQLite skips too.
        case space
        /// `-- ...`, without the line end.
        case lineComment
        /// `/* ... */`
        case blockComment
        /// A keyword, a bare identifier, a number or a named parameter.
        case word
        /// `'...'`, `"..."`, `` `...` `` or `[...]`.
        case quoted
        case semicolon
        /// A numbered parameter, or any other character, one by one.
        case symbol
        /// A string or a comment without an end. It extends to the end of the text.
        case unterminated
    }

    package let kind: Kind
    /// The token's position in the text's bytes.
    package let range: Range<Int>
}

/// Splits SQL text into tokens, in one pass and in linear time.
///
/// It only distinguishes statements from literals and comments. It doesn't interpret statements:
/// when a migration runs, SQLite itself splits them.
///
/// The rules are those of <https://www.sqlite.org/lang_expr.html#literal_values_constants_>,
/// <https://www.sqlite.org/lang_comment.html> and <https://www.sqlite.org/lang_keywords.html>.
package struct SQLTokenizer: IteratorProtocol, Sequence {
    private let text: [UInt8]
    private let end: Int
    private var position: Int

    /// - Parameters:
    ///   - text: The bytes of the text, in UTF-8.
    ///   - range: The part of it to split; by default all of it.
    package init(_ text: [UInt8], in range: Range<Int>? = nil) {
        self.text = text
        self.position = range?.lowerBound ?? 0
        self.end = range?.upperBound ?? text.count
    }

    package mutating func next() -> SQLToken? {
        guard position < end else { return nil }
        let start = position
        let kind = scan()
        return SQLToken(kind: kind, range: start..<position)
    }

    /// Moves past the token at the current position, and returns its kind.
    private mutating func scan() -> SQLToken.Kind {
        let byte = text[position]
        position += 1
        switch byte {
        case _ where Self.isSpace(byte):
            skip(while: Self.isSpace)
            return .space
        case UInt8(ascii: "-") where peek(0) == UInt8(ascii: "-"):
            skip { $0 != UInt8(ascii: "\n") }
            return .lineComment
        case UInt8(ascii: "/") where peek(0) == UInt8(ascii: "*"):
            return scanBlockComment()
        case UInt8(ascii: "'"), UInt8(ascii: "\""), UInt8(ascii: "`"):
            return scanQuoted(by: byte)
        case UInt8(ascii: "["):
            skip { $0 != UInt8(ascii: "]") }
            guard position < end else { return .unterminated }
            position += 1
            return .quoted
        case UInt8(ascii: ";"):
            return .semicolon
        case 0xEF where peek(0) == 0xBB && peek(1) == 0xBF:
            position += 2
            return .space
        case UInt8(ascii: "$"), UInt8(ascii: "@"), UInt8(ascii: ":"), UInt8(ascii: "#"):
            return scanParameter()
        case UInt8(ascii: "?"):
            skip { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }
            return .symbol
        case _ where Self.isWord(byte):
            skip(while: Self.isWord)
            return .word
        default:
            return .symbol
        }
    }

    private mutating func scanBlockComment() -> SQLToken.Kind {
        position += 1
        while position + 1 < end {
            if text[position] == UInt8(ascii: "*"), text[position + 1] == UInt8(ascii: "/") {
                position += 2
                return .blockComment
            }
            position += 1
        }
        // SQLite takes this for a comment, and ignores everything after it without an error.
        position = end
        return .unterminated
    }

    /// A name may have colons in pairs, and anything but space in parentheses behind it: `$a::b(')`
    /// is one token. SQLite takes it for a parameter in a statement, and for any text among the
    /// arguments of a virtual table. <https://www.sqlite.org/lang_expr.html#varparam>
    private mutating func scanParameter() -> SQLToken.Kind {
        let start = position
        var isNamed = false
        while let byte = peek(0) {
            if Self.isWord(byte) {
                isNamed = true
                position += 1
            } else if byte == UInt8(ascii: "("), isNamed {
                position += 1
                skip { !Self.isSpace($0) && $0 != UInt8(ascii: ")") }
                if peek(0) == UInt8(ascii: ")") { position += 1 }
                break
            } else if byte == UInt8(ascii: ":"), peek(1) == UInt8(ascii: ":") {
                position += 2
            } else {
                break
            }
        }
        return position == start ? .symbol : .word
    }

    /// A quote inside is written twice.
    private mutating func scanQuoted(by quote: UInt8) -> SQLToken.Kind {
        while position < end {
            let byte = text[position]
            position += 1
            guard byte == quote else { continue }
            guard peek(0) == quote else { return .quoted }
            position += 1
        }
        return .unterminated
    }

    private mutating func skip(while condition: (UInt8) -> Bool) {
        while position < end, condition(text[position]) {
            position += 1
        }
    }

    private func peek(_ distance: Int) -> UInt8? {
        position + distance < end ? text[position + distance] : nil
    }

    private static func isSpace(_ byte: UInt8) -> Bool {
        byte == UInt8(ascii: " ") || (0x09...0x0D).contains(byte)
    }

    /// Bytes from 0x80 on belong to a character outside ASCII, which SQLite always treats as a
    /// letter.
    private static func isWord(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "_"), UInt8(ascii: "$"), 0x80...:
            true
        default:
            false
        }
    }
}

// MARK: - SQL Statement Boundary

/// Follows the tokens of a statement, and finds its end.
///
/// A statement ends with a semicolon. `CREATE TRIGGER` ends with the semicolon after an `END` that
/// itself follows a semicolon, as in <https://www.sqlite.org/c3ref/complete.html>. So the `END` of
/// a `CASE` doesn't end it.
package struct SQLStatementBoundary {
    private enum State {
        /// Only spaces so far.
        case start
        /// After `EXPLAIN`, which may precede any statement.
        case explain
        /// After `CREATE`, with or without `TEMP`.
        case create
        /// In a statement that ends with the next semicolon.
        case plain
        /// In the body of a trigger, not after a semicolon.
        case trigger
        /// In the body of a trigger, after a semicolon.
        case triggerStatementEnd
        /// After the `END` of a trigger.
        case triggerEnd
    }

    private var state = State.start

    package init() {}

    /// Whether a comment at this point is inside a trigger's body.
    package var isInTriggerBody: Bool {
        state == .trigger || state == .triggerStatementEnd
    }

    /// Whether the text may end here: no trigger is waiting for its `END`.
    package var isComplete: Bool {
        state == .start
    }

    /// Processes the next token. Spaces and comments change nothing.
    ///
    /// - Parameters:
    ///   - kind: The token's kind.
    ///   - word: The token in upper case, if it is a word.
    package mutating func take(_ kind: SQLToken.Kind, word: String?) {
        switch kind {
        case .space, .lineComment, .blockComment: return
        case .semicolon: state = isInTriggerBody ? .triggerStatementEnd : .start
        case .word, .quoted, .symbol, .unterminated: state = next(word: word)
        }
    }

    private func next(word: String?) -> State {
        switch (state, word) {
        case (.start, "EXPLAIN"): .explain
        case (.start, "CREATE"), (.explain, "CREATE"): .create
        case (.explain, _): .explain
        case (.create, "TEMP"), (.create, "TEMPORARY"): .create
        case (.create, "TRIGGER"): .trigger
        case (.triggerStatementEnd, "END"): .triggerEnd
        case (.start, _), (.create, _), (.plain, _): .plain
        case (.trigger, _), (.triggerStatementEnd, _), (.triggerEnd, _): .trigger
        }
    }
}

// MARK: - Single Statements

extension [UInt8] {
    /// A token of the text in upper case, if it is a word.
    func word(_ token: SQLToken) -> String? {
        guard token.kind == .word else { return nil }
        return String(decoding: self[token.range], as: UTF8.self).uppercased()
    }
}

extension SQLStatementBoundary {
    /// The statements of a text, each from its first token to its semicolon, if it has one.
    ///
    /// - Parameters:
    ///   - text: The bytes of the text, in UTF-8.
    ///   - range: The part of it to split; by default all of it.
    package static func statements(
        in text: [UInt8],
        range: Range<Int>? = nil
    ) -> [Range<Int>] {
        var statements: [Range<Int>] = []
        var boundary = SQLStatementBoundary()
        var start: Int?
        var (end, depth) = (0, 0)
        func endStatement() {
            if let start { statements.append(start..<end) }
            (start, depth) = (nil, 0)
            boundary = SQLStatementBoundary()
        }
        for token in SQLTokenizer(text, in: range) {
            switch token.kind {
            case .space, .lineComment, .blockComment: continue
            case .semicolon where start == nil: continue
            // It is one of the arguments of a virtual table.
            case .semicolon where depth > 0: continue
            case .symbol where text[token.range.lowerBound] == UInt8(ascii: "("): depth += 1
            case .symbol where text[token.range.lowerBound] == UInt8(ascii: ")"): depth -= 1
            case .word, .quoted, .semicolon, .symbol, .unterminated: break
            }
            start = start ?? token.range.lowerBound
            end = token.range.upperBound
            boundary.take(token.kind, word: text.word(token))
            if boundary.isComplete { endStatement() }
        }
        endStatement()
        return statements
    }
}
