import Foundation
import GRDB
import GRDBSQLite
import MigrationKit

/// A database's own objects, of which only what has changed is read again. A run looks at them at
/// every statement that changes them, so it takes SQLite's own functions: rows of GRDB's would be most
/// of the work.
struct KnownSchema {
    private struct KnownRow {
        let number: Int64
        let text: ContiguousArray<UInt8>
        /// Whether its text may have a foreign key.
        let mayRefer: Bool
        /// `nil` if SQLite, GRDB or a virtual table owns it.
        var object: SchemaObject?
    }

    /// In the order of their numbers, in which SQLite reads them.
    private var rows: [KnownRow] = []
    /// SQLite's own count of changes. <https://www.sqlite.org/pragma.html#pragma_schema_version>
    private var version: Int32?
    /// The numbers by which programs tell a file's version and kind.
    private(set) var versions: [Int32] = []

    var objects: [SchemaObject] { rows.compactMap(\.object) }

    var mayHaveForeignKeys: Bool { rows.contains(where: \.mayRefer) }

    mutating func readVersions(_ db: Database) throws {
        versions = try ["user_version", "application_id"].map { try Self.number($0, db) }
    }

    /// Reads what has changed since the last time.
    ///
    /// - Returns: Each object that has changed: as it was, or `nil` if it is new, and as it is, or
    ///   `nil` if it is gone.
    mutating func readAnew(
        _ db: Database
    ) throws -> [(old: SchemaObject?, new: SchemaObject?)] {
        let version = try Self.number("schema_version", db)
        guard version != self.version else { return [] }
        self.version = version
        /// The rows by their places: those that have changed, and those that are gone.
        var (changed, gone): ([(place: Int, row: KnownRow)], [Int]) = ([], [])
        var place = 0
        let sql = "SELECT rowid, type, name, tbl_name, rootpage, sql FROM main.sqlite_schema"
        try db.forEachRow(of: sql) { statement in
            // An index that belongs to a constraint has no text.
            guard sqlite3_column_type(statement, 5) != SQLITE_NULL else { return }
            let number = sqlite3_column_int64(statement, 0)
            while place < rows.count, rows[place].number < number {
                gone.append(place)
                place += 1
            }
            let bytes = UnsafeRawBufferPointer(
                start: sqlite3_column_blob(statement, 5),
                count: Int(sqlite3_column_bytes(statement, 5))
            )
            let isKnown = place < rows.count && rows[place].number == number
            if !isKnown || !rows[place].text.isEqual(to: bytes) {
                let row = KnownRow(
                    number: number,
                    text: ContiguousArray(bytes),
                    mayRefer: sqlite3_column_text(statement, 5).map {
                        sqlite3_strlike("%references%", String(cString: $0), 0) == 0
                    } ?? false,
                    object: SchemaObject(ownOf: statement)
                )
                changed.append((place, row))
            }
            if isKnown { place += 1 }
        }
        gone += place..<rows.count
        return try take(changed, gone, db)
    }

    private mutating func take(
        _ changed: [(place: Int, row: KnownRow)],
        _ gone: [Int],
        _ db: Database
    ) throws -> [(old: SchemaObject?, new: SchemaObject?)] {
        var changed = changed
        for place in try placesOfShadows(in: changed.map(\.row), db) {
            changed[place].row.object = nil
        }
        var changes = gone.map { (old: rows[$0].object, new: SchemaObject?.none) }
        var new: [KnownRow] = []
        for (place, row) in changed {
            let isKnown = place < rows.count && rows[place].number == row.number
            changes.append((isKnown ? rows[place].object : nil, row.object))
            if isKnown { rows[place] = row } else { new.append(row) }
        }
        for place in gone.reversed() { rows.remove(at: place) }
        let isInOrder = (rows.last?.number ?? .min) < (new.first?.number ?? .max)
        rows += new
        if !isInOrder { rows.sort { $0.number < $1.number } }
        return changes
    }

    /// Asks only if the name of what has changed may be that of a virtual table's content.
    private func placesOfShadows(in changed: [KnownRow], _ db: Database) throws -> [Int] {
        let owners = (rows + changed).compactMap(\.object).filter(\.isVirtualTable)
            .map { "\($0.name.foldedName)_" }
        guard !owners.isEmpty else { return [] }
        let doubtful = changed.indices.filter { place in
            guard let table = changed[place].object?.table.foldedName else { return false }
            return owners.contains(where: table.hasPrefix)
        }
        guard !doubtful.isEmpty else { return [] }
        let shadows = try SchemaObject.shadowTables(of: db)
        return doubtful.filter { shadows.contains(changed[$0].object?.table ?? "") }
    }

    private static func number(_ pragma: String, _ db: Database) throws -> Int32 {
        var number: Int32 = 0
        try db.forEachRow(of: "PRAGMA main.\(pragma)") { number = sqlite3_column_int($0, 0) }
        return number
    }
}

extension ContiguousArray<UInt8> {
    fileprivate func isEqual(to bytes: UnsafeRawBufferPointer) -> Bool {
        guard count == bytes.count else { return false }
        guard let other = bytes.baseAddress else { return true }
        return withUnsafeBytes {
            $0.baseAddress.map { memcmp($0, other, bytes.count) == 0 } ?? true
        }
    }
}
