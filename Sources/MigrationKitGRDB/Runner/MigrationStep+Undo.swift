import GRDB
import MigrationKit

extension MigrationStep<Database> {
    /// Undoes the change: by the closure, or by the SQL that is kept in the database; `nil` if it can't
    /// be undone.
    package var undo: (@Sendable (Database) throws -> Void)? {
        if let rollback { return rollback }
        guard let rollbackSQL else { return nil }
        return { [identifier] in try $0.run(rollbackSQL, undoing: identifier) }
    }
}

extension Database {
    /// Runs the SQL that undoes a step, if it has no statement that a file of SQL can't have either.
    ///
    /// - Throws: `MigrationKitError.refusedRollback(_:_:)`, before anything has run; a `DatabaseError`.
    fileprivate func run(_ sql: String, undoing identifier: String) throws {
        let bytes = Array(sql.utf8)
        for range in SQLStatementBoundary.statements(in: bytes) {
            let statement = SQLTokens(String(decoding: bytes[range], as: UTF8.self))
            let words = statement.tokens.prefix(RefusedStatement.length)
                .map { $0.unquoted.uppercased() }
            if let refused = RefusedStatement(words: words) {
                throw MigrationKitError.refusedRollback(identifier, refused)
            }
        }
        try execute(sql: sql)
    }
}
