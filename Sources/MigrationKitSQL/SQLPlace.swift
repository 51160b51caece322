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

extension SQLPlace {
    /// The same without the line's text.
    var source: SourcePlace { SourcePlace(file: file, line: line, column: column) }
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
