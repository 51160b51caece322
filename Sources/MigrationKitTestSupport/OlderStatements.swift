import GRDB
import MigrationKitGRDB

/// Statements that a version may run: with the names of all columns that it knows.
struct OlderStatements {
    /// Those of each table and view.
    private var objects: [[String]]

    /// - Parameter tables: Tables and views, by their names in lower case; `nil` for all.
    init(of db: Database, _ tables: Set<String>? = nil) throws {
        objects = try SchemaObject.own(of: db).map { object in
            guard object.kind == .table || object.kind == .view, !object.isVirtualTable,
                tables?.contains(object.name.foldedName) ?? true
            else { return [] }
            let name = object.name.quotedName
            // Generated columns are read only. <https://www.sqlite.org/gencol.html>
            let columns = try Row.fetchAll(
                db,
                sql: "SELECT name, hidden FROM pragma_table_xinfo(?)",
                arguments: [object.name]
            ).map { (name: ($0[0] as String).quotedName, isStored: $0[1] == 0) }
            // A name in double quotes that nothing has would be a string.
            let all = columns.map { "\(name).\($0.name)" }.joined(separator: ", ")
            guard object.kind == .table else { return ["SELECT \(all) FROM \(name)"] }
            let stored = columns.filter(\.isStored).map(\.name)
            let list = stored.joined(separator: ", ")
            let changes = stored.map { "\($0) = \($0)" }.joined(separator: ", ")
            return [
                "SELECT \(all) FROM \(name)",
                "UPDATE \(name) SET \(changes)",
                "CREATE TEMP TABLE migrationkit_rows AS SELECT \(list) FROM main.\(name)",
                "DELETE FROM main.\(name)",
                "INSERT INTO main.\(name) (\(list)) SELECT \(list) FROM migrationkit_rows",
                "DROP TABLE temp.migrationkit_rows",
            ]
        }
    }

    /// Leaves out the tables and views with which the version itself can't work.
    ///
    /// - Parameter database: One of that version.
    func working(on database: DatabaseQueue) throws -> OlderStatements {
        var statements = self
        statements.objects = try objects.filter { try failure(of: $0, on: database) == nil }
        return statements
    }

    func run(on database: DatabaseQueue, after step: String) throws {
        for object in objects {
            guard let (statement, error) = try failure(of: object, on: database) else { continue }
            let reason = error.message ?? "\(error.resultCode)"
            throw CheckFailure(
                .olderVersionFails(step: step, statement: statement, reason: reason),
                cause: error
            )
        }
    }

    private func failure(
        of statements: [String],
        on database: DatabaseQueue
    ) throws -> (statement: String, error: DatabaseError)? {
        var failure: (String, DatabaseError)?
        try database.undoing { db in
            for statement in statements where failure == nil {
                do {
                    try db.execute(sql: statement)
                } catch let error as DatabaseError {
                    failure = (statement, error)
                }
            }
        }
        return failure
    }
}

extension DatabaseQueue {
    /// Runs a block in a transaction, and undoes it. A row without a parent may have it at the end.
    func undoing(_ body: (Database) throws -> Void) throws {
        try writeWithoutTransaction { db in
            try db.inTransaction {
                try db.execute(sql: "PRAGMA defer_foreign_keys = ON")
                try body(db)
                return .rollback
            }
        }
    }
}
