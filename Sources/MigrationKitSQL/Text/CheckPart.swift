import MigrationKit
import MigrationKitCommon

/// A part of a file whose statements are checks, the same in every format:
///
/// ```sql
/// -- migrate:require
/// -- no order without a customer
/// SELECT rowid FROM orders WHERE customer IS NULL;
/// -- migrate:end
/// ```
///
/// It belongs to the part of the file that applies the step, and ends with its own marker
/// `-- migrate:end`, with the next part, or with the file.
struct CheckPart {
    enum Marker: String {
        /// What must hold before the step.
        case require = "migrate:require"
        /// What must hold after the step.
        case check = "migrate:check"
        /// Ends the part.
        case end = "migrate:end"

        /// - Returns: `nil` for every other comment.
        init?(_ comment: String) {
            // Most comments need no further look.
            let text = comment.dropFirst(2).drop(while: \.isWhitespace)
            guard text.hasPrefix("migrate:") else { return nil }
            self.init(rawValue: String(text.prefix { !$0.isWhitespace }))
        }

        static let allTexts = [require, check, end].map(\.text).joined(separator: ", ")

        /// As it is written.
        var text: String { "-- \(rawValue)" }
    }

    let marker: Marker

    /// From its marker to what ends it.
    fileprivate(set) var range: Range<Int>

    /// The end of the marker's line.
    fileprivate let start: Int

    fileprivate(set) var statements: [SQLOutline.Statement] = []

    init(_ marker: Marker, at line: Range<Int>) {
        self.marker = marker
        range = line
        start = line.upperBound
    }

    mutating func add(_ statement: SQLOutline.Statement) { statements.append(statement) }

    mutating func end(at place: Int) { range = range.lowerBound..<place }

    /// The checks in it.
    ///
    /// - Throws: ``MigrationFolderError/emptyCheck(at:)`` or ``MigrationFolderError/noQuery(at:)``.
    func checks(in file: SQLFile) throws -> [CheckQuery] {
        let words = file.text(in: range.lowerBound..<start).dropFirst(2)
            .split(maxSplits: 1, whereSeparator: \.isWhitespace)
        return try file.checks(
            statements,
            from: start,
            first: words.count > 1 ? String(words[1]) : nil,
            orEmptyAt: range.lowerBound
        )
    }
}

extension SQLFile {
    /// Statements as checks. Each is named by the comment that stands directly above it.
    ///
    /// - Parameters:
    ///   - start: Where the text begins that belongs to them.
    ///   - name: The first one's name, if it has no comment.
    ///   - place: The place of an error if there is none.
    /// - Throws: ``MigrationFolderError/emptyCheck(at:)`` or ``MigrationFolderError/noQuery(at:)``.
    func checks(
        _ statements: [SQLOutline.Statement],
        from start: Int = 0,
        first name: String? = nil,
        orEmptyAt place: Int = 0
    ) throws -> [CheckQuery] {
        guard !statements.isEmpty else {
            throw MigrationFolderError.emptyCheck(at: self.place(at: place))
        }
        var (end, name) = (start, name)
        return try statements.map { statement in
            defer { (end, name) = (statement.range.upperBound, nil) }
            let first = statement.range.lowerBound
            let sql = sql(of: statement)
            let place = self.place(at: first)
            guard CheckQuery.isQuery(sql) else {
                throw MigrationFolderError.noQuery(at: place)
            }
            return CheckQuery(
                comment(in: end..<first) ?? name,
                sql: sql,
                at: place.source
            )
        }
    }

    /// The comment directly above a statement, on one line.
    ///
    /// - Parameter gap: From the end of what comes before the statement to its first token.
    private func comment(in gap: Range<Int>) -> String? {
        var lines: [Substring] = []
        /// Whether the line of the statement before has ended. A comment in it is that one's.
        var isBelow = gap.lowerBound == 0
        for token in SQLTokenizer(bytes, in: gap) {
            let text = text(in: token.range)
            switch token.kind {
            case .space:
                let ends = text.count { $0 == "\n" }
                if ends > 0 { isBelow = true }
                if ends > 1 { lines = [] }
            case .lineComment where isBelow: lines.append(text.dropFirst(2))
            case .blockComment where isBelow: lines.append(text.dropFirst(2).dropLast(2))
            default: continue
            }
        }
        let words = lines.filter { !$0.isMarker }.joined(separator: " ").withoutControlCharacters
            .split(whereSeparator: \.isWhitespace).joined(separator: " ")
        return words.isEmpty ? nil : String(words.prefix(200))
    }
}

extension Substring {
    /// Whether a comment is for a program.
    fileprivate var isMarker: Bool {
        let text = trimmingPrefix(while: \.isWhitespace)
        return ["migrate:", "migrationkit:", "+goose"].contains(where: text.hasPrefix)
    }
}

extension [Range<Int>] {
    /// The ranges without others, which don't overlap.
    func without(_ others: [Range<Int>]) -> [Range<Int>] {
        others.reduce(self) { ranges, other in
            ranges.flatMap { range in
                guard range.overlaps(other) else { return [range] }
                return [
                    range.lowerBound..<Swift.max(range.lowerBound, other.lowerBound),
                    Swift.min(range.upperBound, other.upperBound)..<range.upperBound,
                ].filter { !$0.isEmpty }
            }
        }
    }
}
