import GRDB
import GRDBSQLite
import MigrationKit
import MigrationKitGRDB

/// What is in the tables of a database, as far as it takes to tell what a change has lost: a hash of
/// each value.
struct TableHashes: Sendable {
    fileprivate struct Column {
        let name: String
        /// How many aren't NULL.
        var values = 0
        /// The sum of the hashes.
        var sum: UInt64 = 0
    }

    /// The hashes of a table's values, row after row, and of the rows' keys.
    fileprivate struct Rows {
        var keys: [UInt64] = []
        var hashes: [UInt32] = []
    }

    fileprivate struct Table {
        let name: String
        var rowCount = 0
        var columns: [Column] = []
        /// `nil` if there are too many.
        var rows: Rows? = Rows()

        func place(of column: String) -> Int? {
            columns.firstIndex { $0.name.isSameName(as: column) }
        }

        func hash(_ row: Int, _ column: Int) -> UInt32 {
            rows?.hashes[row * columns.count + column] ?? 0
        }
    }

    private var tables: [Table] = []

    /// - Parameter maximum: How many values are kept one by one. Four bytes each, and eight for each row.
    init(of db: Database, keepingAtMost maximum: Int = 1 << 24) throws {
        var left = maximum
        for object in try SchemaObject.own(of: db) where object.kind == .table {
            do {
                tables.append(try Table(object.name, in: db, &left))
            } catch let error as DatabaseError {
                // A module may need what only the app has.
                guard object.isVirtualTable else { throw error }
                tables.append(Table(name: object.name))
            }
        }
    }

    private func table(_ name: String) -> Table? { tables.first { $0.name.isSameName(as: name) } }

    // MARK: - Losses

    /// What is here and not in the contents after a change.
    func losses(to after: TableHashes) -> [MigrationDowngrade.Loss] {
        let new = after.tables.filter { table($0.name) == nil }
        return tables.sorted { $0.name < $1.name }.flatMap { old -> [MigrationDowngrade.Loss] in
            if let same = after.table(old.name) { return old.losses(to: same) }
            let gone = MigrationDowngrade.Loss(
                kind: .table,
                table: old.name,
                column: nil,
                rows: old.rowCount
            )
            // One with another name that has all its rows was renamed.
            let renamed = new.filter { $0.isOther(than: old) }.map { old.losses(to: $0) }
                .filter { $0.allSatisfy { $0.kind == .column } }
            return renamed.min { $0.count < $1.count } ?? [gone]
        }
    }
}

extension TableHashes.Table {
    /// Whether it may be a table under its new name.
    fileprivate func isOther(than old: Self) -> Bool {
        rowCount >= old.rowCount && columns.contains { old.place(of: $0.name) != nil }
    }

    fileprivate func losses(to new: Self) -> [MigrationDowngrade.Loss] {
        let pairs = new.rows.flatMap { new in rows.map { $0.pairs(with: new) } }
        var losses: [MigrationDowngrade.Loss] = []
        var kept: [(old: Int, new: Int)] = []
        for (place, column) in columns.enumerated() {
            if let same = new.place(of: column.name) ?? renamed(place, in: new, pairs) {
                kept.append((place, same))
            } else {
                losses.append(loss(.column, place, column.values))
            }
        }
        guard let pairs else { return losses + lossesByNumber(to: new, kept) }
        var changes: [MigrationDowngrade.Loss] = []
        var changed: Set<Int> = []
        for (place, same) in kept {
            let rows = pairs.filter { hash($0.old, place) != new.hash($0.new, same) }
            changed.formUnion(rows.map(\.old))
            if !rows.isEmpty { changes.append(loss(.values, place, rows.count)) }
        }
        let gone = rowCount - pairs.count
        // Rows may have got other keys, which nobody knows.
        let missing = gone + changed.count == 0 ? 0 : rowsMissing(in: new, kept)
        guard missing == gone + changed.count else {
            return losses + (missing > 0 ? [loss(.rows, nil, missing)] : [])
        }
        return losses + changes + (gone > 0 ? [loss(.rows, nil, gone)] : [])
    }

    private func loss(_ kind: MigrationDowngrade.Loss.Kind, _ column: Int?, _ rows: Int)
        -> MigrationDowngrade.Loss
    {
        .init(kind: kind, table: name, column: column.map { columns[$0].name }, rows: rows)
    }

    /// A column with another name that has the same values, at the same place if there are several.
    private func renamed(_ place: Int, in new: Self, _ pairs: [(old: Int, new: Int)]?) -> Int? {
        let column = columns[place]
        let others = new.columns.indices.filter { self.place(of: new.columns[$0].name) == nil }
        let sorted = others.filter { $0 == place } + others.filter { $0 != place }
        return sorted.first { other in
            if new.columns[other].values == column.values, new.columns[other].sum == column.sum {
                return true
            }
            // What few rows have in common may be chance.
            guard other == place, let pairs, pairs.contains(where: { hash($0.old, place) != 0 })
            else { return false }
            return pairs.allSatisfy { hash($0.old, place) == new.hash($0.new, other) }
        }
    }

    /// How many rows have no equal in another table, whatever their keys are.
    private func rowsMissing(in new: Self, _ kept: [(old: Int, new: Int)]) -> Int {
        var counts: [Int: Int] = [:]
        for row in 0..<new.rowCount {
            counts[new.digest(row, kept.map(\.new)), default: 0] += 1
        }
        var missing = 0
        for row in 0..<rowCount {
            let digest = digest(row, kept.map(\.old))
            if let count = counts[digest], count > 0 {
                counts[digest] = count - 1
            } else {
                missing += 1
            }
        }
        return missing
    }

    private func digest(_ row: Int, _ places: [Int]) -> Int {
        var hasher = Hasher()
        for place in places { hasher.combine(hash(row, place)) }
        return hasher.finalize()
    }

    /// As far as numbers and sums show it.
    private func lossesByNumber(to new: Self, _ kept: [(old: Int, new: Int)])
        -> [MigrationDowngrade.Loss]
    {
        guard new.rowCount >= rowCount else {
            return [loss(.rows, nil, rowCount - new.rowCount)]
        }
        return kept.filter { place, same in
            columns[place].sum != new.columns[same].sum
                || columns[place].values != new.columns[same].values
        }
        .map { loss(.values, $0.old, 0) }
    }
}

extension TableHashes.Rows {
    /// The rows with the same key.
    fileprivate func pairs(with new: Self) -> [(old: Int, new: Int)] {
        let places = Dictionary(zip(new.keys, new.keys.indices)) { first, _ in first }
        return keys.enumerated().compactMap { old, key in places[key].map { (old, $0) } }
    }
}

// MARK: - Reading

extension TableHashes.Table {
    fileprivate init(_ name: String, in db: Database, _ left: inout Int) throws {
        self.init(name: name)
        let all = try Row.fetchAll(
            db,
            sql: "SELECT name, hidden, pk FROM pragma_table_xinfo(?)",
            arguments: [name]
        )
        // The hidden columns of a virtual table are no content.
        columns = all.filter { ($0[1] as Int) != 1 }.map { TableHashes.Column(name: $0[0]) }
        let key = all.map { (name: $0[0] as String, place: $0[2] as Int) }
            .filter { $0.place > 0 }.sorted { $0.place < $1.place }.map(\.name)
        let rowID = try db.rowIDName(of: name, without: columns.map(\.name))
        // With the row's number, keys that have a NULL are different, too.
        let keys = key.map(\.quotedName) + (rowID.map { [$0] } ?? [])
        let selected = (columns.map(\.name.quotedName) + keys).joined(separator: ", ")
        try db.forEachRow(of: "SELECT \(selected) FROM main.\(name.quotedName)") { statement in
            let values = SQLiteRow(statement)
            rowCount += 1
            left -= columns.count
            if left < 0 { rows = nil }
            for place in columns.indices {
                let hash = values.hash(of: place)
                columns[place].sum &+= UInt64(hash)
                if hash != 0 { columns[place].values += 1 }
                rows?.hashes.append(hash)
            }
            let range = columns.count..<columns.count + keys.count
            let own = range.prefix(key.count)
            let isWhole = !key.isEmpty && own.allSatisfy { values.hash(of: $0) != 0 }
            rows?.keys.append(values.key(of: isWhole ? own : range))
        }
    }
}

extension Database {
    /// A name of the rows' number; `nil` if they have none, or columns have all its names.
    fileprivate func rowIDName(of table: String, without columns: [String]) throws -> String? {
        guard let name = rowidName(besides: columns),
            (try? makeStatement(sql: "SELECT \(name) FROM main.\(table.quotedName)")) != nil
        else { return nil }
        return name
    }
}

/// A row as SQLite has it, without a copy of its values.
private struct SQLiteRow {
    private let statement: OpaquePointer

    init(_ statement: OpaquePointer) {
        self.statement = statement
    }

    /// - Returns: 0 for NULL, and for nothing else. A number and its text are the same.
    func hash(of column: Int) -> UInt32 {
        let type = sqlite3_column_type(statement, Int32(column))
        guard type != SQLITE_NULL else { return 0 }
        var hasher = Hasher()
        combine(column, type, into: &hasher)
        return UInt32(truncatingIfNeeded: hasher.finalize()) | 1
    }

    func key(of columns: Range<Int>) -> UInt64 {
        var hasher = Hasher()
        for column in columns {
            let type = sqlite3_column_type(statement, Int32(column))
            hasher.combine(type == SQLITE_NULL)
            combine(column, type, into: &hasher)
            // The end of the value.
            hasher.combine(0xff as UInt8)
        }
        return UInt64(bitPattern: Int64(hasher.finalize()))
    }

    private func combine(_ place: Int, _ type: Int32, into hasher: inout Hasher) {
        let column = Int32(place)
        if type == SQLITE_FLOAT {
            let value = sqlite3_column_double(statement, column)
            if let whole = Int64(exactly: value) {
                var text = "\(whole)"
                hasher.combine(false)
                return text.withUTF8 { hasher.combine(bytes: UnsafeRawBufferPointer($0)) }
            }
            // SQLite writes fifteen digits.
            let text = sqlite3_column_text(statement, column).map { String(cString: $0) }
            guard text.flatMap(Double.init) == value else { return hasher.combine(value) }
        }
        let isBlob = type == SQLITE_BLOB
        hasher.combine(isBlob)
        let bytes =
            isBlob
            ? sqlite3_column_blob(statement, column)
            : UnsafeRawPointer(sqlite3_column_text(statement, column))
        let count = Int(sqlite3_column_bytes(statement, column))
        hasher.combine(bytes: UnsafeRawBufferPointer(start: bytes, count: bytes == nil ? 0 : count))
    }
}
