import Foundation
import MigrationKitSQLCipher

/// A table with aligned columns. Their widths come from the first rows.
///
/// On a terminal it is never wider than that: the widest columns are cut until it fits. If there are
/// too many columns even so, each value has a line of its own.
struct TableRows: RowFormat {
    /// How many rows decide the widths.
    private static let sampleCount = 200
    /// The bytes of these rows at most.
    private static let sampleSize = 1 << 20
    private static let gap = 2
    /// The columns that a cut value needs: some letters and the ellipsis.
    private static let leastWidth = 5
    /// Off a terminal, nothing is cut; longer values stick out.
    private static let greatestWidth = 100

    typealias Cell = (bytes: [UInt8], width: Int)

    /// The terminal's width; `nil` if the output isn't a terminal.
    let width: Int?

    private var names: [Cell] = []
    private var sample: [[Cell]] = []
    private var size = 0
    private var widths: [Int]?
    private var isByValue = false
    private var count = 0

    init(width: Int?) {
        self.width = width.map { max(1, $0) }
    }

    /// How much of a value is kept before the widths are known.
    private var limit: Int { width ?? .max >> 8 }

    mutating func begin(_ columns: [String], to output: QueryOutput) {
        names = columns.map { name in
            var name = name
            return name.withUTF8 { ShownText.cell($0, limit: limit) }
        }
    }

    mutating func add(_ row: QueryStatement, to output: QueryOutput) throws {
        // A large value is never kept as a whole.
        if width == nil, widths == nil, row.hasValue(largerThan: Self.sampleSize / 16) {
            settle(output)
        }
        if let widths { return try print(row, widths, to: output) }
        let cells = try row.columns.indices.map { try cell(row, $0, limit: limit) }
        sample.append(cells)
        size += cells.reduce(0) { $0 + $1.bytes.count }
        if sample.count >= Self.sampleCount || size >= Self.sampleSize { settle(output) }
    }

    mutating func end(to output: QueryOutput) {
        if widths == nil { settle(output) }
    }

    // MARK: - Widths

    /// Decides the widths, and prints the rows until now.
    private mutating func settle(_ output: QueryOutput) {
        var widths = names.indices.map { column in
            sample.reduce(names[column].width) { max($0, $1[column].width) }
        }
        if let width {
            let room = width - Self.gap * (widths.count - 1)
            isByValue = widths.reduce(0, { $0 + min($1, Self.leastWidth) }) > room
            if !isByValue { Self.shrink(&widths, to: room) }
        } else {
            widths = widths.map { min($0, Self.greatestWidth) }
        }
        self.widths = widths
        if !isByValue, !names.isEmpty {
            line(names, widths, to: output)
            line(
                widths.map { (Array(repeating: UInt8(ascii: "-"), count: $0), $0) },
                widths,
                to: output
            )
        }
        for cells in sample { print(cells, widths, to: output) }
        sample = []
    }

    /// Makes the widest columns narrower until all fit, and none narrower than needed.
    private static func shrink(_ widths: inout [Int], to room: Int) {
        var (rest, cap) = (room, room)
        // From the narrowest one on, each column may take its part of what is left.
        for (index, width) in widths.sorted().enumerated() {
            cap = rest / (widths.count - index)
            if width > cap { break }
            rest -= width
            cap = .max
        }
        for index in widths.indices { widths[index] = min(widths[index], max(cap, 1)) }
    }

    // MARK: - Rows

    private mutating func print(
        _ row: QueryStatement,
        _ widths: [Int],
        to output: QueryOutput
    ) throws {
        guard width == nil else {
            let cells = try row.columns.indices.map {
                try cell(row, $0, limit: isByValue ? limit : widths[$0])
            }
            return print(cells, widths, to: output)
        }
        // Nothing is cut, so nothing has to be kept.
        for column in row.columns.indices {
            let width = try printWhole(row, column, to: output)
            guard column < row.columns.count - 1 else { break }
            output.append(UInt8(ascii: " "), times: widths[column] - width + Self.gap)
        }
        output.trimSpaces()
        output.endLine()
    }

    private mutating func print(_ cells: [Cell], _ widths: [Int], to output: QueryOutput) {
        guard isByValue, let width else { return line(cells, widths, to: output) }
        count += 1
        if count > 1 { output.endLine() }
        let label = min(names.map(\.width).max() ?? 0, max(1, width / 3))
        for (name, cell) in zip(names, cells) {
            let room = max(1, width - label - Self.gap)
            line([Self.cut(name, to: label), Self.cut(cell, to: room)], [label, room], to: output)
        }
    }

    private func line(_ cells: [Cell], _ widths: [Int], to output: QueryOutput) {
        for (index, cell) in cells.enumerated() {
            let own = width == nil ? cell : Self.cut(cell, to: widths[index])
            output.append(own.bytes)
            output.makeRoom()
            guard index < cells.count - 1 else { break }
            output.append(UInt8(ascii: " "), times: widths[index] - own.width + Self.gap)
        }
        output.trimSpaces()
        output.endLine()
    }

    private static func cut(_ cell: Cell, to width: Int) -> Cell {
        guard cell.width > width else { return cell }
        return cell.bytes.withUnsafeBufferPointer { ShownText.cell($0, limit: width) }
    }

    /// - Returns: The columns that it takes.
    private func printWhole(
        _ row: QueryStatement,
        _ column: Int,
        to output: QueryOutput
    ) throws -> Int {
        guard row.kind(column) == .text else {
            let before = output.count
            try row.print(column, to: output) { _ in }
            return output.count - before
        }
        var width = 0
        try row.print(column, to: output) { bytes in
            ShownText.forEachPiece(of: bytes) { piece in
                width +=
                    ShownText.isPlain(piece)
                    ? piece.count
                    : String(decoding: piece, as: UTF8.self).unicodeScalars
                        .reduce(0) { $0 + ShownText.width($1) }
                output.append(piece)
                output.makeRoom()
            }
        }
        return width
    }

    /// A value's text, cut to a number of columns.
    private func cell(_ row: QueryStatement, _ column: Int, limit: Int) throws -> Cell {
        func cell(_ text: String) -> Cell {
            guard text.utf8.count > limit else { return (Array(text.utf8), text.utf8.count) }
            return Self.cut((Array(text.utf8), text.utf8.count), to: limit)
        }
        switch row.kind(column) {
        case .null: return cell("NULL")
        case .integer: return cell(row.integer(column).description)
        case .real: return cell(row.real(column).description)
        case .text: return try row.withBytes(column) { ShownText.cell($0, limit: limit) }
        case .blob:
            return try row.withBytes(column) { bytes in
                let head = bytes.prefix(limit / 2 + 1)
                var text = Array("X'".utf8)
                for byte in head {
                    text.append(QueryStatement.digit(byte >> 4))
                    text.append(QueryStatement.digit(byte & 15))
                }
                text.append(UInt8(ascii: "'"))
                return Self.cut((text, text.count), to: limit)
            }
        }
    }
}
