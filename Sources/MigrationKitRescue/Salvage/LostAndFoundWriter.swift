import GRDB

/// Writes rows whose table is unknown into a separate table, which is created for the first of
/// them. Its columns are those of SQLite's own recovery.
/// <https://www.sqlite.org/recovery.html#the_lost_and_found_table>
final class LostAndFoundWriter {
    private static let mostColumns = 1990
    let name: String
    private(set) var rowCount = 0
    private let db: Database
    private let encoding: TextEncoding
    private var columnCount = -1
    private var statements: [Int: Statement] = [:]

    /// - Parameter names: The table names already in use.
    init(in db: Database, encoding: TextEncoding, avoiding names: Set<String>) {
        self.db = db
        self.encoding = encoding
        let candidates = ["lost_and_found"] + (0..<1000).map { "lost_and_found_\($0)" }
        name = candidates.first { !names.contains($0) } ?? "lost_and_found_1000"
    }

    /// - Parameters:
    ///   - root: The top page of the part of a b-tree that contains the row's page.
    /// - Returns: Whether the row was inserted.
    func write(_ row: SalvagedRow, rowid: Int64?, page: Int, root: Int) throws -> Bool {
        let count = row.values.count
        guard count <= Self.mostColumns else { return false }
        try grow(to: count)
        let statement: Statement
        if let known = statements[count] {
            statement = known
        } else {
            let names = ["rootpgno", "pgno", "nfield", "id"] + (0..<count).map { "c\($0)" }
            let places = names.map { _ in "?" }.joined(separator: ", ")
            statement = try Statement(
                db,
                "INSERT INTO main.\(name) (\(names.joined(separator: ", "))) VALUES (\(places))"
            )
            statements[count] = statement
        }
        do {
            try statement.run(
                [Int64(root), Int64(page), Int64(count), rowid],
                row,
                columns: Array(0..<count),
                encoding: encoding
            )
        } catch let error as DatabaseError where error.isRefusal {
            return false
        }
        rowCount += 1
        return true
    }

    /// Releases the connection, which can't be closed before.
    func finish() {
        statements = [:]
    }

    private func grow(to count: Int) throws {
        if columnCount < 0 {
            let columns = (0..<count).map { ", c\($0)" }.joined()
            try Statement(
                db,
                """
                CREATE TABLE main.\(name) (rootpgno INTEGER, pgno INTEGER, nfield INTEGER, \
                id INTEGER\(columns))
                """
            ).run()
            columnCount = count
        }
        while columnCount < count {
            try Statement(db, "ALTER TABLE main.\(name) ADD COLUMN c\(columnCount)").run()
            columnCount += 1
        }
    }
}
