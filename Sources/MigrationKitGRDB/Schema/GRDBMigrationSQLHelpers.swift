import GRDB
import MigrationKit

/// SQL that steps and their rollbacks often need.
public enum GRDBMigrationSQLHelpers {
    /// Drops a column, if the table and the column exist.
    ///
    /// - Parameters:
    ///   - column: The name of the column.
    ///   - table: The name of its table.
    ///   - db: A connection to the database.
    /// - Throws: A `DatabaseError` if SQLite can't drop the column, for example because it is
    ///   indexed or part of a key. <https://www.sqlite.org/lang_altertable.html#altertabdropcol>
    public static func dropColumnIfExists(
        _ column: String,
        from table: String,
        in db: Database
    ) throws {
        guard try db.tableExists(table) else { return }
        let names = try db.columns(in: table).map { $0.name.lowercased() }
        guard names.contains(column.lowercased()) else { return }
        try db.execute(sql: "ALTER TABLE \(quoted(table)) DROP COLUMN \(quoted(column))")
    }

    /// Drops an index, if it exists.
    ///
    /// - Parameters:
    ///   - index: The name of the index.
    ///   - db: A connection to the database.
    /// - Throws: A `DatabaseError` if SQLite can't drop it, for example the index of a `UNIQUE`
    ///   constraint.
    public static func dropIndexIfExists(_ index: String, in db: Database) throws {
        try db.execute(sql: "DROP INDEX IF EXISTS \(quoted(index))")
    }

    /// Drops a table with its indexes and triggers, if it exists.
    ///
    /// - Parameters:
    ///   - table: The name of the table.
    ///   - db: A connection to the database.
    /// - Throws: A `DatabaseError` if SQLite can't drop it.
    public static func dropTableIfExists(_ table: String, in db: Database) throws {
        try db.execute(sql: "DROP TABLE IF EXISTS \(quoted(table))")
    }

    /// Quotes a name for use in SQL.
    ///
    /// - Parameter identifier: The name of a table, column, index, view or trigger.
    /// - Returns: The name in double quotes. Double quotes inside it are doubled.
    ///   <https://www.sqlite.org/lang_keywords.html>
    public static func quoted(_ identifier: String) -> String {
        identifier.quotedName
    }
}

/// The names of the rowid of a table, as far as no column has them.
/// <https://www.sqlite.org/lang_createtable.html#rowid>
package let rowidNames = ["rowid", "_rowid_", "oid"]

/// A name for the rowid of a table that no column uses.
///
/// <https://www.sqlite.org/lang_createtable.html#rowid>
///
/// - Parameter columns: The table's columns.
/// - Returns: `nil` if columns use all of its names.
package func rowidName(besides columns: some Sequence<String>) -> String? {
    let taken = Set(columns.map { $0.lowercased() })
    return rowidNames.first { !taken.contains($0) }
}
