import Foundation
import GRDB
import GRDBSQLite
import MigrationKit

/// A database's own objects, of which only what has changed is read again. A run looks at them at
/// every statement that changes them, so it takes SQLite's own functions: rows of GRDB's would be most
/// of the work.
struct KnownSchema {
    private struct KnownRow {
        let text: ContiguousArray<UInt8>
        /// `nil` if a virtual table owns it.
        var object: SchemaObject?
    }

    private var rows: [Int64: KnownRow] = [:]
    /// SQLite's own count of changes. <https://www.sqlite.org/pragma.html#pragma_schema_version>
    private var version: Int32?
    /// The numbers by which programs tell a file's version and kind.
    private(set) var versions: [Int32] = []

    var objects: [SchemaObject] { rows.values.compactMap(\.object) }

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
        var changed: [(row: Int64, old: SchemaObject?)] = []
        var gone = Set(rows.keys)
        let sql = """
            SELECT CAST(sql AS TEXT), rowid, CAST(type AS TEXT), CAST(name AS TEXT),
                CAST(tbl_name AS TEXT), CAST(rootpage AS INTEGER)
            FROM main.sqlite_schema WHERE sql IS NOT NULL AND \(SchemaObject.areOwn)
            """
        try Self.step(sql, db) { statement in
            let row = sqlite3_column_int64(statement, 1)
            let bytes = UnsafeRawBufferPointer(
                start: sqlite3_column_blob(statement, 0),
                count: Int(sqlite3_column_bytes(statement, 0))
            )
            gone.remove(row)
            let old = rows[row]
            let isSame = old?.text.withUnsafeBytes { text in
                guard let one = text.baseAddress, let other = bytes.baseAddress else {
                    return false
                }
                return text.count == bytes.count && memcmp(one, other, bytes.count) == 0
            }
            guard isSame != true else { return }
            rows[row] = KnownRow(text: ContiguousArray(bytes), object: SchemaObject(statement))
            changed.append((row, old?.object))
        }
        for row in gone { changed.append((row, rows.removeValue(forKey: row)?.object)) }
        try removeShadows(changed.map(\.row), db)
        return changed.map { ($0.old, rows[$0.row]?.object) }
    }

    /// Asks only if the name of what has changed may be that of a virtual table's content.
    private mutating func removeShadows(_ changed: [Int64], _ db: Database) throws {
        let owners = objects.filter(\.isVirtualTable).map { "\($0.name.foldedName)_" }
        guard !owners.isEmpty else { return }
        let doubtful = changed.filter { row in
            guard let table = rows[row]?.object?.table.foldedName else { return false }
            return owners.contains(where: table.hasPrefix)
        }
        guard !doubtful.isEmpty else { return }
        let shadows = try SchemaObject.shadowTables(of: db)
        for row in doubtful where shadows.contains(rows[row]?.object?.table ?? "") {
            rows[row]?.object = nil
        }
    }

    private static func number(_ pragma: String, _ db: Database) throws -> Int32 {
        var number: Int32 = 0
        try step("PRAGMA main.\(pragma)", db) { number = sqlite3_column_int($0, 0) }
        return number
    }

    private static func step(
        _ sql: String,
        _ db: Database,
        _ body: (OpaquePointer) -> Void
    ) throws {
        // GRDB's cache is emptied by every change of the schema.
        var statement: OpaquePointer?
        defer { sqlite3_finalize(statement) }
        var code = sqlite3_prepare_v2(db.sqliteConnection, sql, -1, &statement, nil)
        while code == SQLITE_OK || code == SQLITE_ROW, let statement {
            code = sqlite3_step(statement)
            if code == SQLITE_ROW { body(statement) }
        }
        guard code == SQLITE_DONE else {
            throw DatabaseError(
                resultCode: ResultCode(rawValue: code),
                message: String(cString: sqlite3_errmsg(db.sqliteConnection)),
                sql: sql
            )
        }
    }
}
