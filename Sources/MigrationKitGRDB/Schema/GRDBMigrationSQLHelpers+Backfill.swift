import GRDB

extension GRDBMigrationSQLHelpers {
    /// Gives a column a value where it is NULL, a batch of rows at a time.
    ///
    /// In a transaction, all batches are part of it. In a step outside of a transaction, each batch
    /// has its own, so that other connections can write in between. An interruption then leaves
    /// some rows filled, and the next run fills the others.
    ///
    /// - Parameters:
    ///   - column: The name of the column.
    ///   - table: The name of its table.
    ///   - expression: An SQL expression over the row. Rows for which it is NULL keep NULL.
    ///   - batchSize: How many rows a batch has at most.
    ///   - db: A connection to the database.
    ///   - progress: Called after each batch with the number of rows filled so far.
    /// - Returns: The number of rows filled.
    /// - Throws: A `DatabaseError` if SQLite refuses a value; what `progress` throws.
    @discardableResult
    public static func backfill(
        _ column: String,
        of table: String,
        with expression: String,
        batchSize: Int = 1000,
        in db: Database,
        progress: (Int) throws -> Void = { _ in }
    ) throws -> Int {
        let keys = try keyColumns(of: table, in: db)
        let list = keys.joined(separator: ", ")
        let places = keys.map { _ in "?" }.joined(separator: ", ")
        var last: [DatabaseValue]?
        var filled = 0
        while true {
            let from = last == nil ? "TRUE" : "(\(list)) > (\(places))"
            var isDone = false
            let batch = {
                let end = try Row.fetchAll(
                    db,
                    sql: """
                        SELECT \(list) FROM \(quoted(table)) WHERE \(from)
                        ORDER BY \(list) LIMIT \(max(batchSize, 1))
                        """,
                    arguments: StatementArguments(last ?? [])
                ).last.map { Array($0.databaseValues) }
                guard let end else { return isDone = true }
                try db.execute(
                    sql: """
                        UPDATE \(quoted(table)) SET \(quoted(column)) = (\(expression))
                        WHERE \(from) AND (\(list)) <= (\(places))
                        AND \(quoted(column)) IS NULL AND (\(expression)) IS NOT NULL
                        """,
                    arguments: StatementArguments((last ?? []) + end)
                )
                filled += db.changesCount
                last = end
            }
            if db.isInsideTransaction {
                try batch()
            } else {
                try db.inTransaction(.immediate) {
                    try batch()
                    return .commit
                }
            }
            if isDone { return filled }
            try progress(filled)
        }
    }

    /// What identifies a row: the rowid, or the primary key of a table WITHOUT ROWID.
    private static func keyColumns(of table: String, in db: Database) throws -> [String] {
        let columns = try Row.fetchAll(
            db,
            sql: "SELECT name, pk FROM pragma_table_xinfo(?, 'main')",
            arguments: [table]
        )
        let isWithoutRowID = try Bool.fetchOne(
            db,
            sql: """
                SELECT wr FROM pragma_table_list
                WHERE schema = 'main' AND name = ? COLLATE NOCASE
                """,
            arguments: [table]
        )
        if isWithoutRowID != true, let rowID = rowidName(besides: columns.map { $0[0] }) {
            return [rowID]
        }
        return columns.filter { $0[1] > 0 }.sorted { ($0[1] as Int) < ($1[1] as Int) }
            .map { quoted($0[0]) }
    }
}
