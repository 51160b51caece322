import MigrationKit

/// The positions of a file's statements and markers, found without running anything.
struct SQLOutline {
    struct Statement: Equatable {
        /// From the statement's first token to the end of its semicolon.
        let range: Range<Int>
        /// The first tokens, enough to classify it; see ``RefusedStatement``.
        let words: [String]
    }

    struct Marker: Equatable {
        let marker: MigrationMarker
        /// The marker's line, without the line end.
        let range: Range<Int>
    }

    let file: SQLFile
    private(set) var statements: [Statement] = []
    private(set) var markers: [Marker] = []
    /// The parts with checks. Their statements are no others.
    private(set) var checkParts: [CheckPart] = []
    /// The first marker that ends a part with checks where there is none.
    private(set) var strayEnd: Range<Int>?
    /// The line comments outside trigger bodies, including markers.
    private(set) var lineComments: [Range<Int>] = []

    /// Reads a file from its first byte to its last.
    ///
    /// - Parameters:
    ///   - file: The file.
    ///   - readMarker: Reads a line comment, given whether it is at the beginning of its line.
    /// - Throws: ``MigrationFolderError/unterminatedStatement(missing:at:)`` or
    ///   ``MigrationFolderError/misspeltMarker(_:at:)``.
    init(of file: SQLFile, readMarker: (String, Bool) -> MigrationMarker.Reading) throws {
        self.file = file
        var boundary = SQLStatementBoundary()
        /// The starts of the open parentheses.
        var parentheses: [Int] = []
        var start: Int?
        var end = 0
        var words: [String] = []
        var isInCheckPart = false

        func checkParentheses() throws {
            guard let open = parentheses.last else { return }
            throw MigrationFolderError.unterminatedStatement(
                missing: ")",
                at: file.place(at: open)
            )
        }

        func endStatement() throws {
            guard let first = start else { return }
            try checkParentheses()
            if boundary.isInTriggerBody {
                throw MigrationFolderError.unterminatedStatement(
                    missing: "END;",
                    at: file.place(at: first)
                )
            }
            let statement = Statement(range: first..<end, words: words)
            if isInCheckPart {
                checkParts[checkParts.count - 1].add(statement)
            } else {
                statements.append(statement)
            }
            start = nil
            words = []
            boundary = SQLStatementBoundary()
        }

        /// Between two statements, what may be meant as a marker. Without a statement after it, it is a comment.
        var likeMarker: SQLToken?
        func noteLikeMarker(_ token: SQLToken) {
            guard start == nil, MigrationMarker.isLikeOne(file.text(in: token.range)) else {
                return
            }
            likeMarker = likeMarker ?? token
        }

        func endCheckPart(at place: Int) {
            if isInCheckPart { checkParts[checkParts.count - 1].end(at: place) }
            isInCheckPart = false
        }

        for token in SQLTokenizer(file.bytes) {
            switch token.kind {
            case .space:
                continue
            case .blockComment:
                noteLikeMarker(token)
            case .lineComment:
                guard !boundary.isInTriggerBody else { continue }
                lineComments.append(token.range)
                switch try Self.marker(in: token, of: file, readMarker) {
                case .marker(let marker):
                    try endStatement()
                    likeMarker = nil
                    if marker.part != nil { endCheckPart(at: token.range.lowerBound) }
                    markers.append(Marker(marker: marker, range: token.range))
                case .check(.end):
                    try endStatement()
                    if !isInCheckPart { strayEnd = strayEnd ?? token.range }
                    endCheckPart(at: token.range.upperBound)
                case .check(let marker):
                    try endStatement()
                    endCheckPart(at: token.range.lowerBound)
                    checkParts.append(CheckPart(marker, at: token.range))
                    isInCheckPart = true
                case .comment, .slip:
                    noteLikeMarker(token)
                }
            case .unterminated:
                throw MigrationFolderError.unterminatedStatement(
                    missing: Self.closing(of: file.bytes[token.range.lowerBound]),
                    at: file.place(ofOpening: token.range.lowerBound)
                )
            case .semicolon where start == nil:
                continue
            case .word, .quoted, .semicolon, .symbol:
                switch file.bytes[token.range.lowerBound] {
                case UInt8(ascii: "("): parentheses.append(token.range.lowerBound)
                case UInt8(ascii: ")"): _ = parentheses.popLast()
                case UInt8(ascii: ";"): try checkParentheses()
                default: break
                }
                // After the beginning of a statement, words matter only in a trigger's body.
                let isJudged = words.count < RefusedStatement.length
                let word =
                    token.kind == .word && (isJudged || boundary.isInTriggerBody)
                    ? file.text(in: token.range).uppercased() : nil
                if start == nil, let likeMarker { throw Self.misspelt(likeMarker, in: file) }
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
        endCheckPart(at: file.bytes.count)
    }

    private static func marker(
        in token: SQLToken,
        of file: SQLFile,
        _ read: (String, Bool) -> MigrationMarker.Reading
    ) throws -> MigrationMarker.Reading {
        let start = token.range.lowerBound
        let isAtLineStart = start == 0 || file.bytes[start - 1] == UInt8(ascii: "\n")
        let comment = file.text(in: token.range)
        let reading = read(comment, isAtLineStart)
        guard reading != .slip else { throw misspelt(token, in: file) }
        return reading
    }

    private static func misspelt(_ token: SQLToken, in file: SQLFile) -> MigrationFolderError {
        .misspeltMarker(
            file.text(in: token.range).withoutControlCharacters,
            at: file.place(at: token.range.lowerBound)
        )
    }

    /// The markers that begin parts with checks, and the first one that ends none.
    var checkMarkers: [(text: String, place: Int)] {
        checkParts.map { ($0.marker.text, $0.range.lowerBound) }
            + (strayEnd.map { [(CheckPart.Marker.end.text, $0.lowerBound)] } ?? [])
    }

    /// The comments `-- migrate:NAME`, each with what follows the name.
    ///
    /// - Parameter marker: Such as `migrate:older`.
    func comments(_ marker: String) -> [(range: Range<Int>, rest: Substring)] {
        lineComments.compactMap { range in
            // Most comments need no further look.
            let text = file.text(in: range).dropFirst(2).drop(while: \.isWhitespace)
            guard text.hasPrefix(marker) else { return nil }
            let rest = text.dropFirst(marker.count)
            return rest.first?.isWhitespace ?? true ? (range, rest) : nil
        }
    }

    /// Checks that a file with markers begins with the marker of the up part.
    ///
    /// - Parameter upMarker: What an error calls the marker if there is none.
    func checkBeginning(with upMarker: String) throws {
        guard let up = markers.first(where: { $0.marker.part == .up }) else {
            throw MigrationFolderError.missingUpMarker(
                upMarker,
                at: file.place(at: markers.first?.range.lowerBound ?? 0)
            )
        }
        for marker in markers where marker.marker.format != up.marker.format {
            throw MigrationFolderError.otherMarker(
                marker.marker.text,
                at: file.place(at: marker.range.lowerBound)
            )
        }
        if let down = markers.first(where: { $0.marker.part == .down }),
            down.range.lowerBound < up.range.lowerBound
        {
            throw MigrationFolderError.downBeforeUp(at: file.place(at: down.range.lowerBound))
        }
        if let early = statements.first, early.range.lowerBound < up.range.lowerBound {
            throw MigrationFolderError.statementBeforeMarker(
                at: file.place(at: early.range.lowerBound)
            )
        }
    }

    /// The name in a quoted token: a pragma's name may be quoted.
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

// MARK: - Migration Marker

/// A line comment that determines the part to which the next statements belong.
struct MigrationMarker: Equatable {
    enum Part {
        case up, down
    }

    /// The tool whose marker it is.
    let format: MigrationFormat
    /// The part that begins with it; `nil` for a marker that begins none.
    let part: Part?
    /// The marker itself, such as `-- migrate:up`.
    let text: String
    /// The words behind it that the format reads.
    let options: [Substring]

    /// What may be meant as a marker, from its first letter on. With a space between the words, nothing
    /// else may be in the comment, which may be prose.
    nonisolated(unsafe) private static let likeMarker =
        /(migrat(e|es|ion|ions)|dbmate|goose|rambler)(\s?[:;._=\/>-]+(down|undo|rollback|revert|require|check|end|batch)\b.*|\s*[:;._=\/>-]*\s*(down|undo|rollback|revert|require|check)\W*)/
        .ignoresCase().dotMatchesNewlines()

    /// Whether a comment that is no marker may be meant as one: `--- migrate:down`, `-- == dbmate:down`,
    /// `/* migrate down */`. What comes after it would run at the end of the step.
    static func isLikeOne(_ comment: String) -> Bool {
        let text = comment.drop { !$0.isLetter }
        // Most comments need no further look.
        guard let first = text.utf8.first, "mMdDgGrR".utf8.contains(first) else { return false }
        let words = comment.dropFirst(2).drop(while: \.isWhitespace)
        // A part that is commented out as a whole is text.
        guard !comment.hasPrefix("/*") || words.first?.isLetter == true else { return false }
        let others = [OlderComment.marker, BatchComment.marker]
        if comment.hasPrefix("--"), others.contains(where: words.hasPrefix) { return false }
        return text.wholeMatch(of: likeMarker) != nil
    }

    /// Whether a comment is a marker, isn't one, or looks like a misspelled one.
    enum Reading: Equatable {
        case marker(MigrationMarker)
        case check(CheckPart.Marker)
        case slip
        case comment
    }
}

extension SQLFile {
    /// A statement without its semicolon.
    func sql(of statement: SQLOutline.Statement) -> String {
        let text = text(in: statement.range)
        return text.hasSuffix(";") ? String(text.dropLast()) : text
    }
}
