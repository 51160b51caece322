import MigrationKit

/// What a statement does to which table, without anything else of its text: the rest may have values
/// that nobody should see.
package struct SQLSubject: CustomStringConvertible {
    /// For example `CREATE INDEX notes_title ON notes`.
    package let description: String

    /// Reads the beginning of a statement.
    ///
    /// - Parameter sql: The statement's text.
    /// - Returns: `nil` if it doesn't begin with the name of a table or the like.
    package init?(sql: String) {
        let bytes = Array(sql.utf8)
        self.init(bytes, in: 0..<bytes.count)
    }

    init?(_ bytes: [UInt8], in range: Range<Int>) {
        var words = Words(SQLTokenizer(bytes, in: range), of: bytes)
        var verb: [String] = []
        switch words.nextWord() {
        case "ALTER": verb = ["ALTER", "TABLE"]
        case "CREATE":
            verb = ["CREATE"]
            while let word = words.next, ["TEMP", "TEMPORARY", "UNIQUE", "VIRTUAL"].contains(word) {
                words.skip()
            }
            verb.append(words.next ?? "")
        case "DROP": verb = ["DROP", words.next ?? ""]
        case "INSERT": verb = ["INSERT", "INTO"]
        case "REPLACE": verb = ["REPLACE", "INTO"]
        case "UPDATE": verb = ["UPDATE"]
        case "DELETE": verb = ["DELETE", "FROM"]
        default: return nil
        }
        if words.next == "OR" { words.skip(2) }
        if verb.count == 2 {
            guard words.nextWord() == verb[1] else { return nil }
        }
        if words.next == "IF" { words.skip(verb[0] == "CREATE" ? 3 : 2) }
        guard let name = words.nextName() else { return nil }
        var text = (verb + [name]).joined(separator: " ")
        if ["INDEX", "TRIGGER"].contains(verb.last), verb[0] == "CREATE" {
            while !words.isAtEnd, !["ON", "BEGIN"].contains(words.next) { words.skip() }
            if words.nextWord() == "ON", let table = words.nextName() { text += " ON \(table)" }
        }
        description = text
    }

    /// The tokens of a statement without spaces and comments.
    private struct Words {
        private var texts: [(text: String, kind: SQLToken.Kind)] = []
        private var position = 0

        /// A statement's beginning is all that counts. A trigger's table may come after its columns.
        init(_ tokens: SQLTokenizer, of bytes: [UInt8]) {
            for token in tokens {
                if [.space, .lineComment, .blockComment].contains(token.kind) { continue }
                if token.kind == .semicolon && !texts.isEmpty || texts.count == 64 { break }
                texts.append((String(decoding: bytes[token.range], as: UTF8.self), token.kind))
            }
        }

        /// The next token in upper case, if it is a word.
        var next: String? {
            guard position < texts.count, texts[position].kind == .word else { return nil }
            return texts[position].text.uppercased()
        }

        var isAtEnd: Bool { position >= texts.count }

        mutating func skip(_ count: Int = 1) { position += count }

        mutating func nextWord() -> String? {
            defer { skip() }
            return next
        }

        /// A name, without its schema's and without quotes.
        mutating func nextName() -> String? {
            guard var name = readName() else { return nil }
            if position < texts.count, texts[position].text == "." {
                skip()
                name = readName() ?? name
            }
            return name
        }

        private mutating func readName() -> String? {
            guard position < texts.count else { return nil }
            let (text, kind) = texts[position]
            guard [.word, .quoted].contains(kind), !text.hasPrefix("'") else { return nil }
            skip()
            return kind == .word ? text : String(text.dropFirst().dropLast())
        }
    }
}
