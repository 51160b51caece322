import GRDB
import MigrationKitGRDB

extension GRDBMigrationSQLHelpers {
    /// Changes the declared type of a column, and keeps everything else.
    ///
    /// The table is rebuilt, see `Database.rebuild(_:as:columns:dropping:)`. Without an expression,
    /// values are converted as SQLite does on insertion, and the change is refused if that would
    /// lose something.
    ///
    /// ```swift
    /// try GRDBMigrationSQLHelpers.changeType(
    ///     of: "age",
    ///     in: "users",
    ///     to: "INTEGER",
    ///     using: "CAST(age AS INTEGER)",
    ///     in: db
    /// )
    /// ```
    ///
    /// - Parameters:
    ///   - column: The name of the column.
    ///   - table: The name of its table.
    ///   - type: The new type, such as `INTEGER`.
    ///   - expression: An SQL expression over the old row for the new value.
    ///   - db: A connection to the database.
    /// - Throws: ``TableRebuildError``; a `DatabaseError` if the database can't be read or written.
    public static func changeType(
        of column: String,
        in table: String,
        to type: String,
        using expression: String? = nil,
        in db: Database
    ) throws {
        try rebuild(table, column, using: expression, in: db) {
            $0.changingType(of: column, to: type)
        }
    }

    /// Makes a column `NOT NULL`, and keeps everything else. Does nothing if it is already.
    ///
    /// The table is rebuilt, see `Database.rebuild(_:as:columns:dropping:)`. To add a required
    /// column to a table with rows, add it as a nullable one, fill it, and then require it:
    ///
    /// ```swift
    /// try GRDBMigrationSQLHelpers.addColumnIfMissing("slug", "TEXT", to: "notes", in: db)
    /// try db.execute(sql: "UPDATE notes SET slug = lower(title) WHERE slug IS NULL")
    /// try GRDBMigrationSQLHelpers.requireValue(of: "slug", in: "notes", in: db)
    /// ```
    ///
    /// - Parameters:
    ///   - column: The name of the column.
    ///   - table: The name of its table.
    ///   - db: A connection to the database.
    /// - Throws: ``TableRebuildError/rowRefused(table:reason:)`` if a row has no value; other cases
    ///   of ``TableRebuildError``; a `DatabaseError` if the database can't be read or written.
    public static func requireValue(
        of column: String,
        in table: String,
        in db: Database
    ) throws {
        let isRequired = try Bool.fetchOne(
            db,
            sql: """
                SELECT "notnull" FROM pragma_table_xinfo(?, 'main') WHERE name = ? COLLATE NOCASE
                """,
            arguments: [table, column]
        )
        guard isRequired != true else { return }
        try rebuild(table, column, using: nil, in: db) { $0.adding("NOT NULL", to: column) }
    }

    private static func rebuild(
        _ table: String,
        _ column: String,
        using expression: String?,
        in db: Database,
        _ change: (TableText) -> String?
    ) throws {
        let objects = try SchemaListing(of: db)
        let name = try objects.rebuildableTable(table, in: db)
        guard let text = try? TableText(objects.sql(of: name)), let definition = change(text) else {
            throw TableRebuildError.unknownColumn(table: name, column: column)
        }
        try db.rebuild(
            name,
            as: definition,
            columns: expression.map { [column: $0] } ?? [:]
        )
    }
}
