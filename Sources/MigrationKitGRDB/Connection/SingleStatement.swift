import Foundation
import GRDB
import GRDBSQLite
import MigrationKit

extension Database {
    /// Runs one statement of a text that may be a stranger's: of a schema, a dump or a folder. What
    /// SQLite reads behind it is refused, not run.
    ///
    /// - Throws: A `DatabaseError`.
    package func run(statement sql: String) throws {
        let kinds = ["CREATE", "DROP", "ALTER", "INSERT", "UPDATE", "DELETE"]
        guard let first = SQLTokens(sql).tokens.first, kinds.contains(where: first.isWord) else {
            // Not one that a schema or a change of it has.
            throw DatabaseError(resultCode: .SQLITE_AUTH)
        }
        try onlyStatement(of: sql).execute()
    }

    /// Compiles the only statement of a text. Nothing behind it is compiled, since SQLCipher's own
    /// pragmas do their work then.
    ///
    /// - Throws: A `DatabaseError`, also if there is another one.
    func onlyStatement(of sql: String) throws -> Statement {
        let statement = try allStatements(sql: sql).next()
        guard let statement, let read = sqlite3_sql(statement.sqliteStatement),
            sql.isBlank(from: strlen(read))
        else {
            throw DatabaseError(message: "there must be exactly one statement")
        }
        return statement
    }
}
