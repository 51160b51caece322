import GRDB
import MigrationKitGRDB

/// How a table of the new file stores its rows.
struct StoredTable {
    struct Column {
        let name: String
        let type: String
        let isNotNull: Bool
        /// Whether it is a generated column that is stored.
        let isGenerated: Bool
    }

    let name: String
    /// The columns of a record, in order.
    let columns: [Column]
    /// A name for the rowid; `nil` if there is none, or if columns use all of its names.
    let rowidName: String?
    let hasRowID: Bool
    /// The column that is an alias of the rowid. In a record, it is NULL.
    let alias: Int?
    /// The primary key of a table without rowids, from its last row to its first, for an ORDER BY; empty for
    /// other tables.
    let reversedKey: String
    /// How many columns that key has. They are the first of a record.
    let keyCount: Int

    /// - Returns: `nil` if there is no such table.
    init?(_ name: String, in db: Database) throws {
        self.name = name
        let rows = try Row.fetchAll(
            db,
            sql: """
                SELECT name, type, "notnull", hidden, pk, cid FROM pragma_table_xinfo(?, 'main')
                """,
            arguments: [name]
        )
        guard !rows.isEmpty else { return nil }
        let hasNone = try Bool.fetchOne(
            db,
            sql: "SELECT wr FROM pragma_table_list(?) WHERE schema = 'main'",
            arguments: [name]
        )
        hasRowID = hasNone != true
        let primary = try String.fetchOne(
            db,
            sql: "SELECT name FROM pragma_index_list(?, 'main') WHERE origin = 'pk'",
            arguments: [name]
        )
        var all: [Int: Column] = [:]
        var order: [Int] = []
        for row in rows {
            let hidden: Int = row[3]
            let cid: Int = row[5]
            // 2 and 3 are generated columns. SQLite stores only those with 3.
            // <https://www.sqlite.org/pragma.html#pragma_table_xinfo>
            guard hidden != 2 else { continue }
            let isNotNull: Bool = row[2]
            order.append(cid)
            all[cid] = Column(
                name: row[0],
                type: row[1],
                isNotNull: isNotNull,
                isGenerated: hidden == 3
            )
        }
        var reversedKey: [String] = []
        if !hasRowID, let primary {
            // The key's columns come first. <https://www.sqlite.org/withoutrowid.html>
            let stored = try Row.fetchAll(
                db,
                sql: """
                    SELECT cid, name, coll, "desc", key FROM pragma_index_xinfo(?, 'main')
                    WHERE cid >= 0 ORDER BY seqno
                    """,
                arguments: [primary]
            )
            order = stored.map { $0["cid"] }
            reversedKey = stored.filter { $0["key"] }.map { column in
                let (name, collation): (String, String) = (column["name"], column["coll"])
                let isDescending: Bool = column["desc"]
                return
                    "\(name.quotedName) COLLATE \(collation.quotedName) \(isDescending ? "ASC" : "DESC")"
            }
        }
        let columns = order.compactMap { all[$0] }
        // If the primary key has no index, it is the rowid itself.
        let keys: [Int] = rows.compactMap { row in
            let place: Int = row[4]
            let cid: Int = row[5]
            return place > 0 ? cid : nil
        }
        let alias =
            hasRowID && primary == nil && keys.count == 1
            ? order.firstIndex(of: keys[0]) : nil
        rowidName =
            hasRowID
            ? alias.map { columns[$0].name.quotedName }
                ?? MigrationKitGRDB.rowidName(besides: rows.map { $0[0] })
            : nil
        self.columns = columns
        self.alias = alias
        self.reversedKey = reversedKey.joined(separator: ", ")
        keyCount = reversedKey.count
    }

    /// The columns that an INSERT can set from a record with this many values, by position.
    func given(of count: Int) -> [Int] {
        (0..<min(count, columns.count)).filter { !columns[$0].isGenerated && $0 != alias }
    }

    /// Whether a record may be a row of the table, judging by the columns' types.
    func fits(_ row: SalvagedRow) -> Bool {
        // Earlier rows lack columns that were added later.
        guard !row.values.isEmpty, row.values.count <= columns.count else { return false }
        return zip(columns.indices, row.values).allSatisfy { index, value in
            if index == alias { return value == .null }
            if columns[index].isNotNull, value == .null { return false }
            switch value {
            case .integer, .real: return ColumnAffinity(of: columns[index].type) != .text
            default: return true
            }
        }
    }

    /// Whether numeric columns contain no text. SQLite allows text there.
    func isUsual(_ row: SalvagedRow) -> Bool {
        zip(columns, row.values).allSatisfy { column, value in
            guard case .text = value else { return true }
            return ![.integer, .real].contains(ColumnAffinity(of: column.type))
                && !column.type.uppercased().contains("BOOL")
        }
    }
}
