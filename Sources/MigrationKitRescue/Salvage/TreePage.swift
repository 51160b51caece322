import MigrationKitPages

/// A page of a b-tree, decrypted. <https://www.sqlite.org/fileformat.html#b_tree_pages>
struct TreePage {
    struct Cell {
        /// On an inner page: the page whose keys come before the cell's.
        var child: Int?
        /// On a page of a table.
        var rowid: Int64?
        /// The size of the whole payload, in bytes; 0 on an inner page of a table.
        var payloadCount = 0
        /// The position of the payload, or its beginning, on the page.
        var local = 0..<0
        /// The first overflow page.
        var overflow: Int?
    }

    let bytes: [UInt8]
    let kind: TreeKind

    /// The cells with a valid position and beginning, in order.
    let cells: [Cell]

    /// The number of other cells.
    let badCellCount: Int

    /// On an inner page: the page whose keys come after those of all cells.
    let rightmost: Int?

    /// - Parameters:
    ///   - bytes: The whole page.
    ///   - number: Its number, from 1.
    ///   - usableSize: The size of a page without the reserved bytes at its end.
    /// - Returns: `nil` if it can't be a b-tree page.
    init?(_ bytes: [UInt8], number: Int, usableSize: Int) {
        let start = number == 1 ? DatabaseHeader.count : 0
        guard bytes.count >= usableSize, let kind = TreeKind(rawValue: bytes[start]) else {
            return nil
        }
        let count = bytes.half(start + 3)
        let pointers = start + kind.headerCount
        let end = pointers + 2 * count
        // 0 means 65536.
        let content = bytes.half(start + 5) == 0 ? 65536 : bytes.half(start + 5)
        guard end <= content, content <= usableSize, bytes[start + 7] <= 60 else { return nil }
        // An inner page without a cell has one child. This happens only briefly, to a root.
        guard kind.isLeaf || count > 0 || number == 1 else { return nil }

        var cells: [Cell] = []
        cells.reserveCapacity(count)
        for index in 0..<count {
            let offset = bytes.half(pointers + 2 * index)
            guard offset >= end,
                let cell = Self.cell(of: bytes, at: offset, kind, usableSize)
            else { continue }
            cells.append(cell)
        }
        guard count == 0 || !cells.isEmpty else { return nil }
        self.bytes = bytes
        self.kind = kind
        self.cells = cells
        badCellCount = count - cells.count
        rightmost = kind.isLeaf ? nil : Int(bytes.word(start + 8))
    }

    /// The most rows that a table's leaf may have: a cell takes at least four bytes, and two for
    /// its position.
    static func mostRows(usableSize: Int) -> Int { (usableSize - 8) / 6 }

    private static func cell(
        of bytes: [UInt8],
        at offset: Int,
        _ kind: TreeKind,
        _ usableSize: Int
    ) -> Cell? {
        var cell = Cell()
        var place = offset
        if !kind.isLeaf {
            guard place + 4 <= usableSize else { return nil }
            cell.child = Int(bytes.word(place))
            place += 4
        }
        if kind != .innerTable {
            guard let count = bytes.varint(&place, end: usableSize), count >= 0,
                count <= Int64(Int32.max)
            else { return nil }
            cell.payloadCount = Int(count)
        }
        if kind.isTable {
            guard let rowid = bytes.varint(&place, end: usableSize) else { return nil }
            cell.rowid = rowid
        }
        let local = kind.localCount(of: cell.payloadCount, usableSize: usableSize)
        guard place + local <= usableSize else { return nil }
        cell.local = place..<(place + local)
        if local < cell.payloadCount {
            guard place + local + 4 <= usableSize else { return nil }
            cell.overflow = Int(bytes.word(place + local))
        }
        return cell
    }
}

extension [UInt8] {
    /// A number of one to nine bytes. <https://www.sqlite.org/fileformat.html#varint>
    ///
    /// - Parameters:
    ///   - place: Its start; afterwards, its end.
    ///   - end: The end of the bytes that it may use.
    func varint(_ place: inout Int, end: Int) -> Int64? {
        var value: UInt64 = 0
        for index in 0..<9 {
            guard place < end else { return nil }
            let byte = self[place]
            place += 1
            if index == 8 { return Int64(bitPattern: value << 8 | UInt64(byte)) }
            value = value << 7 | UInt64(byte & 0x7f)
            if byte < 0x80 { return Int64(bitPattern: value) }
        }
        return nil
    }
}

/// Assembles payloads, which may continue on overflow pages.
/// <https://www.sqlite.org/fileformat.html#cell_payload_overflow_pages>
final class PayloadReader {
    enum Result {
        case whole([UInt8])
        /// The chain of overflow pages breaks at a page; `nil` if the chain makes no sense.
        case broken(at: Int?)
    }

    private let pages: SalvagePages
    /// The pages of payloads that were read. No page belongs to two.
    private var used: PageSet

    init(_ pages: SalvagePages) {
        self.pages = pages
        used = PageSet(pages.pageCount)
    }

    /// - Parameter claims: Whether the overflow pages are marked as used.
    func payload(of cell: TreePage.Cell, on page: TreePage, claims: Bool = true) -> Result {
        var payload = Array(page.bytes[cell.local])
        guard var next = cell.overflow else { return .whole(payload) }
        // A wrong count in a damaged cell must not allocate memory.
        let usable = pages.form.usableSize - 4
        guard (cell.payloadCount - payload.count) / usable < pages.pageCount else {
            return .broken(at: nil)
        }
        payload.reserveCapacity(cell.payloadCount)
        var chain: [Int] = []
        while payload.count < cell.payloadCount {
            pages.noteMissing(next)
            guard next > 1, next <= pages.pageCount, !used.contains(next) else {
                return .broken(at: nil)
            }
            // An older version of an overflow page may belong to another row.
            guard pages.states[next] == .intact, let content = pages.content(next) else {
                return .broken(at: next)
            }
            chain.append(next)
            guard chain.count <= pages.pageCount else { return .broken(at: nil) }
            let count = min(usable, cell.payloadCount - payload.count)
            payload += content[4..<(4 + count)]
            next = Int(content.word(0))
        }
        // The last page of a chain has no successor. SQLite doesn't look at it, and an HMAC proves the
        // pages before.
        guard next == 0 || pages.form.provesPages else { return .broken(at: nil) }
        for page in chain {
            pages.noteUse(of: page)
            if claims { used.insert(page) }
        }
        return .whole(payload)
    }
}
