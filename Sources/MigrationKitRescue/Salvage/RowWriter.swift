import GRDB

/// Writes rows into a table of the new file.
final class RowWriter {
    let table: StoredTable
    private let db: Database
    private let encoding: TextEncoding
    /// By the number of values in a record. Missing values get their defaults from SQLite.
    private var statements: [Int: Statement] = [:]

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

    private func prepare(_ columns: [Int]) throws -> Statement {
        let names =
            (table.rowidName.map { [$0] } ?? []) + columns.map { table.columns[$0].name.quotedName }
        let places = names.map { _ in "?" }.joined(separator: ", ")
        let target = "INSERT INTO main.\(table.name.quotedName)"
        guard !names.isEmpty else { return try Statement(db, "\(target) DEFAULT VALUES") }
        return try Statement(db, "\(target) (\(names.joined(separator: ", "))) VALUES (\(places))")
    }
}
