import GRDB
import GRDBSQLite

/// The virtual tables that can check themselves: full-text search and R-trees.
package enum VirtualTables {
    package struct Table {
        package let name: String
        /// In lower case.
        package let module: String
        /// Whether it can't tell damage, see ``VirtualTableText``.
        var cannotBeChecked = false
    }

    /// The error of the first table that can't be used at all, for example because only the app has
    /// its tokenizer.
    fileprivate static func failure(in db: Database) throws -> DatabaseError? {
        for table in try all(db) {
            let name = GRDBMigrationSQLHelpers.quoted(table.name)
            // FTS5 looks for the tokenizer when it is needed.
            let search = table.module == "fts5" ? "WHERE \(name) MATCH 'a'" : "LIMIT 0"
            do {
                _ = try Row.fetchOne(db, sql: "SELECT 1 FROM main.\(name) \(search)")
            } catch let error as DatabaseError where error.isUnexplained == false {
                return DatabaseError(resultCode: .SQLITE_ERROR, message: error.message)
            }
        }
        return nil
    }

    package static func all(_ db: Database) throws -> [Table] {
        let rows = try Row.fetchAll(
            db,
            sql: """
                SELECT name, sql FROM main.sqlite_master
                WHERE type = 'table' AND rootpage = 0 ORDER BY name
                """
        )
        return rows.compactMap { row in
            let sql: String = row[1]
            return VirtualTableText(sql).map {
                Table(name: row[0], module: $0.module, cannotBeChecked: $0.cannotBeChecked)
            }
        }
    }

    /// Runs the module's own check of a table. That of full-text search is a command that takes the
    /// write lock, and changes nothing.
    ///
    /// - Throws: A `DatabaseError` with the code `SQLITE_CORRUPT` if something is wrong.
    package static func runOwnCheck(of table: Table, in db: Database) throws {
        let name = GRDBMigrationSQLHelpers.quoted(table.name)
        switch table.module {
        case "fts5":
            // With 1, it is also compared with its content table.
            // <https://www.sqlite.org/fts5.html#the_integrity_check_command>
            try db.execute(
                sql: "INSERT INTO main.\(name) (\(name), rank) VALUES ('integrity-check', 1)"
            )
        case "fts3",
            "fts4" where !table.cannotBeChecked:
            // <https://www.sqlite.org/fts3.html#the_integrity_check_command>
            try db.execute(sql: "INSERT INTO main.\(name) (\(name)) VALUES ('integrity-check')")
        case "rtree", "rtree_i32":
            // <https://www.sqlite.org/rtree.html#integrity_checks_using_the_rtreecheck_sql_function>
            let answer = try String.fetchOne(
                db,
                sql: "SELECT rtreecheck('main', ?)",
                arguments: [table.name]
            )
            guard answer == "ok" else { throw DatabaseError(resultCode: .SQLITE_CORRUPT) }
        default:
            break
        }
    }
}

extension VirtualTables {
    /// The tables whose modules give up, since their own tables are damaged. The other tables of the
    /// database are none the worse.
    package static func damaged(in db: Database) throws -> [Table] {
        try all(db).filter { table in
            guard let name = table.name.pragmaArgument else { return false }
            do {
                _ = try String.fetchAll(db, sql: "PRAGMA main.quick_check(\(name))")
                return false
            } catch let error as DatabaseError where error.isOfModule {
                return true
            } catch is DatabaseError {
                return false
            }
        }
    }
}

extension VirtualTables {
    /// What SQLite's checks say of sound FTS4 tables without content: their index can't be compared with
    /// anything. <https://www.sqlite.org/fts3.html#contentless_fts4_tables>
    package static func findingsWithoutContent(in db: Database) throws -> Set<String> {
        let tables = try all(db).filter(\.cannotBeChecked)
        return Set(
            tables.map { table in
                "unable to validate the inverted index for FTS4 table main.\(table.name): "
                    + DatabaseError.unexplained
            }
        )
    }
}

extension VirtualTables.Table {
    /// Says that it is damaged.
    package var damage: String {
        "'\(name)' (\(module)) is damaged, or doesn't match its content"
    }
}

extension Database {
    /// Runs a check of SQLite's. Since SQLite 3.47, one that comes to a virtual table which can't be
    /// used fails without a message; this error has one.
    package func namingUnusableTables<Value>(_ body: () throws -> Value) throws -> Value {
        do {
            return try body()
        } catch let error as DatabaseError where error.isUnexplained {
            throw try VirtualTables.failure(in: self) ?? error
        }
    }
}

extension DatabaseError {
    /// Whether it may be a virtual table's module that gives up at its damaged tables. An R-tree takes a
    /// node without content for a lack of memory.
    package var isOfModule: Bool {
        extendedResultCode == .SQLITE_CORRUPT_VTAB || resultCode == .SQLITE_NOMEM
    }

    /// Whether SQLite has only a code for it. SQLCipher up to 4.18 gives it for a page that can't be
    /// decrypted, among others.
    package var isUnexplained: Bool { resultCode == .SQLITE_ERROR && message == Self.unexplained }

    /// SQLite's text for an error without its own message.
    package static let unexplained = String(
        cString: sqlite3_errstr(ResultCode.SQLITE_ERROR.rawValue)
    )
}
