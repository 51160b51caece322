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
                $0.unicodeScalars.contains { $0.properties.generalCategory == .control } ? " " : $0
            }
        )
    }
}
