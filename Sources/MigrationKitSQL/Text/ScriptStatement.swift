/// A statement of a migration, with its place in the file.
package struct ScriptStatement: Sendable {
    /// The file's name, without its folder.
    package let file: String

    /// The statement's text, from its first token to the end of its semicolon.
    package let text: String

    /// Where the text is in the file's bytes.
    package let range: Range<Int>

    /// The line in the file, from 1.
    package let line: Int

    /// The column in characters, from 1.
    package let column: Int

    /// The line in which the text ends.
    package let lastLine: Int
}

/// Counts lines, each only once for places in ascending order.
package struct TextPosition {
    private let bytes: [UInt8]
    private var offset = 0
    private var line = 1
    private var lineStart = 0

    package init(in bytes: [UInt8]) {
        self.bytes = bytes
    }

    /// The line and the column of a place in the text, both from 1, the column in characters.
    package mutating func lineAndColumn(at place: Int) -> (line: Int, column: Int) {
        if place < offset { (offset, line, lineStart) = (0, 1, 0) }
        for index in offset..<place where bytes[index] == UInt8(ascii: "\n") {
            line += 1
            lineStart = index + 1
        }
        offset = place
        return (line, String(decoding: bytes[lineStart..<place], as: UTF8.self).count + 1)
    }
}
