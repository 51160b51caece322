/// The kind of a b-tree's page, from its first byte.
/// <https://www.sqlite.org/fileformat.html#b_tree_pages>
package enum TreeKind: UInt8, Sendable {
    case innerIndex = 2
    case innerTable = 5
    case leafIndex = 10
    case leafTable = 13

    package var isLeaf: Bool { self == .leafIndex || self == .leafTable }
    package var isTable: Bool { self == .innerTable || self == .leafTable }

    /// The size of the page's header.
    package var headerCount: Int { isLeaf ? 8 : 12 }

    /// How much of a payload is on the page itself.
    /// <https://www.sqlite.org/fileformat.html#cell_payload_overflow_pages>
    ///
    /// - Parameters:
    ///   - count: The size of the whole payload.
    ///   - usableSize: The size of a page without the reserved bytes at its end.
    package func localCount(of count: Int, usableSize: Int) -> Int {
        let most = self == .leafTable ? usableSize - 35 : (usableSize - 12) * 64 / 255 - 23
        guard count > most else { return count }
        let least = (usableSize - 12) * 32 / 255 - 23
        let fitting = least + (count - least) % (usableSize - 4)
        return fitting <= most ? fitting : least
    }
}

/// A page of a b-tree in a buffer. It is valid as long as the buffer's content.
struct TreePageView {
    struct Cell {
        /// On an inner page: the page whose keys come before the cell's.
        var child = 0
        /// On a page of a table.
        var rowid: Int64 = 0
        /// The size of the whole payload, in bytes; 0 on an inner page of a table.
        var payloadCount = 0
        /// The position of the payload, or its beginning, on the page.
        var start = 0
        var localCount = 0
        /// The first overflow page; 0 if there is none.
        var overflow = 0
        /// The position of the cell on the page.
        var offset = 0
        var end = 0

        var local: Range<Int> { start..<(start + localCount) }
    }

    /// How many bytes a buffer has after the page, so that a cell whose beginning is damaged can be
    /// read without looking at the end of the page after each byte.
    static let slack = 32

    private let bytes: UnsafeRawBufferPointer
    private let usableSize: Int
    private let start: Int
    let kind: TreeKind
    let cellCount: Int
    /// Where the cells begin.
    private let content: Int

    /// - Parameters:
    ///   - bytes: The page, and ``slack`` bytes after it.
    ///   - number: Its number, from 1.
    ///   - usableSize: The size of a page without the reserved bytes at its end.
    /// - Returns: `nil` if it can't be a b-tree page.
    init?(_ bytes: UnsafeRawBufferPointer, number: Int, usableSize: Int) {
        start = number == 1 ? DatabaseHeader.count : 0
        guard let kind = TreeKind(rawValue: bytes[start]) else { return nil }
        self.bytes = bytes
        self.usableSize = usableSize
        self.kind = kind
        cellCount = bytes.half(start + 3)
        // 0 means 65536.
        content = bytes.half(start + 5) == 0 ? 65536 : bytes.half(start + 5)
        guard start + kind.headerCount + 2 * cellCount <= content, content <= usableSize else {
            return nil
        }
    }

    /// On an inner page: the page whose keys come after those of all cells.
    var rightmost: Int { bytes.word(start + 8) }

    /// - Returns: `nil` if the cell isn't within the page's content.
    @inline(__always)
    func cell(_ index: Int) -> Cell? {
        let offset = bytes.half(start + kind.headerCount + 2 * index)
        guard offset >= content, offset <= usableSize - 4 else { return nil }
        var cell = Cell()
        cell.offset = offset
        var place = offset
        if !kind.isLeaf {
            cell.child = bytes.word(place)
            place += 4
        }
        if kind != .innerTable {
            let count = bytes.varint(&place)
            guard count <= UInt64(Int32.max) else { return nil }
            cell.payloadCount = Int(count)
        }
        if kind.isTable { cell.rowid = Int64(bitPattern: bytes.varint(&place)) }
        cell.start = place
        cell.localCount = kind.localCount(of: cell.payloadCount, usableSize: usableSize)
        cell.end = place + cell.localCount
        if cell.localCount < cell.payloadCount {
            guard cell.end + 4 <= usableSize else { return nil }
            cell.overflow = bytes.word(cell.end)
            cell.end += 4
        }
        // A cell takes at least the place of a free block, which it becomes when it is deleted.
        cell.end = max(cell.end, offset + 4)
        return cell.end <= usableSize ? cell : nil
    }

    // MARK: - The Use of Each Byte

    /// Whether each byte after the cells' pointers is accounted for: it belongs to one cell, to one
    /// free block, or to the gaps whose size the header has.
    /// <https://www.sqlite.org/fileformat.html#b_tree_pages>
    ///
    /// - Parameter usage: Has the page's cells.
    func accounts(for usage: inout PageUsage) -> Bool {
        var block = bytes.half(start + 1)
        guard block == 0 || block >= content else { return false }
        while block != 0 {
            guard block <= usableSize - 4 else { return false }
            let (next, size) = (bytes.half(block), bytes.half(block + 2))
            // Two blocks with less than four bytes in between would be one.
            guard size >= 4, block + size <= usableSize, next == 0 || next > block + size + 3,
                usage.add(block, block + size)
            else { return false }
            block = next
        }
        return usableSize - content - usage.count == Int(bytes[start + 7])
    }
}

/// The bytes of a page that are in use.
struct PageUsage: ~Copyable {
    private let words: UnsafeMutableBufferPointer<UInt64>
    private(set) var count = 0

    init(pageSize: Int) {
        words = .allocate(capacity: pageSize / 64 + 1)
        words.initialize(repeating: 0)
    }

    deinit { words.deallocate() }

    mutating func clear() {
        words.update(repeating: 0)
        count = 0
    }

    /// - Returns: Whether none of the bytes was in use.
    @inline(__always)
    mutating func add(_ start: Int, _ end: Int) -> Bool {
        count += end - start
        var (word, place) = (start >> 6, start & 63)
        var left = end - start
        var found: UInt64 = 0
        while left > 0 {
            let part = min(left, 64 - place)
            let mask = (part == 64 ? UInt64.max : (1 << UInt64(part)) - 1) << UInt64(place)
            found |= words[word] & mask
            words[word] |= mask
            (word, place) = (word + 1, 0)
            left -= part
        }
        return found == 0
    }
}

extension UnsafeRawBufferPointer {
    /// The big-endian number of two bytes.
    @inline(__always)
    func half(_ offset: Int) -> Int {
        Int(UInt16(bigEndian: loadUnaligned(fromByteOffset: offset, as: UInt16.self)))
    }

    /// The big-endian number of four bytes.
    @inline(__always)
    func word(_ offset: Int) -> Int {
        Int(UInt32(bigEndian: loadUnaligned(fromByteOffset: offset, as: UInt32.self)))
    }

    /// A number of one to nine bytes, which must be there.
    /// <https://www.sqlite.org/fileformat.html#varint>
    ///
    /// - Parameter place: Its start; afterwards, its end.
    @inline(__always)
    func varint(_ place: inout Int) -> UInt64 {
        var byte = self[place]
        place += 1
        if byte < 0x80 { return UInt64(byte) }
        var value = UInt64(byte & 0x7f)
        for _ in 0..<7 {
            byte = self[place]
            place += 1
            value = value << 7 | UInt64(byte & 0x7f)
            if byte < 0x80 { return value }
        }
        byte = self[place]
        place += 1
        return value << 8 | UInt64(byte)
    }
}
