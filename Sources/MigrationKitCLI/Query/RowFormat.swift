import ArgumentParser
import Foundation
import MigrationKitSQLCipher

/// How `query` prints rows.
enum QueryFormat: String, CaseIterable, ExpressibleByArgument {
    case table, json, jsonl, csv, markdown, list

    /// Whether it is for programs, so that nothing but rows may be on standard output.
    var isForPrograms: Bool { [.json, .jsonl, .csv].contains(self) }

    func rows(in context: CommandContext, extra: @escaping () -> [(String, String)])
        -> any RowFormat
    {
        switch self {
        case .table: TableRows(width: context.outputIsTerminal ? context.columns : nil)
        case .json: JSONRows(isDocument: true, extra: extra)
        case .jsonl: JSONRows(isDocument: false, extra: extra)
        case .csv: CSVRows(isForTerminal: context.outputIsTerminal)
        case .markdown: MarkdownRows()
        case .list: ListRows()
        }
    }
}

/// Prints the rows of one statement, one after the other.
protocol RowFormat {
    /// Prints what comes before the rows.
    mutating func begin(_ columns: [String], to output: QueryOutput)

    /// Prints the statement's current row.
    mutating func add(_ row: QueryStatement, to output: QueryOutput) throws

    /// Prints what comes after the rows.
    mutating func end(to output: QueryOutput)
}

// MARK: - Values as Text

extension QueryStatement {
    /// Prints a value: NULL, a number, a blob as SQL writes it (X'…'), or a text in pieces.
    ///
    /// - Parameter text: Prints a piece of a text.
    func print(
        _ column: Int,
        to output: QueryOutput,
        text: (UnsafeBufferPointer<UInt8>) -> Void
    ) throws {
        switch kind(column) {
        case .null: output.append("NULL")
        case .integer: output.append(integer(column))
        case .real: output.append(real(column).description.utf8)
        case .text: try withBytes(column, text)
        case .blob:
            output.append("X'")
            try withBytes(column) { printDigits(of: $0, to: output) }
            output.append(UInt8(ascii: "'"))
        }
    }

    /// Prints bytes as hexadecimal digits.
    func printDigits(of bytes: UnsafeBufferPointer<UInt8>, to output: QueryOutput) {
        for start in stride(from: 0, to: bytes.count, by: 1 << 14) {
            for byte in bytes[start..<min(bytes.count, start + (1 << 14))] {
                output.append(Self.digit(byte >> 4))
                output.append(Self.digit(byte & 15))
            }
            output.makeRoom()
        }
    }

    static func digit(_ value: UInt8) -> UInt8 {
        value < 10 ? UInt8(ascii: "0") + value : UInt8(ascii: "A") + value - 10
    }
}

// MARK: - List

/// A line for each row, with a bar between values, as in SQLite's shell.
struct ListRows: RowFormat {
    func begin(_ columns: [String], to output: QueryOutput) {}

    func add(_ row: QueryStatement, to output: QueryOutput) throws {
        for column in row.columns.indices {
            if column > 0 { output.append(UInt8(ascii: "|")) }
            try row.print(column, to: output) { bytes in
                ShownText.forEachPiece(of: bytes) {
                    output.append($0)
                    output.makeRoom()
                }
            }
        }
        output.endLine()
    }

    func end(to output: QueryOutput) {}
}

// MARK: - Markdown

/// A table of GitHub's Markdown. <https://github.github.com/gfm/#tables-extension->
struct MarkdownRows: RowFormat {
    func begin(_ columns: [String], to output: QueryOutput) {
        for name in columns {
            output.append("| ")
            var name = name
            name.withUTF8 { escape($0, to: output) }
            output.append(UInt8(ascii: " "))
        }
        output.append("|")
        output.endLine()
        for _ in columns { output.append("| --- ") }
        output.append("|")
        output.endLine()
    }

    func add(_ row: QueryStatement, to output: QueryOutput) throws {
        for column in row.columns.indices {
            output.append("| ")
            try row.print(column, to: output) { escape($0, to: output) }
            output.append(UInt8(ascii: " "))
        }
        output.append("|")
        output.endLine()
    }

    func end(to output: QueryOutput) {}

    private func escape(_ bytes: UnsafeBufferPointer<UInt8>, to output: QueryOutput) {
        ShownText.forEachPiece(of: bytes) { piece in
            output.append(piece) { byte in
                switch byte {
                // What would end the cell, or begin markup.
                case 0x26, 0x2A, 0x3C, 0x3E, 0x5B...0x5D, 0x5F, 0x60, 0x7C, 0x7E: 0x5C
                default: nil
                }
            }
            output.makeRoom()
        }
    }
}

// MARK: - CSV

/// Comma-separated values of RFC 4180, with a line of names, and line feeds alone. NULL is an empty
/// value, and an empty text is in quotes.
struct CSVRows: RowFormat {
    /// Whether controls are replaced, since a terminal would obey them.
    let isForTerminal: Bool

    func begin(_ columns: [String], to output: QueryOutput) {
        for (index, name) in columns.enumerated() {
            if index > 0 { output.append(UInt8(ascii: ",")) }
            var name = name
            name.withUTF8 { quote($0, to: output) }
        }
        output.endLine()
    }

    func add(_ row: QueryStatement, to output: QueryOutput) throws {
        for column in row.columns.indices {
            if column > 0 { output.append(UInt8(ascii: ",")) }
            guard row.kind(column) != .null else { continue }
            try row.print(column, to: output) { quote($0, to: output) }
        }
        output.endLine()
    }

    func end(to output: QueryOutput) {}

    private func quote(_ bytes: UnsafeBufferPointer<UInt8>, to output: QueryOutput) {
        // Some readers drop spaces at the ends.
        let isPlain =
            bytes.first.map { $0 != 0x20 } ?? false && bytes.last != 0x20
            && bytes.allSatisfy { $0 &- 0x20 < 0x5F && $0 != 0x22 && $0 != 0x2C }
        if isPlain { return output.append(bytes) }
        output.append(UInt8(ascii: "\""))
        if isForTerminal {
            ShownText.forEachPiece(of: bytes) { double($0, to: output) }
        } else {
            for start in stride(from: 0, to: bytes.count, by: 1 << 14) {
                let piece = bytes[start..<min(bytes.count, start + (1 << 14))]
                double(UnsafeBufferPointer(rebasing: piece), to: output)
            }
        }
        output.append(UInt8(ascii: "\""))
    }

    private func double(_ bytes: UnsafeBufferPointer<UInt8>, to output: QueryOutput) {
        output.append(bytes) { $0 == 0x22 ? 0x22 : nil }
        output.makeRoom()
    }
}
