import GRDB
import GRDBSQLite

extension Database {
    /// Runs SQL of ours with SQLite's own functions, without the rows of GRDB, which take longer. It
    /// isn't kept compiled: every change of the schema empties GRDB's cache.
    ///
    /// - Parameter body: Reads a row of the statement.
    /// - Throws: A `DatabaseError`.
    package func forEachRow(of sql: String, _ body: (OpaquePointer) -> Void) throws {
        var statement: OpaquePointer?
        defer { sqlite3_finalize(statement) }
        var code = sqlite3_prepare_v2(sqliteConnection, sql, -1, &statement, nil)
        while code == SQLITE_OK || code == SQLITE_ROW, let statement {
            code = sqlite3_step(statement)
            if code == SQLITE_ROW { body(statement) }
        }
        guard code == SQLITE_DONE else {
            throw DatabaseError(
                resultCode: ResultCode(rawValue: code),
                message: String(cString: sqlite3_errmsg(sqliteConnection)),
                sql: sql
            )
        }
    }
}
