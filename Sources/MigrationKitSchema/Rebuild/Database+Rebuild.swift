import GRDB
import MigrationKitGRDB

extension Database {
    /// Gives a table a new definition, and keeps its rows and everything that hangs on it.
    ///
    /// ```swift
    /// try db.rebuild("notes", columns: ["body": "text"]) { table in
    ///     table.autoIncrementedPrimaryKey("id")
    ///     table.column("body", .text).notNull()
    ///     table.column("stars", .integer).notNull().defaults(to: 0)
    /// }
    /// ```
    ///
    /// This is SQLite's procedure for changes that `ALTER TABLE` can't make: a new table gets the
    /// rows, the old one is dropped, and the new one takes its name.
    /// <https://www.sqlite.org/lang_altertable.html#otheralter>
    ///
    /// These are kept: rowids, indexes, triggers, views, triggers of other tables that name this
    /// one, foreign keys that refer to it, FTS tables with its content, the `AUTOINCREMENT` mark in
    /// `sqlite_sequence`, and the statistics of `ANALYZE`. Before it returns, the rebuild compares
    /// the rows, the number of rows in every table, the schema, the foreign keys and the mark. If
    /// anything differs, it throws, and nothing has changed.
    ///
    /// Nothing is lost silently: whatever the new definition lacks must be listed in `dropping`.
    /// A new `NOT NULL` column needs a default or an expression. A column whose type changes keeps
    /// its values, converted as SQLite does on insertion. If that loses something, as with `'007'`
    /// as an integer, the rebuild is refused. Write an expression for such a column.
    ///
    /// Foreign keys must be off, as they are in the steps of `GRDBMigrationRunner`: otherwise
    /// dropping the old table deletes its children. Outside of a transaction, the rebuild turns them
    /// off and on again. In a transaction with foreign keys on, a table that no other refers to can
    /// be rebuilt. Any other is refused.
    ///
    /// - Parameters:
    ///   - table: The table's name.
    ///   - options: The options of the new definition, such as `.strict`.
    ///   - columns: SQL expressions over the old row, by the names of new columns. A column that
    ///     isn't here gets the value of the old column with its name. The bare name of an old column
    ///     renames it: indexes, triggers, views and foreign keys then use the new name.
    ///   - dropping: What the rebuild may lose.
    ///   - body: Defines the new table. Indexes that it asks for are created.
    /// - Throws: ``TableRebuildError``; a `DatabaseError` if the database can't be read or written.
    public func rebuild(
        _ table: String,
        options: TableOptions = [],
        columns: [String: String] = [:],
        dropping: Set<RebuildLoss> = [],
        body: (TableDefinition) throws -> Void
    ) throws {
        try rebuild(table) { name in
            try TableRebuild(
                name,
                definition: .defined(by: body, options, name, in: self),
                columns: columns,
                dropping: dropping,
                in: self
            )
        }
    }

    /// Gives a table a new definition, written in SQL. See
    /// `rebuild(_:options:columns:dropping:body:)`.
    ///
    /// ```swift
    /// try db.rebuild("notes", as: "CREATE TABLE notes (id INTEGER PRIMARY KEY, body TEXT NOT NULL)")
    /// ```
    ///
    /// - Parameters:
    ///   - table: The table's name.
    ///   - definition: One `CREATE TABLE` statement with this name.
    ///   - columns: SQL expressions over the old row, by the names of new columns.
    ///   - dropping: What the rebuild may lose.
    /// - Throws: ``TableRebuildError``; a `DatabaseError` if the database can't be read or written.
    public func rebuild(
        _ table: String,
        as definition: String,
        columns: [String: String] = [:],
        dropping: Set<RebuildLoss> = []
    ) throws {
        try rebuild(table) { name in
            try TableRebuild(
                of: name,
                as: definition,
                columns: columns,
                dropping: dropping,
                in: self
            )
        }
    }

    private func rebuild(_ table: String, _ plan: (String) throws -> TableRebuild) throws {
        let enforces = try Bool.fetchOne(self, sql: "PRAGMA foreign_keys") ?? false
        guard isInsideTransaction else {
            if enforces { try execute(sql: "PRAGMA foreign_keys = OFF") }
            let result = Result {
                // Planned under the lock under which it runs.
                try inTransaction(.immediate) {
                    try plan(table).run(in: self)
                    return .commit
                }
            }
            if enforces { try execute(sql: "PRAGMA foreign_keys = ON") }
            return try result.get()
        }
        if enforces { try checkHasNoChildren(table) }
        try plan(table).run(in: self)
    }

    private func checkHasNoChildren(_ table: String) throws {
        // > If foreign key constraints are enabled when DROP TABLE is prepared, then it performs an
        // > implicit DELETE to remove all rows from the table prior to dropping.
        // <https://www.sqlite.org/foreignkeys.html#fk_schemacommands>
        // Whether there are rows to delete doesn't matter: a step that works on an empty database
        // must work on a full one.
        let children = try String.fetchAll(
            self,
            sql: """
                SELECT DISTINCT child.name
                FROM pragma_table_list AS child, pragma_foreign_key_list(child.name) AS key
                WHERE child.schema = 'main' AND child.type = 'table'
                AND key."table" = ? COLLATE NOCASE
                ORDER BY child.name
                """,
            arguments: [table]
        )
        guard children.isEmpty else {
            throw TableRebuildError.foreignKeysAreOn(table: table, children: children)
        }
    }
}
