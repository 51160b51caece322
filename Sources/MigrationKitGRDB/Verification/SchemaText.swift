import Foundation

/// The text of a schema's object, in tokens. It holds what SQLite tells nowhere else: CHECK
/// constraints, and the module of a virtual table.
struct SchemaText {
    private let bytes: [UInt8]

    /// Where each token is; white space and comments are none.
    private let tokens: [Range<Int>]

    /// - Parameter sql: A statement that SQLite has accepted, such as `CREATE TABLE ...`.
    init(_ sql: String) {
        let bytes = Array(sql.utf8)
        var tokens: [Range<Int>] = []
        var index = 0
        while index < bytes.count {
            let (end, isToken) = Self.token(in: bytes, from: index)
            if isToken { tokens.append(index..<end) }
            index = end
        }
        self.bytes = bytes
        self.tokens = tokens
    }

    /// The expressions between the parentheses behind `CHECK`, in order.
    ///
    /// CHECK is a reserved word, so that without quotes it is nothing else.
    /// <https://www.sqlite.org/lang_keywords.html>
    var checkConstraints: [String] {
        var expressions: [String] = []
        var depth = 0
        /// Where the expression begins, and the depth around it.
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

    /// The module of a virtual table, in lower case: what follows the reserved word `USING`.
    var module: String? {
        guard let using = tokens.firstIndex(where: { text($0).lowercased() == "using" }),
            using + 1 < tokens.count
        else { return nil }
        return text(tokens[using + 1]).trimmingCharacters(in: .init(charactersIn: "\"'`[]"))
            .lowercased()
    }

    private func text(_ range: Range<Int>) -> String {
        String(decoding: bytes[range], as: UTF8.self)
    }

    /// Where what begins at `start` ends, and whether it means anything.
    private static func token(in bytes: [UInt8], from start: Int) -> (end: Int, isToken: Bool) {
        let next = start + 1 < bytes.count ? bytes[start + 1] : 0
        switch (bytes[start], next) {
        case (UInt8(ascii: "'"), _), (UInt8(ascii: "\""), _), (UInt8(ascii: "`"), _):
            // A quote in it is doubled, and so begins another one.
            return (end([bytes[start]], in: bytes, from: start + 1), true)
        case (UInt8(ascii: "["), _):
            return (end(Array("]".utf8), in: bytes, from: start + 1), true)
        case (UInt8(ascii: "-"), UInt8(ascii: "-")):
            return (end(Array("\n".utf8), in: bytes, from: start + 2), false)
        case (UInt8(ascii: "/"), UInt8(ascii: "*")):
            return (end(Array("*/".utf8), in: bytes, from: start + 2), false)
        case (let byte, _) where isPartOfWord(byte):
            return (bytes[start...].firstIndex { !isPartOfWord($0) } ?? bytes.count, true)
        case (let byte, _):
            return (start + 1, byte > UInt8(ascii: " "))
        }
    }

    private static func end(_ mark: [UInt8], in bytes: [UInt8], from start: Int) -> Int {
        bytes.dropFirst(start).firstRange(of: mark)?.upperBound ?? bytes.count
    }

    private static func isPartOfWord(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "_"), UInt8(ascii: "$"), 0x80...:
            true
        default:
            false
        }
    }
}
