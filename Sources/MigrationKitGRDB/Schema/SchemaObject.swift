import Foundation
import GRDB
import GRDBSQLite
import MigrationKit

/// An object of a schema that has a statement: a row of `sqlite_schema`.
/// <https://www.sqlite.org/schematab.html>
///
/// Two are equal if they are defined in the same way, wherever their pages are.
package struct SchemaObject: Sendable {
    /// In the order in which a script can create them.
    package enum Kind: String, CaseIterable, Sendable {
        case table, index, view, trigger
    }

    package let kind: Kind
    package let name: String
    /// The table or view that it belongs to; itself, for a table or view.
    package let table: String
    /// 0 if it has no pages of its own.
    package let rootPage: Int
    /// The statement that creates it, without what may follow that.
    package let sql: String

    package init(kind: Kind, name: String, table: String, rootPage: Int = 0, sql: String) {
        (self.kind, self.name, self.table) = (kind, name, table)
        (self.rootPage, self.sql) = (rootPage, sql)
    }

    private init(_ row: Row) {
        kind = Kind(rawValue: row[0]) ?? .table
        (name, table, rootPage) = (row[1], row[2], row[3])
        let text: String = row[4]
        sql = text.firstStatement
    }

    /// - Parameter statement: Its columns are the text, the row's number, and the others in their order.
    fileprivate init(_ statement: OpaquePointer) {
        func text(_ column: Int32) -> String {
            sqlite3_column_text(statement, column).map { String(cString: $0) } ?? ""
        }
        kind = Kind(rawValue: text(2)) ?? .table
        (name, table) = (text(3), text(4))
        rootPage = Int(sqlite3_column_int64(statement, 5))
        sql = text(0).firstStatement
    }

    /// `index notes_title`
    package var title: String { "\(kind.rawValue) \(name)" }

    /// SQLite itself has written the text up to the name.
    package var isVirtualTable: Bool { kind == .table && sql.hasPrefix("CREATE VIRTUAL TABLE ") }
}

extension SchemaObject: Hashable {
    package static func == (one: Self, other: Self) -> Bool {
        one.kind == other.kind && one.name == other.name && one.table == other.table
            && one.sql == other.sql
    }

    package func hash(into hasher: inout Hasher) {
        hasher.combine(kind)
        hasher.combine(name)
        hasher.combine(sql)
    }
}

// MARK: - Reading

extension SchemaObject {
    /// All objects with a statement, in the order in which they were created.
    package static func all(of db: Database) throws -> [SchemaObject] {
        try read(db, "main.sqlite_schema", "ORDER BY rowid")
    }

    /// The temporary ones.
    package static func temporary(of db: Database) throws -> [SchemaObject] {
        try read(db, "sqlite_temp_schema")
    }

    /// Those that aren't of SQLite, of GRDB, or of a virtual table, whose owners create them: tables
    /// first, then indexes, views and triggers, each kind sorted by name.
    package static func own(of db: Database) throws -> [SchemaObject] {
        try own(
            of: db,
            """
            ORDER BY
                CASE type WHEN 'table' THEN 1 WHEN 'index' THEN 2 WHEN 'view' THEN 3 ELSE 4 END,
                CAST(name AS TEXT)
            """
        )
    }

    /// The same in any order, which takes less time.
    package static func ownInAnyOrder(of db: Database) throws -> [SchemaObject] {
        try own(of: db, "")
    }

    private static func own(of db: Database, _ order: String) throws -> [SchemaObject] {
        let objects = try read(
            db,
            "main.sqlite_schema",
            "AND \(areOwn) \(order)"
        )
        guard objects.contains(where: \.isVirtualTable) else { return objects }
        let shadows = try shadowTables(of: db)
        return objects.filter { !shadows.contains($0.table) }
    }

    /// The tables in which virtual tables keep their content.
    /// <https://www.sqlite.org/vtab.html#xshadowname>
    fileprivate static func shadowTables(of db: Database) throws -> Set<String> {
        let statement = try db.cachedStatement(
            sql: """
                SELECT name FROM pragma_table_list WHERE schema = 'main' AND type = 'shadow'
                """
        )
        return try String.fetchSet(statement)
    }

    /// The condition of those that aren't of SQLite or GRDB.
    fileprivate static let areOwn = """
        tbl_name NOT LIKE 'sqlite\\_%' ESCAPE '\\' AND tbl_name NOT LIKE 'grdb\\_%' ESCAPE '\\'
        """

    /// A table, by the name with which it was created.
    package static func table(_ name: String, in db: Database) throws -> SchemaObject? {
        try read(db, "main.sqlite_schema", "AND type = 'table' AND name = ?", [name]).first
    }

    private static func read(
        _ db: Database,
        _ schema: String,
        _ rest: String = "",
        _ arguments: StatementArguments = []
    ) throws -> [SchemaObject] {
        // SQLite reads its schema as text, so a number or a text may be stored in another form.
        let statement = try db.cachedStatement(
            sql: """
                SELECT CAST(type AS TEXT), CAST(name AS TEXT), CAST(tbl_name AS TEXT),
                    CAST(rootpage AS INTEGER), CAST(sql AS TEXT)
                FROM \(schema)
                WHERE sql IS NOT NULL \(rest)
                """
        )
        let rows = try Row.fetchCursor(statement, arguments: arguments)
        var objects: [SchemaObject] = []
        while let row = try rows.next() { objects.append(SchemaObject(row)) }
        return objects
    }
}

// MARK: - What Has Changed

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

// MARK: - Fingerprint

extension [SchemaObject] {
    /// A hash of the objects and of the steps that gave them; `nil` if a step has no checksum, so
    /// that it may have been changed since.
    func fingerprint(of steps: some Sequence<MigrationStep<Database>>) -> String? {
        // The seed is the same everywhere, since databases keep the hash.
        var hash = SipHash(seed: (0, 0))
        for object in self {
            for text in [object.kind.rawValue, object.name, object.sql] { hash.add(text) }
        }
        for step in steps {
            guard let checksum = step.checksum else { return nil }
            hash.add(step.identifier)
            hash.add(checksum)
        }
        let (one, two) = hash.finish()
        return [one, two].map { word in
            let digits = String(word, radix: 16)
            return String(repeating: "0", count: 16 - digits.count) + digits
        }.joined()
    }
}
