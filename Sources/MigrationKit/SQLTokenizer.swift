/// A token of SQL text, as in SQLite's own tokenizer.
package struct SQLToken: Equatable {
    package enum Kind: Equatable {
        /// White space, or a byte order mark in the middle of the text, which SQLite skips too.
        case space
        /// `-- ...`, without the line end.
        case lineComment
        /// `/* ... */`
        case blockComment
        /// A keyword, a bare identifier or a number.
        case word
        /// `'...'`, `"..."`, `` `...` `` or `[...]`.
        case quoted
        case semicolon
        /// Any other character, one by one.
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
