import GRDB

extension GRDBMigrationSQLHelpers {
    /// Adds a column, if the table doesn't have it yet.
    ///
    /// The definition of an existing column is not compared.
    ///
    /// - Parameters:
    ///   - column: The name of the column.
    ///   - definition: Its type and constraints, such as `TEXT` or `INTEGER NOT NULL DEFAULT 0`.
    ///   - table: The name of the table.
    ///   - db: A connection to the database.
    /// - Returns: Whether it was added.
    /// - Throws: A `DatabaseError` if SQLite can't add it, for example because it is `NOT NULL`
    ///   without a default. <https://www.sqlite.org/lang_altertable.html#altertabaddcol>
    @discardableResult
    public static func addColumnIfMissing(
        _ column: String,
        _ definition: String,
        to table: String,
        in db: Database
    ) throws -> Bool {
        // Not GRDB's list, which leaves out generated columns.
        let exists = try Bool.fetchOne(
            db,
            sql: """
                SELECT count(*) > 0 FROM pragma_table_xinfo(?, 'main')
                WHERE name = ? COLLATE NOCASE
                """,
            arguments: [table, column]
        )
        guard exists != true else { return false }
        try db.execute(
            sql: "ALTER TABLE \(quoted(table)) ADD COLUMN \(quoted(column)) \(definition)"
        )
        return true
    }

    /// Creates an index, if there is none with this name.
    ///
    /// - Parameters:
    ///   - index: The name of the index.
    ///   - table: The name of its table.
    ///   - columns: The names of its columns.
    ///   - unique: Whether all rows must differ in them.
    ///   - db: A connection to the database.
    /// - Returns: Whether it was created.
    /// - Throws: A `DatabaseError` if SQLite can't create it, or if the existing index has another
    ///   table, other columns, or isn't unique as wanted.
    @discardableResult
    public static func createIndexIfMissing(
        _ index: String,
        on table: String,
        columns: [String],
        unique: Bool = false,
        in db: Database
    ) throws -> Bool {
        let existing = try Row.fetchOne(
            db,
            sql: """
                SELECT object.tbl_name, list."unique", list.partial
                FROM main.sqlite_schema AS object, pragma_index_list(object.tbl_name) AS list
                WHERE object.type = 'index' AND object.name = ? COLLATE NOCASE
                AND list.name = object.name
                """,
            arguments: [index]
        )
        guard let existing else {
            let list = columns.map(quoted).joined(separator: ", ")
            try db.execute(
                sql: """
                    CREATE \(unique ? "UNIQUE " : "")INDEX \(quoted(index)) \
                    ON \(quoted(table)) (\(list))
                    """
            )
            return true
        }
        let existingColumns = try Optional<String>.fetchAll(
            db,
            sql: "SELECT name FROM pragma_index_info(?) ORDER BY seqno",
            arguments: [index]
        )
        let isSame =
            (existing[0] as String).isSameName(as: table)
            && existing[1] == unique && existing[2] == false
            && existingColumns.count == columns.count
            && zip(existingColumns, columns).allSatisfy { $0?.isSameName(as: $1) ?? false }
        guard isSame else {
            throw DatabaseError(message: "index \(index) already exists, with another definition")
        }
        return false
    }

    /// Creates a table, if there is none with this name.
    ///
    /// The definition of an existing table is not compared.
    ///
    /// - Parameters:
    ///   - table: The name of the table.
    ///   - options: Its options, such as `.strict`.
    ///   - db: A connection to the database.
    ///   - body: Defines it.
    /// - Returns: Whether it was created.
    /// - Throws: A `DatabaseError` if SQLite can't create it; what the body throws.
    @discardableResult
    public static func createTableIfMissing(
        _ table: String,
        options: TableOptions = [],
        in db: Database,
        body: (TableDefinition) throws -> Void
    ) throws -> Bool {
        // Not GRDB's list, which it doesn't read again after another process's commit.
        let exists = try Bool.fetchOne(
            db,
            sql: """
                SELECT count(*) > 0 FROM main.sqlite_schema
                WHERE type = 'table' AND name = ? COLLATE NOCASE
                """,
            arguments: [table]
        )
        guard exists != true else { return false }
        try db.create(table: table, options: options, body: body)
        return true
    }
}
