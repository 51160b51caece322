import GRDB
import MigrationKitGRDB

/// How a table of the new file keeps its rows.
struct StoredTable {
    struct Column {
        let name: String
        let type: String
        let isNotNull: Bool
        /// Whether it is computed when a row is written, and kept.
        let isGenerated: Bool
    }

    let name: String
    /// The columns of a record, in its order.
    let columns: [Column]
    /// What the rowid is called; `nil` if there is none, or columns of all of its names.
    let rowidName: String?
    let hasRowID: Bool
    /// The column that is another name of the rowid, and that a record has NULL for.
    let alias: Int?

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
            // 2 and 3 are generated columns, of which SQLite keeps the latter in its records.
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
        if !hasRowID, let primary {
            // The key's columns come first. <https://www.sqlite.org/withoutrowid.html>
            order = try Int.fetchAll(
                db,
                sql: "SELECT cid FROM pragma_index_xinfo(?, 'main') WHERE cid >= 0 ORDER BY seqno",
                arguments: [primary]
            )
        }
        let columns = order.compactMap { all[$0] }
        // Without an index of its own, the primary key is the rowid itself.
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
    }

    /// The columns of a record of so many values that an INSERT can give, by their places.
    func given(of count: Int) -> [Int] {
        (0..<min(count, columns.count)).filter { !columns[$0].isGenerated && $0 != alias }
    }

    /// Whether a record may be a row of the table, by what its columns allow.
    func fits(_ row: SalvagedRow) -> Bool {
        // A column that was added later is missing in earlier rows.
        guard !row.values.isEmpty, row.values.count <= columns.count else { return false }
        return zip(columns.indices, row.values).allSatisfy { index, value in
            if index == alias { return value == .null }
            if columns[index].isNotNull, value == .null { return false }
            // <https://www.sqlite.org/datatype3.html#determination_of_column_affinity>
            let type = columns[index].type.uppercased()
            let isText = ["CHAR", "CLOB", "TEXT"].contains { type.contains($0) }
            switch value {
            case .integer, .real: return !isText || type.contains("INT")
            default: return true
            }
        }
    }

    /// Whether the columns of numbers have no text, which SQLite allows.
    func isUsual(_ row: SalvagedRow) -> Bool {
        zip(columns, row.values).allSatisfy { column, value in
            guard case .text = value else { return true }
            let type = column.type.uppercased()
            return !["INT", "REAL", "FLOA", "DOUB", "BOOL"].contains { type.contains($0) }
        }
    }
}
