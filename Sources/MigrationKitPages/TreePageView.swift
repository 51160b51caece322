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

/// A cell of a b-tree's page.
package struct TreeCell {
    /// On an inner page: the page whose keys come before the cell's; otherwise 0.
    package private(set) var child = 0
    /// On a page of a table: the rowid; otherwise 0.
    package private(set) var rowid: Int64 = 0
    /// The size of the whole payload, in bytes; 0 on an inner page of a table.
    package private(set) var payloadCount = 0
    /// Where the payload, or its beginning, is on the page.
    package private(set) var local = 0..<0
    /// The first overflow page.
    package private(set) var overflow: Int?
    /// The position of the cell on the page.
    let offset: Int
    private(set) var end = 0

    /// - Returns: `nil` if the cell isn't within the page.
    @inline(__always)
    fileprivate init?(
        _ bytes: UnsafeRawBufferPointer,
        at offset: Int,
        _ kind: TreeKind,
        _ usableSize: Int
    ) {
        self.offset = offset
        var place = offset
        if !kind.isLeaf {
            guard place + 4 <= usableSize else { return nil }
            child = bytes.word(place)
            place += 4
        }
        if kind != .innerTable {
            guard let count = bytes.varint(&place, end: usableSize), count <= UInt64(Int32.max)
            else { return nil }
            payloadCount = Int(count)
        }
        if kind.isTable {
            guard let rowid = bytes.varint(&place, end: usableSize) else { return nil }
            self.rowid = Int64(bitPattern: rowid)
        }
        let localCount = kind.localCount(of: payloadCount, usableSize: usableSize)
        end = place + localCount
        guard end <= usableSize else { return nil }
        local = place..<end
        guard localCount < payloadCount else {
            // It takes at least the place of a free block, which it becomes when it is deleted.
            end = max(end, offset + 4)
            return
        }
        guard end + 4 <= usableSize else { return nil }
        overflow = bytes.word(end)
        end += 4
    }
}

/// A page of a b-tree in a buffer. It is valid as long as the buffer's content.
struct TreePageView {
    private let bytes: UnsafeRawBufferPointer
    private let usableSize: Int
    private let start: Int
    let kind: TreeKind
    let cellCount: Int
    /// Where the cells begin.
    private let content: Int

    /// - Parameters:
    ///   - bytes: The page.
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
        guard pointers + 2 * cellCount <= content, content <= usableSize else {
            return nil
        }
    }

    /// On an inner page: the page whose keys come after those of all cells.
    var rightmost: Int { bytes.word(start + 8) }

    /// - Parameter isStrict: Whether SQLite must have written the cell so: after the page's beginning of
    ///   content, and with the place of a free block. Otherwise, it only must be readable.
    /// - Returns: `nil` if it isn't.
    @inline(__always)
    func cell(_ index: Int, isStrict: Bool = true) -> TreeCell? {
        let offset = bytes.half(pointers + 2 * index)
        guard offset >= (isStrict ? content : pointers + 2 * cellCount),
            offset <= usableSize - (isStrict ? 4 : 0)
        else { return nil }
        return TreeCell(bytes, at: offset, kind, usableSize)
    }

    /// How many bytes are in gaps too small for a free block.
    var fragmentCount: Int { Int(bytes[start + 7]) }

    private var pointers: Int { start + kind.headerCount }

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
        return usableSize - content - usage.count == fragmentCount
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

    /// A number of one to nine bytes. <https://www.sqlite.org/fileformat.html#varint>
    ///
    /// - Parameters:
    ///   - place: Its start; afterwards, its end.
    ///   - end: The end of the bytes that it may use.
    /// - Returns: `nil` if it doesn't end before.
    @inline(__always)
    func varint(_ place: inout Int, end: Int) -> UInt64? {
        guard place < end else { return nil }
        var byte = self[place]
        place += 1
        if byte < 0x80 { return UInt64(byte) }
        var value = UInt64(byte & 0x7f)
        for _ in 0..<7 {
            guard place < end else { return nil }
            byte = self[place]
            place += 1
            value = value << 7 | UInt64(byte & 0x7f)
            if byte < 0x80 { return value }
        }
        guard place < end else { return nil }
        byte = self[place]
        place += 1
        return value << 8 | UInt64(byte)
    }
}

extension [UInt8] {
    /// A number of one to nine bytes. <https://www.sqlite.org/fileformat.html#varint>
    ///
    /// - Parameters:
    ///   - place: Its start; afterwards, its end.
    ///   - end: The end of the bytes that it may use.
    /// - Returns: `nil` if it doesn't end before.
    package func varint(_ place: inout Int, end: Int) -> Int64? {
        withUnsafeBytes { $0.varint(&place, end: Swift.min(end, count)) }
            .map(Int64.init(bitPattern:))
    }
}
