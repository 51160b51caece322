/// Where the statements and the markers of a file stand, found without running anything.
struct SQLOutline {
    struct Statement: Equatable {
        /// From the statement's first token to behind its semicolon.
        let range: Range<Int>
        /// What it takes to judge it, see ``RefusedStatement``.
        let words: [String]
    }

    struct Marker: Equatable {
        let marker: MigrationMarker
        /// The marker's line, without the line end.
        let range: Range<Int>
    }

    private(set) var statements: [Statement] = []
    private(set) var markers: [Marker] = []

    /// Reads a file from its first byte to its last.
    ///
    /// - Throws: ``MigrationFolderError/unterminatedStatement(file:line:missing:)`` or
    ///   ``MigrationFolderError/misspeltMarker(file:line:marker:)``.
    init(of file: SQLFile) throws {
        var boundary = SQLStatementBoundary()
        var start: Int?
        var end = 0
        var words: [String] = []

        func endStatement() throws {
            guard let first = start else { return }
            if boundary.isInTriggerBody {
                throw MigrationFolderError.unterminatedStatement(
                    file: file.name,
                    line: file.line(at: first),
                    missing: "END;"
                )
            }
            statements.append(Statement(range: first..<end, words: words))
            start = nil
            words = []
            boundary = SQLStatementBoundary()
        }

        for token in SQLTokenizer(file.bytes) {
            switch token.kind {
            case .space, .blockComment:
                continue
            case .lineComment:
                guard !boundary.isInTriggerBody else { continue }
                if let marker = try Self.marker(in: token, of: file) {
                    try endStatement()
                    markers.append(Marker(marker: marker, range: token.range))
                }
            case .unterminated:
                throw MigrationFolderError.unterminatedStatement(
                    file: file.name,
                    line: file.line(at: token.range.lowerBound),
                    missing: Self.closing(of: file.bytes[token.range.lowerBound])
                )
            case .semicolon where start == nil:
                continue
            case .word, .quoted, .semicolon, .symbol:
                // Past the beginning of a statement, words matter in a trigger's body alone.
                let isJudged = words.count < RefusedStatement.length
                let word =
                    token.kind == .word && (isJudged || boundary.isInTriggerBody)
                    ? file.text(in: token.range).uppercased() : nil
                start = start ?? token.range.lowerBound
                end = token.range.upperBound
                if isJudged {
                    words.append(word ?? Self.unquoted(token, of: file))
                }
                boundary.take(token.kind, word: word)
                if boundary.isComplete {
                    try endStatement()
                }
            }
        }
        try endStatement()
    }

    private static func marker(in token: SQLToken, of file: SQLFile) throws -> MigrationMarker? {
        let start = token.range.lowerBound
        let isAtLineStart = start == 0 || file.bytes[start - 1] == UInt8(ascii: "\n")
        let comment = file.text(in: token.range)
        switch MigrationMarker.read(comment, isAtLineStart: isAtLineStart) {
        case .marker(let marker):
            return marker
        case .comment:
            return nil
        case .slip:
            throw MigrationFolderError.misspeltMarker(
                file: file.name,
                line: file.line(at: start),
                marker: comment
            )
        }
    }

    /// The name in a quoted token, since a pragma's name may be quoted.
    private static func unquoted(_ token: SQLToken, of file: SQLFile) -> String {
        let text = file.text(in: token.range).uppercased()
        return token.kind == .quoted ? String(text.dropFirst().dropLast()) : text
    }

    private static func closing(of opening: UInt8) -> String {
        switch opening {
        case UInt8(ascii: "/"): "*/"
        case UInt8(ascii: "["): "]"
        default: String(UnicodeScalar(opening))
        }
    }
}
