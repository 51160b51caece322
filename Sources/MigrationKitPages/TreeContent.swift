/// The secret numbers of the digests that are compared with each other.
///
/// The digests guard against faults: a row that is lost, doubled, or changed on its way. Whether
/// somebody forged a page is what the pages' HMACs prove. So a fast hash with 128 bits is enough: two
/// different contents have the same digest once in about 2^64 cases, whatever they are, since the
/// numbers are random and nobody knows them.
package struct ContentKeys: Sendable {
    let first: UInt64
    let second: UInt64
    let third: UInt64
    let fourth: UInt64

    package init() {
        var generator = SystemRandomNumberGenerator()
        // Odd, so that multiplying loses nothing.
        (first, second) = (generator.next() | 1, generator.next() | 1)
        (third, fourth) = (generator.next() | 1, generator.next() | 1)
    }

    /// A hash of two numbers in their order.
    @inline(__always)
    func mix(_ first: UInt64, _ second: UInt64) -> UInt64 {
        let product = (first ^ third).multipliedFullWidth(by: second ^ fourth)
        return product.high ^ product.low
    }
}

/// What a b-tree contains, whichever pages it has: a digest of its rows or of its entries.
///
/// The rows of a table count as a set, since each has its rowid, and the walk proves their order. The
/// entries of an index, or of a table without rowids, count in their order.
package struct TreeContent: Equatable, Sendable {
    /// The number of rows or entries.
    package private(set) var count = 0
    private var sum: UInt64 = 0
    private var otherSum: UInt64 = 0
    /// The sum over all entries and their successors.
    private var links: UInt64 = 0
    private var first: UInt64 = 0
    private var last: UInt64 = 0

    /// Adds the next item.
    @inline(__always)
    mutating func append(_ item: ItemHash.Value, isOrdered: Bool, _ keys: ContentKeys) {
        sum &+= item.first
        otherSum &+= item.second
        if isOrdered {
            if count == 0 { first = item.first } else { links &+= keys.mix(last, item.first) }
            last = item.first
        }
        count += 1
    }

    /// Adds what follows.
    mutating func append(_ next: TreeContent, isOrdered: Bool, _ keys: ContentKeys) {
        guard next.count > 0 else { return }
        if isOrdered {
            if count == 0 { first = next.first } else { links &+= keys.mix(last, next.first) }
            links &+= next.links
            last = next.last
        }
        sum &+= next.sum
        otherSum &+= next.otherSum
        count += next.count
    }
}

/// A hash of one row or entry, whose bytes come in one piece or in several.
struct ItemHash {
    struct Value {
        let first: UInt64
        let second: UInt64
    }

    private let keys: ContentKeys
    private var (a, b): (UInt64, UInt64)
    private var count = 0
    /// Bytes that don't fill a block yet.
    private var pending: (UInt64, UInt64) = (0, 0)
    private var pendingCount = 0

    @inline(__always)
    init(_ keys: ContentKeys, rowid: Int64) {
        self.keys = keys
        a = keys.first ^ UInt64(bitPattern: rowid)
        b = keys.second
    }

    @inline(__always)
    mutating func add(_ bytes: UnsafeRawBufferPointer) {
        count += bytes.count
        var place = 0
        if pendingCount > 0 {
            let part = min(bytes.count, 16 - pendingCount)
            keep(bytes, 0, part)
            place = part
            guard pendingCount == 16 else { return }
            addBlock(pending.0, pending.1)
            clear()
        }
        while place + 16 <= bytes.count {
            addBlock(
                bytes.loadUnaligned(fromByteOffset: place, as: UInt64.self),
                bytes.loadUnaligned(fromByteOffset: place + 8, as: UInt64.self)
            )
            place += 16
        }
        if place < bytes.count { keep(bytes, place, bytes.count) }
    }

    @inline(__always)
    mutating func finish() -> Value {
        if pendingCount > 0 { addBlock(pending.0, pending.1) }
        // The length tells a row from one with zeros at its end.
        addBlock(UInt64(count), keys.third)
        let product = (a ^ keys.third).multipliedFullWidth(by: b ^ keys.fourth)
        let other = (a ^ keys.second).multipliedFullWidth(by: b.byteSwapped ^ keys.first)
        return Value(
            first: (product.high ^ product.low) &+ a,
            second: (other.high ^ other.low) &+ b
        )
    }

    /// Nothing of a block is lost: a product of 128 bits is added to a state of 128 bits.
    @inline(__always)
    private mutating func addBlock(_ x: UInt64, _ y: UInt64) {
        let product = (x ^ a).multipliedFullWidth(by: y ^ b)
        (a, b) = ((a &+ product.low) ^ keys.first, b.byteSwapped &+ product.high)
    }

    private mutating func keep(_ bytes: UnsafeRawBufferPointer, _ start: Int, _ end: Int) {
        let target = pendingCount
        withUnsafeMutableBytes(of: &pending) {
            UnsafeMutableRawBufferPointer(rebasing: $0[target...])
                .copyMemory(from: UnsafeRawBufferPointer(rebasing: bytes[start..<end]))
        }
        pendingCount += end - start
    }

    private mutating func clear() {
        pending = (0, 0)
        pendingCount = 0
    }
}

/// The header of a record: how long each of its values is.
/// <https://www.sqlite.org/fileformat.html#record_format>
enum RecordHeader {
    /// More bytes than the header of any record has: SQLite allows 32,767 columns.
    static let most = 98_307

    /// Whether a header fits its record.
    ///
    /// - Parameters:
    ///   - bytes: The record's beginning with the whole header, or more.
    ///   - count: The size of the record.
    ///   - each: Called with the type of each value and its start in the record.
    @inline(__always)
    static func isValid(
        _ bytes: UnsafeRawBufferPointer,
        count: Int,
        each: (_ type: UInt64, _ start: Int) -> Void = { _, _ in }
    ) -> Bool {
        var place = 0
        guard let headerCount = bytes.varint(&place, end: bytes.count),
            headerCount <= UInt64(min(count, most, bytes.count)), place <= headerCount
        else { return false }
        let end = Int(headerCount)
        var start = end
        while place < end {
            guard let type = bytes.varint(&place, end: end), let size = size(of: type),
                start + size <= count
            else { return false }
            each(type, start)
            start += size
        }
        return start == count
    }

    /// Where the values of a record are, whose header is valid.
    static func values(of bytes: UnsafeRawBufferPointer) -> [Range<Int>] {
        var place = 0
        let end = Int(clamping: bytes.varint(&place, end: bytes.count) ?? 0)
        var values: [Range<Int>] = []
        var start = end
        while let type = bytes.varint(&place, end: end) {
            let count = size(of: type) ?? 0
            values.append(start..<start + count)
            start += count
        }
        return values
    }

    /// The size of a value; `nil` for a type that no record has.
    @inline(__always)
    static func size(of type: UInt64) -> Int? {
        switch type {
        case 0, 8, 9: 0
        case 1...4: Int(type)
        case 5: 6
        case 6, 7: 8
        case 10, 11: nil
        default: type <= UInt64(UInt32.max) ? Int(type - 12) / 2 : nil
        }
    }
}

/// The kinds of values that a column has, as its table's rows store them.
package struct StoredKinds: OptionSet, Sendable {
    package let rawValue: UInt8

    package init(rawValue: UInt8) { self.rawValue = rawValue }

    package static let null = StoredKinds(rawValue: 1)
    package static let integer = StoredKinds(rawValue: 2)
    package static let real = StoredKinds(rawValue: 4)
    package static let text = StoredKinds(rawValue: 8)
    package static let blob = StoredKinds(rawValue: 16)
    package static let all: StoredKinds = [null, integer, real, text, blob]

    /// - Parameter type: <https://www.sqlite.org/fileformat.html#record_format>
    @inline(__always)
    fileprivate init(type: UInt64) {
        switch type {
        case 0: self = .null
        case 7: self = .real
        case 1...9: self = .integer
        default: self = type % 2 == 0 ? .blob : .text
        }
    }
}

/// What the rows of a table with rowids store in each column.
package struct StoredColumns: Sendable {
    package private(set) var kinds: [StoredKinds] = []
    /// The fewest values that a row has: rows from before a column was added don't have it.
    package private(set) var fewest = Int.max

    /// Adds a row.
    ///
    /// - Parameters:
    ///   - record: Its beginning with the whole header, or more.
    ///   - count: The size of the record.
    ///   - isWhole: Whether all of the record is there.
    /// - Returns: Whether the header fits the record.
    @inline(__always)
    mutating func add(_ record: UnsafeRawBufferPointer, count: Int, isWhole: Bool) -> Bool {
        var column = 0
        let isValid = RecordHeader.isValid(record, count: count) { type, start in
            var kind = StoredKinds(type: type)
            // SQLite takes what isn't a number for NULL, and stores none.
            if kind == .real, !isWhole || Self.isNotANumber(record, start) { kind.insert(.null) }
            if column < kinds.count {
                kinds[column].formUnion(kind)
            } else {
                kinds.append(kind)
            }
            column += 1
        }
        fewest = min(fewest, column)
        return isValid
    }

    @inline(__always)
    private static func isNotANumber(_ record: UnsafeRawBufferPointer, _ start: Int) -> Bool {
        let bits = record.loadUnaligned(fromByteOffset: start, as: UInt64.self)
        return Double(bitPattern: UInt64(bigEndian: bits)).isNaN
    }

    mutating func formUnion(_ other: StoredColumns) {
        for (column, kind) in other.kinds.enumerated() {
            if column < kinds.count { kinds[column].formUnion(kind) } else { kinds.append(kind) }
        }
        fewest = min(fewest, other.fewest)
    }
}
