import Foundation

/// The text of one SQL file, ready to be cut: valid UTF-8, without a byte order mark, with line
/// feeds for line ends.
struct SQLFile: Sendable {
    /// The file's name, without its folder. What errors call it.
    let name: String

    /// The text. Every line has the number that it has in the file.
    let bytes: [UInt8]

    /// Takes the bytes of a file.
    ///
    /// Windows line ends become line feeds, so that the schema in the database doesn't depend on
    /// how the file was checked out. Those inside literals are data and stay.
    ///
    /// - Throws: ``MigrationFolderError/notUTF8(file:line:)`` or
    ///   ``MigrationFolderError/nulCharacter(file:line:)``.
    init(name: String, contents: [UInt8]) throws {
        if let line = Self.lineOfFirstInvalidByte(in: contents) {
            throw MigrationFolderError.notUTF8(file: name, line: line)
        }
        // SQLite would take the text up to here for all of it, and skip the rest in silence.
        if let index = contents.firstIndex(of: 0) {
            throw MigrationFolderError.nulCharacter(
                file: name,
                line: Self.line(at: index, in: contents)
            )
        }
        let mark: [UInt8] = [0xEF, 0xBB, 0xBF]
        let text = contents.starts(with: mark) ? Array(contents.dropFirst(mark.count)) : contents
        self.name = name
        self.bytes = Self.withLineFeeds(text)
    }

    /// The line of a place in the text, from 1.
    func line(at offset: Int) -> Int {
        Self.line(at: offset, in: bytes)
    }

    /// The column of a place in the text, in characters as an editor counts them, from 1.
    func column(at offset: Int) -> Int {
        let lineStart = bytes[..<offset].lastIndex(of: UInt8(ascii: "\n")).map { $0 + 1 } ?? 0
        return text(in: lineStart..<offset).count + 1
    }

    /// The line of text that a place stands in.
    func sourceLine(at offset: Int) -> String {
        let newline = UInt8(ascii: "\n")
        let start = bytes[..<offset].lastIndex(of: newline).map { $0 + 1 } ?? 0
        let end = bytes[offset...].firstIndex(of: newline) ?? bytes.count
        return text(in: start..<end)
    }

    /// A part of the text.
    func text(in range: Range<Int>) -> String {
        String(decoding: bytes[range], as: UTF8.self)
    }

    private static func line(at offset: Int, in bytes: [UInt8]) -> Int {
        bytes[..<offset].count { $0 == UInt8(ascii: "\n") } + 1
    }

    private static func lineOfFirstInvalidByte(in bytes: [UInt8]) -> Int? {
        var parser = Unicode.UTF8.ForwardParser()
        var iterator = bytes.makeIterator()
        var line = 1
        while true {
            switch parser.parseScalar(from: &iterator) {
            case .valid(let scalar):
                if scalar.first == UInt8(ascii: "\n") { line += 1 }
            case .error:
                return line
            case .emptyInput:
                return nil
            }
        }
    }

    private static func withLineFeeds(_ bytes: [UInt8]) -> [UInt8] {
        guard bytes.contains(UInt8(ascii: "\r")) else { return bytes }
        var result: [UInt8] = []
        result.reserveCapacity(bytes.count)
        for token in SQLTokenizer(bytes) {
            switch token.kind {
            case .quoted, .unterminated:
                result += bytes[token.range]
            case .space, .lineComment, .blockComment, .word, .semicolon, .symbol:
                // A line comment stops before its line feed, with the return as its last byte.
                result += token.range.lazy
                    .filter { index in
                        bytes[index] != UInt8(ascii: "\r") || index + 1 == bytes.count
                            || bytes[index + 1] != UInt8(ascii: "\n")
                    }
                    .map { bytes[$0] }
            }
        }
        return result
    }
}
