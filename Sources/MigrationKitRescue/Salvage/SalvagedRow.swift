import MigrationKitPages
import GRDB

/// The values of a row, or of an index's entry. <https://www.sqlite.org/fileformat.html#record_format>
struct SalvagedRow {
    enum Value: Equatable {
        case null
        case integer(Int64)
        case real(Double)
        /// The position of the bytes in the payload.
        case text(Range<Int>)
        case blob(Range<Int>)
    }

    /// The whole record.
    let payload: [UInt8]
    let values: [Value]

    /// - Returns: `nil` if the bytes aren't a record.
    init?(_ payload: [UInt8]) {
        var place = 0
        guard let header = payload.varint(&place, end: payload.count),
            header >= Int64(place), header <= Int64(payload.count)
        else { return nil }
        let end = Int(header)
        var content = end
        var values: [Value] = []
        while place < end {
            guard let type = payload.varint(&place, end: end),
                let value = Self.value(type, payload, &content)
            else { return nil }
            values.append(value)
        }
        // SQLite writes no superfluous byte.
        guard content == payload.count else { return nil }
        self.payload = payload
        self.values = values
    }

    /// The values that are complete at the beginning of a record.
    init?(beginning payload: [UInt8]) {
        var place = 0
        guard let header = payload.varint(&place, end: payload.count),
            header >= Int64(place), header <= Int64(payload.count)
        else { return nil }
        var content = Int(header)
        var values: [Value] = []
        while place < Int(header) {
            guard let type = payload.varint(&place, end: Int(header)) else { return nil }
            // Values after the beginning are left out.
            values.append(Self.value(type, payload, &content) ?? .null)
        }
        self.payload = payload
        self.values = values
    }

    func bytes(_ range: Range<Int>) -> ArraySlice<UInt8> { payload[range] }

    private static func value(_ type: Int64, _ payload: [UInt8], _ place: inout Int) -> Value? {
        let count: Int
        switch type {
        case 0: return .null
        case 8: return .integer(0)
        case 9: return .integer(1)
        case 1...4: count = Int(type)
        case 5: count = 6
        case 6, 7: count = 8
        case 12...: count = Int((type - 12) / 2)
        default: return nil
        }
        guard count <= payload.count - place else { return nil }
        let range = place..<(place + count)
        place += count
        if type >= 12 { return type % 2 == 0 ? .blob(range) : .text(range) }
        let bits = payload[range].reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
        if type == 7 { return .real(Double(bitPattern: bits)) }
        let shift = 64 - 8 * count
        return .integer(Int64(bitPattern: bits << shift) >> shift)
    }
}

// MARK: - Row Writer

/// Writes rows into a table of the new file.
final class RowWriter {
    let table: StoredTable
    private let db: Database
    private let encoding: TextEncoding
    /// By the number of values in a record. Missing values get their defaults from SQLite.
    private var statements: [Int: Statement] = [:]
    private lazy var last = Result { try prepareLast() }

    init(_ table: StoredTable, in db: Database, encoding: TextEncoding) {
        self.table = table
        self.db = db
        self.encoding = encoding
    }

    /// - Returns: Whether the table accepted the row.
    /// - Throws: Errors that end the salvage: a full disk, an interruption.
    func write(_ row: SalvagedRow, rowid: Int64?) throws -> Bool {
        let count = row.values.count
        guard count <= table.columns.count, count > 0 || table.columns.isEmpty else { return false }
        let columns = table.given(of: count)
        let hasRowID = table.rowidName != nil
        do {
            let statement = try statements[count] ?? prepare(columns)
            statements[count] = statement
            try statement.run(hasRowID ? [rowid] : [], row, columns: columns, encoding: encoding)
            return true
        } catch let error as DatabaseError where error.isRefusal {
            return false
        }
    }

    /// Whether a row that the table has accepted comes after all others in the order of its primary key.
    ///
    /// - Returns: `true` also for a table with rowids, whose order the pages show.
    func isLast(_ row: SalvagedRow) throws -> Bool {
        guard table.keyCount > 0 else { return true }
        return try last.get().run(
            [],
            row,
            columns: Array(0..<table.keyCount),
            encoding: encoding
        )
    }

    private func prepareLast() throws -> Statement {
        let names = table.columns.prefix(table.keyCount).map(\.name.quotedName)
        return try Statement(
            db,
            """
            SELECT 1 FROM (SELECT \(names.joined(separator: ", ")) FROM main.\(table.name.quotedName)
                ORDER BY \(table.reversedKey) LIMIT 1)
            WHERE \(names.map { "\($0) IS ?" }.joined(separator: " AND "))
            """
        )
    }

    private func prepare(_ columns: [Int]) throws -> Statement {
        let names =
            (table.rowidName.map { [$0] } ?? []) + columns.map { table.columns[$0].name.quotedName }
        let places = names.map { _ in "?" }.joined(separator: ", ")
        let target = "INSERT INTO main.\(table.name.quotedName)"
        guard !names.isEmpty else { return try Statement(db, "\(target) DEFAULT VALUES") }
        return try Statement(db, "\(target) (\(names.joined(separator: ", "))) VALUES (\(places))")
    }
}
