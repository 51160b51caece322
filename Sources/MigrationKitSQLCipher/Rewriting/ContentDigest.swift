import GRDB
import MigrationKitGRDB

/// Everything in a database that a copy must have, too: its schema, the settings in its header and,
/// for every table, the number of rows and their digest.
struct ContentDigest: Equatable {
    /// A table, index, view or trigger.
    struct Object: Hashable {
        let type: String
        let name: String
        let table: String
        let sql: String?
    }

    struct Table: Equatable {
        let rowCount: Int
        let digest: [UInt8]
    }

    private(set) var header: [String: String] = [:]
    private(set) var objects: Set<Object> = []
    private(set) var tables: [String: Table] = [:]

    var rowCount: Int { tables.values.reduce(0) { $0 + $1.rowCount } }

    /// Reads a database, row by row.
    ///
    /// - Parameters:
    ///   - chosen: The tables whose rows are read; `nil` for all.
    ///   - advance: Called with the number of bytes of content that were read.
    init(of db: Database, _ chosen: Set<String>? = nil, advance: (Int) -> Void) throws {
        for name in ["user_version", "application_id", "auto_vacuum", "encoding"] {
            header[name] = try String.fetchOne(db, sql: "PRAGMA main.\(name)")
        }
        let rows = try Row.fetchCursor(
            db,
            sql: """
                SELECT CAST(type AS TEXT), CAST(name AS TEXT), CAST(tbl_name AS TEXT),
                    CAST(sql AS TEXT)
                FROM main.sqlite_schema
                """
        )
        while let row = try rows.next() {
            let object = Object(
                type: row[0] ?? "",
                name: row[1] ?? "",
                table: row[2] ?? "",
                sql: row[3]
            )
            objects.insert(object)
        }
        let isUTF16 = header["encoding"]?.hasPrefix("UTF-16") ?? false
        for name in try Self.tables(of: db) where chosen?.contains(name) != false {
            tables[name] = try Self.read(name, in: db, isUTF16: isUTF16, advance: advance)
        }
    }

    /// How a copy differs from this, in words; `nil` if it doesn't.
    func difference(from copy: ContentDigest) -> String? {
        for (name, value) in header where copy.header[name] != value {
            return "its \(name) is \(copy.header[name] ?? "missing") instead of \(value)"
        }
        if let object = objects.symmetricDifference(copy.objects).first {
            return "the \(object.type) \(object.name) differs"
        }
        for (name, table) in tables where copy.tables[name] != table {
            let count = copy.tables[name]?.rowCount ?? 0
            return count == table.rowCount
                ? "rows of the table \(name) differ"
                : "the table \(name) has \(count) rows instead of \(table.rowCount)"
        }
        return copy.tables.count == tables.count ? nil : "it has additional tables"
    }

    /// The tables that have pages. A virtual one has none: its content is in ordinary tables.
    static func tables(of db: Database) throws -> [String] {
        try String.fetchAll(
            db,
            sql: "SELECT name FROM main.sqlite_schema WHERE type = 'table' AND rootpage <> 0"
        )
    }

    // MARK: - A Table

    private static func read(
        _ table: String,
        in db: Database,
        isUTF16: Bool,
        advance: (Int) -> Void
    ) throws -> Table {
        let columns = try storedColumns(of: table, in: db)
        let rowid = try rowidName(of: table, columns: columns.all, in: db)
        // Without an index, SQLite reads the table itself, in the order of its keys.
        let sql = """
            SELECT \(([rowid].compactMap { $0 } + columns.stored.map(\.quotedName)).joined(separator: ", ")) \
            FROM main.\(table.quotedName) NOT INDEXED\(rowid.map { " ORDER BY \($0)" } ?? "")
            """
        let statement = try db.makeStatement(sql: sql)
        let rows = try Row.fetchCursor(statement)
        let digest = try RowDigest()
        var count = 0
        while try rows.next() != nil {
            advance(try digest.add(statement.sqliteStatement, isUTF16: isUTF16))
            count += 1
        }
        return Table(rowCount: count, digest: try digest.finish())
    }

    /// The columns whose values are stored in the file, without those computed on reading.
    ///
    /// <https://www.sqlite.org/pragma.html#pragma_table_xinfo>
    private static func storedColumns(
        of table: String,
        in db: Database
    ) throws -> (all: [String], stored: [String]) {
        let rows = try Row.fetchAll(
            db,
            sql: "SELECT name, hidden FROM pragma_table_xinfo(?, 'main')",
            arguments: [table]
        )
        let virtual = 2
        return (rows.map { $0[0] }, rows.filter { $0[1] != virtual }.map { $0[0] })
    }

    /// A name for the rowid; `nil` if the table has none, or if columns use all of its names.
    private static func rowidName(
        of table: String,
        columns: [String],
        in db: Database
    ) throws -> String? {
        let hasNone = try Bool.fetchOne(
            db,
            sql: "SELECT wr FROM pragma_table_list(?) WHERE schema = 'main'",
            arguments: [table]
        )
        guard hasNone != true else { return nil }
        return MigrationKitGRDB.rowidName(besides: columns)
    }
}
