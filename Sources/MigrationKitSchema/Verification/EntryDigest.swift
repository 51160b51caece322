import Foundation
import GRDB
import GRDBSQLite
import MigrationKitGRDB

/// A digest of the entries of an index, in any order: equal for equal entries, and otherwise only
/// by an accident with a probability of 2^-128.
///
/// Every entry is hashed with SipHash and a seed that only this process has, and the hashes are
/// added up. Whatever damaged the database didn't know the seed, so to it the hashes are random
/// numbers, and a sum of random numbers hides no missing, additional or changed entry. Two sums are
/// kept, since an accident of 2^-64 is conceivable among a billion entries. XOR instead of a sum
/// would not see an entry that is there three times. For the construction, see Clarke et al.,
/// "Incremental Multiset Hash Functions" (2003), MSet-Add-Hash.
struct EntryDigest: Equatable {
    private(set) var count = 0
    private var first: UInt64 = 0
    private var second: UInt64 = 0

    fileprivate mutating func add(_ hash: consuming SipHash) {
        let (one, two) = hash.finish()
        count += 1
        first &+= one
        second &+= two
    }
}

/// Entries of an index as they come from a query, and what is wrong with their order.
final class EntryStream {
    private static let seed = (UInt64.random(in: .min ... .max), UInt64.random(in: .min ... .max))

    private(set) var digest = EntryDigest()

    /// Whether each entry comes after the one before it, as the index sorts them.
    private(set) var isOrdered = true

    /// Whether entries that must be unique have equal keys.
    private(set) var hasDuplicates = false

    private let order: EntryOrder?
    private var last = Entry()
    private var current = Entry()
    private var isFirst: Bool { digest.count == 0 }

    /// - Parameter order: How the entries are sorted; `nil` if they come in another order.
    init(order: EntryOrder? = nil) {
        self.order = order
    }

    /// The values of an entry, copied.
    private struct Entry {
        var values: [EntryValue] = []
        var bytes: [UInt8] = []
    }

    /// - Parameter values: The fields of the entry.
    fileprivate func add(_ values: UnsafeBufferPointer<OpaquePointer?>) {
        var hash = SipHash(seed: Self.seed)
        guard let order else {
            for value in values { EntryValue(value, at: 0).add(to: &hash) }
            return digest.add(hash)
        }
        current.values.removeAll(keepingCapacity: true)
        current.bytes.removeAll(keepingCapacity: true)
        var difference: (field: Int, sign: Int)?
        var hasNullInKey = false
        for (field, pointer) in values.enumerated() {
            let value = EntryValue(pointer, at: current.bytes.count)
            value.add(to: &hash)
            current.values.append(value)
            value.storage.map { current.bytes.append(contentsOf: $0) }
            if field < order.keyCount, value.kind == .null { hasNullInKey = true }
            guard difference == nil, !isFirst, field < order.fields.count else { continue }
            let sign = last.bytes.withUnsafeBytes {
                order.compare(last.values[field], in: $0, with: value, field: field)
            }
            if sign != 0 { difference = (field, sign) }
        }
        if !isFirst {
            if difference.map({ $0.sign > 0 }) ?? true { isOrdered = false }
            if order.isUnique, !hasNullInKey, difference.map({ $0.field >= order.keyCount }) ?? true
            {
                hasDuplicates = true
            }
        }
        digest.add(hash)
        swap(&last, &current)
    }
}

/// A value of an entry.
private struct EntryValue {
    enum Kind: UInt8 {
        case null, integer, real, text, blob
    }

    let kind: Kind
    private let bits: UInt64
    /// The bytes of text, in the database's encoding, or of a blob; valid as long as the row is.
    let storage: UnsafeRawBufferPointer?
    /// Where the bytes are among those of the copied entry.
    private let range: Range<Int>

    /// - Parameters:
    ///   - value: A value of SQLite's.
    ///   - start: Where its bytes will be among those of the copied entry.
    @inline(__always)
    init(_ value: OpaquePointer?, at start: Int) {
        switch sqlite3_value_type(value) {
        case SQLITE_INTEGER:
            self.init(integer: sqlite3_value_int64(value), start)
        case SQLITE_FLOAT:
            // SQLite takes 1 and 1.0 for equal, also 0.0 and -0.0, and stores one or the other.
            let real = sqlite3_value_double(value)
            if let integer = Int64(exactly: real) {
                self.init(integer: integer, start)
            } else {
                self.init(.real, real.bitPattern, nil, start..<start)
            }
        case SQLITE_TEXT: self.init(.text, bytesOf: value, start)
        case SQLITE_BLOB: self.init(.blob, bytesOf: value, start)
        default: self.init(.null, 0, nil, start..<start)
        }
    }

    private init(integer: Int64, _ start: Int) {
        self.init(.integer, UInt64(bitPattern: integer), nil, start..<start)
    }

    /// This returns text as it is stored. As a conversion to UTF-8, invalid text could become equal
    /// to other text.
    private init(_ kind: Kind, bytesOf value: OpaquePointer?, _ start: Int) {
        let bytes = sqlite3_value_blob(value)
        let count = bytes == nil ? 0 : Int(sqlite3_value_bytes(value))
        let storage = UnsafeRawBufferPointer(start: bytes, count: count)
        self.init(kind, UInt64(count), storage, start..<start + count)
    }

    private init(
        _ kind: Kind,
        _ bits: UInt64,
        _ storage: UnsafeRawBufferPointer?,
        _ range: Range<Int>
    ) {
        self.kind = kind
        self.bits = bits
        self.storage = storage
        self.range = range
    }

    /// Adds the value with its type and length, so that different values have different words.
    @inline(__always)
    func add(to hash: inout SipHash) {
        hash.add(UInt64(kind.rawValue) | (kind == .text || kind == .blob ? bits << 8 : 0))
        switch kind {
        case .null: break
        case .integer, .real: hash.add(bits)
        case .text, .blob: if let storage { hash.add(storage) }
        }
    }

    var integer: Int64 { Int64(bitPattern: bits) }
    var real: Double { Double(bitPattern: bits) }

    func bytes(in copy: UnsafeRawBufferPointer) -> UnsafeRawBufferPointer {
        UnsafeRawBufferPointer(rebasing: copy[range])
    }
}

/// How an index sorts its entries. <https://www.sqlite.org/datatype3.html#sort_order>
final class EntryOrder {
    struct Field: Sendable {
        let collation: String
        let isDescending: Bool
    }

    fileprivate let fields: [Field]
    fileprivate let keyCount: Int
    fileprivate let isUnique: Bool

    /// For each field, a statement that compares text; `nil` for `BINARY`.
    private let comparisons: [OpaquePointer?]
    private let encoding: UInt8
    /// SQLite takes a missing pointer for NULL.
    private let empty = UnsafeMutablePointer<CChar>.allocate(capacity: 1)

    /// - Parameters:
    ///   - fields: All fields, with the key first.
    ///   - keyCount: How many of them belong to the key.
    ///   - isUnique: Whether keys without NULL must differ.
    /// - Throws: A `DatabaseError` if a collation isn't registered.
    init(_ fields: [Field], keyCount: Int, isUnique: Bool, _ db: Database) throws {
        self.fields = fields
        self.keyCount = keyCount
        self.isUnique = isUnique
        encoding =
            switch try String.fetchOne(db, sql: "PRAGMA main.encoding") {
            case "UTF-16le": UInt8(SQLITE_UTF16LE)
            case "UTF-16be": UInt8(SQLITE_UTF16BE)
            default: UInt8(SQLITE_UTF8)
            }
        empty.initialize(to: 0)
        var comparisons: [OpaquePointer?] = []
        var failure: DatabaseError?
        for field in fields {
            var statement: OpaquePointer?
            // NOCASE and RTRIM, too: a program may have registered its own, and SQLite's have their
            // own rules for characters outside of ASCII and for NUL.
            if field.collation != "BINARY", failure == nil {
                let name = GRDBMigrationSQLHelpers.quoted(field.collation)
                let sql = "SELECT (?1 COLLATE \(name) > ?2) - (?1 COLLATE \(name) < ?2)"
                let code = sqlite3_prepare_v2(db.sqliteConnection, sql, -1, &statement, nil)
                if code != SQLITE_OK {
                    failure = DatabaseError(
                        resultCode: ResultCode(rawValue: code),
                        message: String(cString: sqlite3_errmsg(db.sqliteConnection))
                    )
                }
            }
            comparisons.append(statement)
        }
        self.comparisons = comparisons
        if let failure { throw failure }
    }

    deinit {
        for comparison in comparisons { sqlite3_finalize(comparison) }
        empty.deallocate()
    }

    /// - Returns: Whether the field of the last entry comes before (negative), with, or after
    ///   (positive) that of the current one.
    fileprivate func compare(
        _ last: EntryValue,
        in bytes: UnsafeRawBufferPointer,
        with current: EntryValue,
        field: Int
    ) -> Int {
        let sign = ascending(last, bytes, current, field)
        return fields[field].isDescending ? -sign : sign
    }

    private func ascending(
        _ last: EntryValue,
        _ bytes: UnsafeRawBufferPointer,
        _ current: EntryValue,
        _ field: Int
    ) -> Int {
        switch (last.kind, current.kind) {
        case (.null, .null): return 0
        case (.integer, .integer): return Self.sign(last.integer, current.integer)
        case (.real, .real): return Self.sign(last.real, current.real)
        // Swift compares them exactly, like SQLite.
        case (.integer, .real): return Self.sign(last.integer, current.real)
        case (.real, .integer): return -Self.sign(current.integer, last.real)
        case (.text, .text):
            guard let storage = current.storage else { return 0 }
            return compareText(last.bytes(in: bytes), storage, comparisons[field])
        case (.blob, .blob):
            guard let storage = current.storage else { return 0 }
            return Self.sign(last.bytes(in: bytes), storage)
        default:
            return Self.sign(Self.rank(last.kind), Self.rank(current.kind))
        }
    }

    private func compareText(
        _ one: UnsafeRawBufferPointer,
        _ other: UnsafeRawBufferPointer,
        _ comparison: OpaquePointer?
    ) -> Int {
        let sign = Self.sign(one, other)
        guard let comparison, sign != 0 else { return sign }
        bind(one, to: comparison, 1)
        bind(other, to: comparison, 2)
        defer { sqlite3_reset(comparison) }
        return sqlite3_step(comparison) == SQLITE_ROW
            ? Int(sqlite3_column_int(comparison, 0)) : sign
    }

    /// Passes text back as it came from SQLite. It must stay where it is as long as the statement
    /// runs.
    private func bind(
        _ text: UnsafeRawBufferPointer,
        to statement: OpaquePointer?,
        _ index: Int32
    ) {
        let start = text.baseAddress?.assumingMemoryBound(to: CChar.self) ?? UnsafePointer(empty)
        sqlite3_bind_text64(statement, index, start, UInt64(text.count), nil, encoding)
    }

    @inline(__always)
    private static func sign<Value: Comparable>(_ one: Value, _ other: Value) -> Int {
        one < other ? -1 : one > other ? 1 : 0
    }

    /// - Parameter other: No integer.
    private static func sign(_ one: Int64, _ other: Double) -> Int {
        guard other < 0x1p63 else { return -1 }
        guard other >= -0x1p63 else { return 1 }
        let truncated = Int64(other)
        return one == truncated ? sign(Double(truncated), other) : sign(one, truncated)
    }

    @inline(__always)
    private static func sign(_ one: UnsafeRawBufferPointer, _ other: UnsafeRawBufferPointer) -> Int
    {
        let count = min(one.count, other.count)
        if count > 0, let one = one.baseAddress, let other = other.baseAddress {
            let difference = memcmp(one, other, count)
            if difference != 0 { return difference < 0 ? -1 : 1 }
        }
        return sign(one.count, other.count)
    }

    private static func rank(_ kind: EntryValue.Kind) -> Int {
        switch kind {
        case .null: 0
        case .integer, .real: 1
        case .text: 2
        case .blob: 3
        }
    }
}

extension Database {
    /// The SQL function that ``withEntryStreams(_:_:)`` registers. Its first argument is the number
    /// of a stream, the others are the values of an entry.
    static let entryFunction = "migrationkit_entry"

    /// Runs queries that put entries into streams.
    func withEntryStreams<Value>(_ streams: [EntryStream], _ body: () throws -> Value) throws
        -> Value
    {
        let receiver = Receiver(streams)
        let code = sqlite3_create_function_v2(
            sqliteConnection,
            Self.entryFunction,
            -1,
            SQLITE_UTF8,
            Unmanaged.passUnretained(receiver).toOpaque(),
            nil,
            { context, count, values in
                guard let values, let receiver = sqlite3_user_data(context) else { return }
                Unmanaged<Receiver>.fromOpaque(receiver)._withUnsafeGuaranteedRef {
                    let stream = Int(sqlite3_value_int64(values[0]))
                    $0.streams[stream].add(
                        UnsafeBufferPointer(start: values + 1, count: Int(count) - 1)
                    )
                }
            },
            { sqlite3_result_null($0) },
            nil
        )
        guard code == SQLITE_OK else { throw DatabaseError(resultCode: ResultCode(rawValue: code)) }
        defer {
            sqlite3_create_function_v2(
                sqliteConnection,
                Self.entryFunction,
                -1,
                SQLITE_UTF8,
                nil,
                nil,
                nil,
                nil,
                nil
            )
        }
        return try withExtendedLifetime(receiver) { try body() }
    }

    private final class Receiver {
        let streams: [EntryStream]

        init(_ streams: [EntryStream]) {
            self.streams = streams
        }
    }
}
