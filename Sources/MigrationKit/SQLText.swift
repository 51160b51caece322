/// What SQL text is, as SQLite and its shell read it.
extension String {
    /// Whether nothing is left to run behind a place, in bytes of UTF-8.
    package func isBlank(from place: Int) -> Bool {
        let bytes = Array(utf8)
        return SQLTokenizer(bytes, in: min(place, bytes.count)..<bytes.count).allSatisfy {
            [.space, .lineComment, .blockComment, .semicolon].contains($0.kind)
        }
    }

    /// The text of an object of a schema without what may stand behind its statement, which SQLite
    /// doesn't read.
    package var firstStatement: String {
        guard utf8.contains(UInt8(ascii: ";")) else { return self }
        let bytes = Array(utf8)
        let statements = SQLStatementBoundary.statements(in: bytes)
        guard statements.count > 1, let first = statements.first else { return self }
        let end = SQLTokenizer(bytes, in: first).reversed()
            .first { ![.space, .semicolon].contains($0.kind) }
        return String(decoding: bytes[..<(end?.range.upperBound ?? 0)], as: UTF8.self)
    }

    /// SQL with a star for each character in single quotes, since that may be a secret. Lines and
    /// columns stay. What is never closed is hidden to its end.
    ///
    /// - Parameter hidesDoubleQuoted: Whether what is in double quotes is hidden, too. Usually it
    ///   is a name.
    package func withoutStrings(hidingDoubleQuoted hidesDoubleQuoted: Bool = false) -> String {
        let bytes = Array(utf8)
        var hidden: [Range<Int>] = []
        for token in SQLTokenizer(bytes) {
            let isClosed = token.kind == .quoted
            guard isClosed || token.kind == .unterminated else { continue }
            let quote = bytes[token.range.lowerBound]
            guard quote == UInt8(ascii: "'") || hidesDoubleQuoted && quote == UInt8(ascii: "\"")
            else { continue }
            let start = token.range.lowerBound + 1
            let end = isClosed ? token.range.upperBound - 1 : token.range.upperBound
            if start < end { hidden.append(start..<end) }
        }
        var result = ""
        var offset = 0
        var next = 0
        for character in self {
            let range = offset..<(offset + character.utf8.count)
            offset = range.upperBound
            while next < hidden.count, hidden[next].upperBound <= range.lowerBound { next += 1 }
            if next == hidden.count || !hidden[next].overlaps(range) {
                result.append(character)
            } else if character == "\n" || character == "\r\n" {
                // Only these end a line of a file.
                result.append("\n")
            } else {
                result.append("*")
            }
        }
        return result
    }

    /// The statement with its semicolon.
    package var terminated: String {
        let bytes = Array(utf8)
        // A view's text may end with a comment, which would swallow the semicolon.
        guard let last = Array<SQLToken>(SQLTokenizer(bytes)).last else { return self + ";" }
        switch (last.kind, bytes[last.range.lowerBound]) {
        case (.lineComment, _): return self + "\n;"
        case (.unterminated, UInt8(ascii: "/")): return self + " */;"
        default: return self + ";"
        }
    }

    /// The statements of a script for SQLite's shell, so that it reads the same ones.
    ///
    /// For the shell, a statement also ends with a line `go` or `/`, and with a semicolon at the end of
    /// a line among the arguments of a virtual table. What follows may be one of its commands, which
    /// write files and run programs. A statement with such a line gets one line. The shell knows no
    /// parameters such as `$a(')`, and would read all that follows otherwise: such a statement becomes
    /// a comment, as does one that begins like a command or has no end.
    /// <https://www.sqlite.org/cli.html#rules_for_dot_commands_sql_and_more>
    package var forShell: String {
        let bytes = Array(utf8)
        var script: [UInt8] = []
        var end = 0
        for range in SQLStatementBoundary.statements(in: bytes) {
            script += bytes[end..<range.lowerBound]
            script += bytes.forShell(range)
            end = range.upperBound
        }
        return String(decoding: script + bytes[end...], as: UTF8.self)
    }
}

extension [String] {
    /// A script of the statements, each with an empty line after it but the last.
    package var script: String {
        map { $0.terminated.forShell + "\n" }.joined(separator: "\n")
    }
}

extension [UInt8] {
    fileprivate func forShell(_ statement: Range<Int>) -> [UInt8] {
        let tokens = Array<SQLToken>(SQLTokenizer(self, in: statement))
        let isCommand = [UInt8(ascii: "."), UInt8(ascii: "#")].contains(self[statement.lowerBound])
        guard !isCommand, !tokens.contains(where: isUnknownToShell), isComplete(tokens) else {
            let lines = self[statement].split(separator: UInt8(ascii: "\n"))
            return Array("-- SQLite's shell can't read this statement:".utf8)
                + lines.flatMap { "\n-- ".utf8 + $0 } + "\n".utf8
        }
        guard endsEarly(tokens) else { return Array(self[statement]) }
        return tokens.flatMap { token -> ArraySlice<UInt8> in
            switch token.kind {
            case .lineComment: []
            case .space: [UInt8(ascii: " ")]
            default: self[token.range]
            }
        }
    }

    private func isUnknownToShell(_ token: SQLToken) -> Bool {
        token.kind == .unterminated
            || token.kind == .word && self[token.range].contains(UInt8(ascii: "("))
    }

    /// Whether the shell waits for nothing more than a semicolon: a trigger has its END.
    private func isComplete(_ tokens: [SQLToken]) -> Bool {
        var boundary = SQLStatementBoundary()
        for token in tokens { boundary.take(token.kind, word: word(token)) }
        if !boundary.isComplete { boundary.take(.semicolon, word: nil) }
        return boundary.isComplete
    }

    /// Whether the shell takes a part of a statement for its end.
    private func endsEarly(_ tokens: [SQLToken]) -> Bool {
        var depth = 0
        // Whether only space stands before, in this line; and `go` or a slash after it.
        var (isAtStart, isTerminator) = (true, false)
        for token in tokens {
            let text = self[token.range]
            switch token.kind {
            case .space where text.contains(UInt8(ascii: "\n")):
                if isTerminator { return true }
                isAtStart = true
            case .space, .lineComment, .blockComment:
                continue
            default:
                switch text.first {
                case UInt8(ascii: "("): depth += 1
                case UInt8(ascii: ")"): depth -= 1
                case UInt8(ascii: ";") where depth > 0: return true
                default: break
                }
                let isWord =
                    text.elementsEqual("/".utf8)
                    || text.map { $0 | 0x20 } == Array<UInt8>("go".utf8)
                isTerminator = isAtStart && isWord
                isAtStart = false
            }
        }
        return isTerminator
    }
}
