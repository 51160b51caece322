import MigrationKit
import MigrationKitSQL

/// The comments `-- migrationkit:allow RULE reason` of a migration's files.
///
/// A comment counts for the statement in whose lines it stands, otherwise for the next one. Before
/// the first statement of a file, it counts for the whole file if an empty line follows it or the
/// comments directly below it.
struct AllowComments {
    private struct Comment {
        let file: String
        let line: Int
        let column: Int
        let name: String
        let hasReason: Bool
        /// The lines of the statement that it counts for; `nil` for all of the file.
        let lines: ClosedRange<Int>?

        var rule: LintRule? { LintRule(rawValue: name) }

        func silences(_ finding: LintFinding) -> Bool {
            guard hasReason, finding.rule == rule, finding.file == file else { return false }
            guard let lines else { return true }
            return finding.line.map(lines.contains) ?? false
        }
    }

    private static let marker = "migrationkit:allow"
    private var comments: [Comment] = []

    /// - Parameter sql: The migration's SQL; `nil` for a step in Swift, which has no comments.
    init(in sql: MigrationSQL?) {
        guard let sql else { return }
        for file in sql.files {
            // Looking for the marker is much faster than splitting the text.
            guard String(decoding: file.bytes, as: UTF8.self).contains(Self.marker) else {
                continue
            }
            let statements = (sql.upStatements + sql.downStatements).filter { $0.file == file.name }
                .sorted { $0.range.lowerBound < $1.range.lowerBound }
            read(file.bytes, of: file.name, statements)
        }
    }

    private mutating func read(
        _ bytes: [UInt8],
        of file: String,
        _ statements: [ScriptStatement]
    ) {
        let first = statements.first?.range.lowerBound ?? bytes.count
        var position = TextPosition(in: bytes)
        var found: [(token: SQLToken, words: [Substring])] = []
        /// How many of those found are followed by an empty line.
        var aboveEmptyLine = 0
        for token in SQLTokenizer(bytes) {
            switch token.kind {
            case .lineComment:
                let text = String(decoding: bytes[token.range].dropFirst(2), as: UTF8.self)
                let words = text.split(maxSplits: 2, whereSeparator: \.isWhitespace)
                if words.first == Self.marker[...] {
                    found.append((token, Array(words.dropFirst())))
                }
            case .space where bytes[token.range].count(where: { $0 == UInt8(ascii: "\n") }) > 1:
                aboveEmptyLine = token.range.upperBound <= first ? found.count : aboveEmptyLine
            default:
                continue
            }
        }
        for (number, comment) in found.enumerated() {
            let (line, column) = position.lineAndColumn(at: comment.token.range.lowerBound)
            let isForFile = number < aboveEmptyLine
            let statement =
                statements.first { $0.line <= line && line <= $0.lastLine }
                ?? statements.first { $0.line > line }
            comments.append(
                Comment(
                    file: file,
                    line: line,
                    column: column,
                    name: comment.words.first.map(String.init) ?? "",
                    hasReason: comment.words.count > 1,
                    lines: isForFile ? nil : statement.map { $0.line...$0.lastLine } ?? line...line
                )
            )
        }
    }

    /// Removes the findings that a comment silences, and adds those about the comments.
    ///
    /// - Parameters:
    ///   - findings: The findings of the migration.
    ///   - migration: Its identifier.
    ///   - isDecided: Whether a rule has found all that it ever finds: not if it is off, or if it
    ///     depends on data or on other versions.
    func apply(
        to findings: [LintFinding],
        of migration: String,
        isDecided: (LintRule) -> Bool
    ) -> [LintFinding] {
        guard !comments.isEmpty else { return findings }
        let kept = findings.filter { finding in !comments.contains { $0.silences(finding) } }
        return kept
            + comments.compactMap { comment in
                guard let (message, fix) = complaint(about: comment, findings, isDecided) else {
                    return nil
                }
                return LintFinding(
                    rule: .unusedAllow,
                    migration: migration,
                    file: comment.file,
                    line: comment.line,
                    column: comment.column,
                    message: message,
                    fix: fix
                )
            }
    }

    /// Whether a rule of these is allowed, for any statement.
    func allow(_ rules: Set<LintRule>) -> Bool {
        comments.contains { comment in
            comment.hasReason && comment.rule.map(rules.contains) ?? false
        }
    }

    private func complaint(
        about comment: Comment,
        _ findings: [LintFinding],
        _ isDecided: (LintRule) -> Bool
    ) -> (String, String)? {
        guard let rule = comment.rule else {
            return (
                comment.name.isEmpty
                    ? "the comment names no rule"
                    : "the comment allows '\(comment.name)', which isn't a rule",
                "Write `-- \(Self.marker) RULE reason` with the rule's name from the finding."
            )
        }
        guard comment.hasReason else {
            return (
                "the comment gives no reason for allowing '\(rule.rawValue)', and so it allows nothing",
                "Write the reason after the rule's name."
            )
        }
        guard isDecided(rule), !findings.contains(where: comment.silences) else { return nil }
        return (
            "the comment allows '\(rule.rawValue)', but that rule finds nothing "
                + (comment.lines == nil ? "in this file" : "in this statement"),
            "Remove the comment, or put it directly above the statement."
        )
    }
}
