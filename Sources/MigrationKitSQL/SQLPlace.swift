import MigrationKit
import MigrationKitCommon

/// A place in the text of a file.
public struct SQLPlace: Equatable, Sendable {
    /// The path of the file in the migrations folder.
    public let file: String

    /// The line, from 1.
    public let line: Int

    /// The column in characters as an editor counts them, from 1.
    public let column: Int

    /// The line's text, cut before anything that may be a key, and with stars for what it has in
    /// single quotes.
    public let text: String

    init(file: String, line: Int, column: Int, text: String) {
        // Cut first: if a string of the line before ends here, the quotes pair up wrongly, and the
        // stars could hide the word PRAGMA instead of its key.
        self.init(
            file: file,
            line: line,
            column: column,
            maskedText: Self.withoutSecrets(text).withoutStrings()
        )
    }

    /// - Parameter maskedText: The line's text, already without strings. Only a whole file shows
    ///   which of its lines begin within a string.
    init(file: String, line: Int, column: Int, maskedText: String) {
        self.file = file
        self.line = line
        self.column = column
        text = Self.withoutSecrets(maskedText)
    }

    /// The line with a caret under the place.
    public var excerpt: String {
        Excerpt(of: text, line: line, column: column).text
    }

    /// Anything after PRAGMA or ATTACH may be a key.
    private static func withoutSecrets(_ text: String) -> String {
        let statement = /\b(pragma|attach)\b[^'"`=(\[]*/.ignoresCase()
        guard let match = text.firstMatch(of: statement), match.range.upperBound < text.endIndex
        else { return text }
        return text[..<match.range.upperBound].trimmingSuffix(while: \.isWhitespace) + " …"
    }
}

extension SQLPlace: CustomStringConvertible {
    /// For example `0003_tags.sql:12:5`.
    public var description: String { "\(file):\(line):\(column)" }
}

extension Substring {
    fileprivate func trimmingSuffix(while condition: (Character) -> Bool) -> String {
        String(prefix(upTo: lastIndex { !condition($0) }.map(index(after:)) ?? startIndex))
    }
}

// MARK: - Strings

extension String {
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
}

// MARK: - Excerpt

/// The part of a line that fits a terminal, around a column, with a caret under it.
struct Excerpt {
    let text: String

    /// - Parameters:
    ///   - text: The line.
    ///   - line: Its number, from 1.
    ///   - column: The column in characters, from 1, if it is known.
    init(of text: String, line: Int, column: Int?) {
        let width = 68
        let gutter = "\(line) | "
        let index = (column ?? 1) - 1
        let dropped = index < width ? 0 : index - width / 2
        // A tab would move the caret differently on every terminal. Other control characters are
        // worse.
        let shown = String(text.dropFirst(dropped).prefix(width)).withoutControlCharacters
        guard column != nil else {
            self.text = gutter + shown
            return
        }
        let margin = String(repeating: " ", count: gutter.count - 2) + "| "
        self.text =
            gutter + shown + "\n" + margin + String(repeating: " ", count: index - dropped) + "^"
    }
}

extension String {
    /// The text with a space for each character that controls a terminal.
    var withoutControlCharacters: String {
        String(
            map {
                $0.unicodeScalars.contains(where: \.isControl) ? " " : $0
            }
        )
    }
}
