import Foundation
import MigrationKit

/// The tokens of a schema object's SQL. They include what SQLite reports nowhere else: CHECK
/// constraints, and the module of a virtual table.
package struct SchemaText {
    private let bytes: [UInt8]

    /// The range of each token, without white space and comments.
    private let tokens: [Range<Int>]

    /// - Parameter sql: A statement that SQLite has accepted, such as `CREATE TABLE ...`.
    package init(_ sql: String) {
        let bytes = Array(sql.utf8)
        self.bytes = bytes
        tokens = SQLTokenizer(bytes).compactMap { token in
            switch token.kind {
            case .space, .lineComment, .blockComment: nil
            default: token.range
            }
        }
    }

    /// The expressions in parentheses after `CHECK`, in order.
    ///
    /// CHECK is a reserved word, so without quotes it has no other meaning.
    /// <https://www.sqlite.org/lang_keywords.html>
    package var checkConstraints: [String] {
        var expressions: [String] = []
        var depth = 0
        /// The start of the expression, and the depth around it.
        var open: (start: Int, depth: Int)?
        for (token, previous) in zip(tokens.dropFirst(), tokens) {
            switch text(token) {
            case "(":
                if open == nil, text(previous).lowercased() == "check" {
                    open = (token.upperBound, depth)
                }
                depth += 1
            case ")":
                depth -= 1
                guard let begun = open, begun.depth == depth else { continue }
                expressions.append(text(begun.start..<token.lowerBound))
                open = nil
            default:
                continue
            }
        }
        return expressions
    }

    /// The columns and expressions of an index, without ASC and DESC, and its condition:
    /// `CREATE INDEX name ON table (column, ...) WHERE condition`.
    var index: (columns: [String], condition: String?)? {
        guard let open = tokens.firstIndex(where: { text($0) == "(" }) else { return nil }
        var columns: [String] = []
        var column: [Range<Int>] = []
        var depth = 0
        for (place, token) in tokens.enumerated().dropFirst(open) {
            let text = text(token)
            if text == "(" { depth += 1 }
            if text == ")" { depth -= 1 }
            guard depth == 0 || depth == 1 && text == "," else {
                if place > open { column.append(token) }
                continue
            }
            if let last = column.last, ["asc", "desc"].contains(self.text(last).lowercased()) {
                column.removeLast()
            }
            guard let first = column.first, let last = column.last else { return nil }
            columns.append(self.text(first.lowerBound..<last.upperBound))
            column = []
            guard depth == 0 else { continue }
            let rest = tokens[(place + 1)...]
            guard let keyword = rest.first else { return (columns, nil) }
            guard self.text(keyword).lowercased() == "where", let start = rest.dropFirst().first,
                let end = rest.last
            else { return nil }
            return (columns, self.text(start.lowerBound..<end.upperBound))
        }
        return nil
    }

    /// The module of a virtual table, in lower case: the word after `USING`.
    package var module: String? {
        guard let using = tokens.firstIndex(where: { text($0).lowercased() == "using" }),
            using + 1 < tokens.count
        else { return nil }
        return text(tokens[using + 1]).trimmingCharacters(in: .init(charactersIn: "\"'`[]"))
            .lowercased()
    }

    private func text(_ range: Range<Int>) -> String {
        String(decoding: bytes[range], as: UTF8.self)
    }
}
