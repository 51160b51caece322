import CSQLCipher
import GRDB

/// Makes tables, indexes, views and triggers in the new file, and notes those that can't be made.
final class SchemaWriter {
    private let db: Database
    private(set) var unmade: [SalvageReport.Unmade] = []
    /// The tables of full-text indexes that were rebuilt, so nothing in them is lost.
    private(set) var remade: Set<String> = []

    init(_ db: Database) {
        self.db = db
    }

    /// Makes an object by its own SQL.
    ///
    /// - Returns: Whether it is there then.
    @discardableResult
    func make(_ object: SchemaObject) throws -> Bool {
        try attempt(object) {
            if object.name.hasPrefix("sqlite_") { return try self.makeOwn(object) }
            // Whatever a damaged schema says, it makes something and does nothing else.
            guard let sql = object.sql, sql.contains(/(?i)^\s*CREATE\b/) else {
                throw DatabaseError(resultCode: .SQLITE_ERROR, message: "its SQL is damaged")
            }
            try Statement(self.db, sql).run()
        }
    }

    /// Makes a table of SQLite's own, which it makes itself.
    private func makeOwn(_ object: SchemaObject) throws {
        if object.name.hasPrefix("sqlite_stat") {
            // Without anything to analyze it makes the tables only.
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

    /// - Returns: Whether it worked.
    @discardableResult
    func attempt(_ object: SchemaObject, _ body: () throws -> Void) throws -> Bool {
        do {
            try body()
            return true
        } catch let error as DatabaseError where error.isRefusal || error.isOfVirtualTable {
            unmade.append(
                .init(
                    type: object.kind.rawValue,
                    name: object.name,
                    reason: error.message ?? "SQLite \(error.resultCode.rawValue)"
                )
            )
            return false
        }
    }

    // MARK: - Virtual Tables

    /// Makes a virtual table over its shadow tables, which are there with their rows.
    ///
    /// - Parameter isWhole: Whether nothing was lost; otherwise whatever can be is rebuilt.
    func makeVirtual(_ object: SchemaObject, isWhole: Bool) throws {
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
                guard !isWhole else { return }
                try self.check(object, isFullText: isFullText, module)
            }
        }
    }

    /// Looks whether a virtual table finds its shadow tables in order.
    private func check(_ object: SchemaObject, isFullText: Bool, _ module: String) throws {
        let name = object.name.quotedName
        if isFullText {
            try Statement(db, "INSERT INTO \(name) (\(name)) VALUES ('integrity-check')").run()
        } else if module == "rtree" {
            let finding = try String.fetchOne(
                db,
                sql: "SELECT rtreecheck('main', ?)",
                arguments: [object.name]
            )
            guard finding == "ok" else {
                throw DatabaseError(resultCode: .SQLITE_ERROR, message: finding)
            }
        }
    }

    /// Undoes what was begun where it fails: the shadow tables stay, as ordinary ones. Each virtual
    /// table has a transaction of its own, since the module may find out no earlier than at its end.
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

    /// Writes the entry of a virtual table whose shadow tables are there.
    private func enter(_ object: SchemaObject, _ sql: String) throws {
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
    private func remake(_ object: SchemaObject, _ sql: String, _ module: String) throws {
        func shadow(_ suffix: String) -> String { "\(object.name)_\(suffix)" }
        func quoted(_ suffix: String) -> String { shadow(suffix).quotedName }
        let name = object.name.quotedName
        let index =
            module == "fts5"
            ? ["data", "idx", "docsize"] : ["segments", "segdir", "docsize", "stat"]
        // What was set for the index, and what it is made of, where it has content of its own.
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
    /// Whether it is a virtual table that finds its own tables damaged: the file itself was made
    /// just now.
    fileprivate var isOfVirtualTable: Bool { resultCode == .SQLITE_CORRUPT }
}
