import CSQLCipher
import GRDB
import MigrationKitGRDB

/// Creates tables, indexes, views and triggers in the new file, and records those that can't be
/// created.
final class SchemaWriter {
    private let db: Database
    private(set) var unmade: [SalvageReport.Unmade] = []
    /// The tables of full-text indexes that were rebuilt, so nothing in them is lost.
    private(set) var remade: Set<String> = []

    init(_ db: Database) {
        self.db = db
    }

    /// Creates an object with its own SQL.
    ///
    /// - Returns: Whether it exists afterwards.
    @discardableResult
    func make(_ object: SalvagedObject) throws -> Bool {
        try attempt(object) {
            if object.name.hasPrefix("sqlite_") { return try self.makeOwn(object) }
            // Even if the schema is damaged, its SQL may only create something.
            guard let sql = object.sql, sql.contains(/(?i)^\s*CREATE\b/) else {
                throw DatabaseError(resultCode: .SQLITE_ERROR, message: "its SQL is damaged")
            }
            try Statement(self.db, sql).run()
        }
    }

    /// Makes SQLite create one of its own tables.
    private func makeOwn(_ object: SalvagedObject) throws {
        if object.name.hasPrefix("sqlite_stat") {
            // If there is nothing to analyze, this only creates the tables.
            try Statement(db, "ANALYZE sqlite_schema").run()
        }
        guard try hasTable(object.name) else {
            throw DatabaseError(resultCode: .SQLITE_ERROR, message: "this SQLite doesn't make it")
        }
    }

    private func hasTable(_ name: String) throws -> Bool {
        try Bool.fetchOne(
            db,
            sql: "SELECT 1 FROM main.sqlite_schema WHERE type = 'table' AND name = ?",
            arguments: [name]
        ) == true
    }

    /// - Returns: Whether this succeeded.
    @discardableResult
    func attempt(_ object: SalvagedObject, _ body: () throws -> Void) throws -> Bool {
        do {
            try body()
            return true
        } catch let error as DatabaseError
            where error.isRefusal || error.resultCode == .SQLITE_CORRUPT
            || object.module != nil && error.isOfModule
        {
            // The new file itself can't be damaged: it was just written.
            unmade.append(
                .init(type: object.kind.rawValue, name: object.name, reason: error.reason)
            )
            return false
        }
    }

    // MARK: - Virtual Tables

    /// Creates a virtual table on top of its shadow tables, which already have their rows.
    ///
    /// - Parameter isWhole: Whether nothing was lost; otherwise everything that can be is rebuilt.
    func makeVirtual(_ object: SalvagedObject, isWhole: Bool) throws {
        guard let module = object.module, let sql = object.sql else {
            return _ = try make(object)
        }
        let isFullText = ["fts3", "fts4", "fts5"].contains(module)
        let isContentless = sql.contains(/(?i)\bcontent\s*=\s*(''|"")/)
        try attempt(object) {
            if !isWhole, isFullText, !isContentless {
                return try self.undoing { try self.remake(object, sql, module) }
            }
            try self.undoing {
                try self.enter(object, sql)
                // Only the app may have its tokenizer. SQLite's checks of the new file would fail.
                if isFullText {
                    _ = try Statement(self.db, "SELECT 1 FROM \(object.name.quotedName)")
                }
                // What fits nothing is left out: SQLite's checks of the new file would always fail.
                guard !isWhole || module.hasPrefix("rtree") else { return }
                try self.check(object, isFullText: isFullText, module)
            }
        }
    }

    /// Checks whether a virtual table accepts its shadow tables.
    private func check(_ object: SalvagedObject, isFullText: Bool, _ module: String) throws {
        let name = object.name.quotedName
        if isFullText {
            try Statement(db, "INSERT INTO \(name) (\(name)) VALUES ('integrity-check')").run()
        } else if module.hasPrefix("rtree") {
            let finding = try String.fetchOne(
                db,
                sql: "SELECT rtreecheck('main', ?)",
                arguments: [object.name]
            )
            guard finding == "ok" else {
                throw DatabaseError(
                    resultCode: .SQLITE_ERROR,
                    message: finding?.split(separator: "\n").joined(separator: "; ")
                )
            }
        }
    }

    /// If `body` fails, undoes its changes: the shadow tables stay as ordinary tables. Each virtual
    /// table has its own transaction, since the module may fail only at its end.
    private func undoing(_ body: () throws -> Void) throws {
        try db.execute(sql: "BEGIN IMMEDIATE")
        do {
            try body()
            try db.execute(sql: "COMMIT")
        } catch {
            if db.isInsideTransaction { try db.execute(sql: "ROLLBACK") }
            try db.execute(sql: "PRAGMA writable_schema = RESET")
            throw error
        }
    }

    /// Inserts the schema entry of a virtual table whose shadow tables exist.
    private func enter(_ object: SalvagedObject, _ sql: String) throws {
        try db.execute(sql: "PRAGMA writable_schema = ON")
        try db.execute(
            sql: """
                INSERT INTO main.sqlite_schema (type, name, tbl_name, rootpage, sql)
                VALUES ('table', ?, ?, 0, ?)
                """,
            arguments: [object.name, object.name, sql]
        )
        // Reads the schema again, which fails if the SQL is damaged.
        try db.execute(sql: "PRAGMA writable_schema = RESET")
        _ = try Int.fetchOne(db, sql: "SELECT count(*) FROM main.sqlite_schema")
    }

    /// Rebuilds a full-text index from its content.
    private func remake(_ object: SalvagedObject, _ sql: String, _ module: String) throws {
        func shadow(_ suffix: String) -> String { "\(object.name)_\(suffix)" }
        func quoted(_ suffix: String) -> String { shadow(suffix).quotedName }
        let name = object.name.quotedName
        let index =
            module == "fts5"
            ? ["data", "idx", "docsize"] : ["segments", "segdir", "docsize", "stat"]
        // The index's configuration and, if it has its own, its content.
        let kept = try ["config", "content"].filter { try hasTable(shadow($0)) }
        for suffix in index {
            try db.execute(sql: "DROP TABLE IF EXISTS main.\(quoted(suffix))")
        }
        for suffix in kept {
            let aside = quoted(suffix + "_salvaged")
            try db.execute(sql: "ALTER TABLE main.\(quoted(suffix)) RENAME TO \(aside)")
        }
        try Statement(db, sql).run()
        for suffix in kept {
            let aside = quoted(suffix + "_salvaged")
            try db.execute(
                sql: suffix == "config"
                    ? """
                    INSERT OR IGNORE INTO main.\(quoted(suffix)) SELECT * FROM main.\(aside);
                    DROP TABLE main.\(aside)
                    """
                    : """
                    DROP TABLE main.\(quoted(suffix));
                    ALTER TABLE main.\(aside) RENAME TO \(quoted(suffix))
                    """
            )
        }
        try Statement(db, "INSERT INTO \(name) (\(name)) VALUES ('rebuild')").run()
        remade.formUnion(index.map(shadow))
    }
}

extension DatabaseError {
    /// SQLite's message.
    var reason: String {
        // An R-tree takes a node without content for a lack of memory.
        if isOfModule || resultCode == .SQLITE_CORRUPT { return "its tables are damaged" }
        return message ?? "SQLite \(resultCode.rawValue)"
    }
}
