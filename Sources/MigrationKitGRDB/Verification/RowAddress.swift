import GRDB

/// Identifies the rows of a table without their values: by `rowid` or, if there is none, by their
/// position in the order of the primary key.
struct RowAddress {
    let table: String
    private let rowID: String?

    /// - Parameter table: The name of a table of the main database.
    init(_ table: String, _ db: Database) throws {
        self.table = table
        let columns = try String.fetchAll(
            db,
            sql: "SELECT name FROM pragma_table_xinfo(?, 'main')",
            arguments: [table]
        )
        let isWithout = try Bool.fetchOne(
            db,
            sql: "SELECT wr FROM pragma_table_list WHERE schema = 'main' AND name = ?",
            arguments: [table]
        )
        rowID = isWithout ?? false ? nil : rowidName(besides: columns)
    }

    /// A query for the addresses of the rows that meet a condition.
    func query(where condition: String) -> String {
        let name = "main." + GRDBMigrationSQLHelpers.quoted(table)
        guard let rowID else {
            return """
                SELECT place FROM (SELECT row_number() OVER () AS place, (\(condition)) AS holds
                FROM \(name) NOT INDEXED) WHERE holds
                """
        }
        return "SELECT \(rowID) FROM \(name) NOT INDEXED WHERE \(condition)"
    }

    /// The address of the row at a position, from 1, in the order of the table's b-tree.
    func address(atPlace place: Int64, _ db: Database) throws -> Int64? {
        guard rowID != nil else { return place }
        return try Int64.fetchOne(
            db,
            sql: "\(query(where: "1")) LIMIT 1 OFFSET ?",
            arguments: [place - 1]
        )
    }

    /// - Parameters:
    ///   - address: The query's result.
    ///   - fault: What is wrong with the row. It follows the row's name.
    func finding(_ address: Int64, _ fault: String) -> VerificationFinding {
        VerificationFinding(
            rowID == nil
                ? "row \(address) of '\(table)', in primary key order, \(fault)"
                : "row \(address) of '\(table)' \(fault)",
            table: table,
            rowID: rowID == nil ? nil : address
        )
    }
}

/// A name for the rowid of a table that no column uses.
///
/// <https://www.sqlite.org/lang_createtable.html#rowid>
///
/// - Parameter columns: The table's columns.
/// - Returns: `nil` if columns use all of its names.
package func rowidName(besides columns: some Sequence<String>) -> String? {
    let taken = Set(columns.map { $0.lowercased() })
    return ["rowid", "_rowid_", "oid"].first { !taken.contains($0) }
}
