import GRDB
import GRDBSQLite
import MigrationKitGRDB

extension TableRebuild {
    /// Runs the statements and checks what they did. If anything is wrong, nothing has changed.
    func run(in db: Database) throws {
        try db.withoutLegacyAlterTable {
            try db.inSavepoint {
                do {
                    try runAndCheck(in: db)
                } catch {
                    // A rollback makes SQLite forget the new schema, but not GRDB.
                    db.clearSchemaCache()
                    throw error
                }
                return .commit
            }
        }
    }

    private func runAndCheck(in db: Database) throws {
        let problems = try SchemaListing(of: db).problems(in: db)
        let relatives = try db.relatives(of: table)
        let before = try Contents(of: db, relatives)
        for step in steps {
            try run(step, problems, in: db)
            if step.role == .copy { try copy.check(in: db) }
        }
        try checkCompiling(steps.compactMap(\.view), problems, in: db)
        try checkSchema(in: db)
        try checkContents(since: before, relatives, in: db)
    }

    private func run(_ step: Step, _ problems: [String: String], in db: Database) throws {
        switch step.role {
        case .create:
            // The plan has created it already, with the settings of its kind.
            try db.create(step.sql, of: table, temporaryName, isOld: true)
        case .copy:
            do {
                try db.run(statement: step.sql)
            } catch let error as DatabaseError {
                let reason = error.message(about: temporaryName, as: table)
                switch error.resultCode {
                case .SQLITE_CONSTRAINT, .SQLITE_MISMATCH:
                    throw TableRebuildError.rowRefused(table: table, reason: reason)
                case .SQLITE_ERROR:
                    throw TableRebuildError.unusableDefinition(table: table, reason: reason)
                default: throw error
                }
            }
        case .exchange:
            try db.execute(step.sql, rebuilding: table)
        case .object(let object):
            do {
                try db.withDoubleQuotedStrings(true) { try db.run(statement: step.sql) }
            } catch let error as DatabaseError
                where [.SQLITE_ERROR, .SQLITE_CONSTRAINT].contains(error.resultCode)
            {
                throw TableRebuildError.brokenReference(
                    table: table,
                    from: object.title,
                    reason: error.messageWithoutValues
                )
            }
            // One by one: an error of SQLite's doesn't say in which trigger of a table it is.
            if object.kind == .trigger { try checkCompiling([object], problems, in: db) }
        }
    }

    /// Throws if a view or trigger doesn't work any more. Those of a table are created one by one,
    /// after all views.
    private func checkCompiling(
        _ objects: [SchemaObject],
        _ problems: [String: String],
        in db: Database
    ) throws {
        for object in objects where problems[object.title] == nil {
            guard let statement = try db.statement(using: object),
                let problem = db.problem(compiling: statement)
            else { continue }
            throw TableRebuildError.brokenReference(
                table: table,
                from: object.title,
                reason: problem
            )
        }
    }

    /// Compares the schema with the planned one, apart from the table's own statement.
    private func checkSchema(in db: Database) throws {
        func objects(_ schema: SchemaListing) -> Set<SchemaObject> {
            Set(schema.all.filter { $0.kind != .table || !$0.name.isSameName(as: table) })
        }
        let actual = try SchemaListing(of: db)
        guard actual.has(table: table) else {
            throw TableRebuildError.schemaDiffers(table: table, object: "table \(table)")
        }
        let difference = objects(schema).symmetricDifference(objects(actual))
        if let object = difference.min(by: { $0.title < $1.title }) {
            throw TableRebuildError.schemaDiffers(table: table, object: object.title)
        }
    }

    private func checkContents(
        since before: Contents,
        _ relatives: [String],
        in db: Database
    ) throws {
        let after = try Contents(of: db, relatives)
        for (name, count) in before.counts.sorted(by: { $0.key < $1.key })
        where after.counts[name] != count {
            throw TableRebuildError.rowsDiffer(
                table: name,
                before: count,
                after: after.counts[name] ?? 0
            )
        }
        for name in relatives {
            switch (before.violations[name], after.violations[name]) {
            case (.success(let old), .success(let new)) where new > old:
                throw TableRebuildError.foreignKeysBroken(
                    table: name,
                    reason: "rows without a parent: \(new), before the rebuild: \(old)"
                )
            case (.success, .failure(let error)):
                throw TableRebuildError.foreignKeysBroken(
                    table: name,
                    reason: error.messageWithoutValues
                )
            default: continue
            }
        }
        var (oldMarks, newMarks) = (before.marks, after.marks)
        if !keepsMark {
            oldMarks[table] = nil
            newMarks[table] = nil
        }
        guard oldMarks == newMarks else {
            throw TableRebuildError.schemaDiffers(table: table, object: "the AUTOINCREMENT mark")
        }
    }
}

extension TableRebuild.Step {
    fileprivate var view: SchemaObject? {
        guard case .object(let object) = role, object.kind == .view else { return nil }
        return object
    }
}

/// What a rebuild must not change in any table.
private struct Contents {
    /// The numbers of rows.
    let counts: [String: Int]
    /// The numbers of rows without a parent, or why SQLite can't say.
    let violations: [String: Result<Int, DatabaseError>]
    /// The marks of `AUTOINCREMENT`.
    let marks: [String: [DatabaseValue]]

    /// - Parameter relatives: The tables whose foreign keys the rebuild may break.
    init(of db: Database, _ relatives: [String]) throws {
        // Virtual tables have their rows in shadow tables, which are counted.
        let tables = try String.fetchAll(
            db,
            sql: """
                SELECT name FROM main.sqlite_schema
                WHERE type = 'table' AND rootpage > 0 AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\'
                """
        )
        counts = try tables.reduce(into: [:]) { counts, table in
            counts[table] = try Int.fetchOne(db, sql: "SELECT count(*) FROM \(table.quotedName)")
        }
        violations = relatives.reduce(into: [:]) { violations, table in
            violations[table] = Result {
                try Row.fetchAll(db, sql: "PRAGMA main.foreign_key_check(\(table.quotedName))")
                    .count
            }.mapError {
                $0 as? DatabaseError ?? DatabaseError(message: "\($0)")
            }
        }
        let hasMarks = try Bool.fetchOne(
            db,
            sql: "SELECT count(*) > 0 FROM main.sqlite_schema WHERE name = 'sqlite_sequence'"
        )
        marks =
            hasMarks == true
            ? try Row.fetchAll(db, sql: "SELECT name, seq FROM sqlite_sequence ORDER BY rowid")
                .reduce(into: [:]) { $0[$1[0] ?? "", default: []].append($1[1]) } : [:]
    }
}

extension Database {
    /// A table, and the tables that refer to it.
    fileprivate func relatives(of table: String) throws -> [String] {
        try String.fetchAll(
            self,
            sql: """
                SELECT DISTINCT child.name
                FROM pragma_table_list AS child
                LEFT JOIN pragma_foreign_key_list(child.name) AS key
                WHERE child.schema = 'main' AND child.type = 'table'
                AND (child.name = ?1 OR key."table" = ?1 COLLATE NOCASE)
                ORDER BY child.name
                """,
            arguments: [table]
        )
    }

    /// Runs a block with the meaning of `ALTER TABLE` that SQLite has since 3.26.
    /// <https://www.sqlite.org/pragma.html#pragma_legacy_alter_table>
    fileprivate func withoutLegacyAlterTable(_ body: () throws -> Void) throws {
        guard try Bool.fetchOne(self, sql: "PRAGMA legacy_alter_table") == true else {
            return try body()
        }
        try execute(sql: "PRAGMA legacy_alter_table = OFF")
        // Called directly, since GRDB runs nothing more after a transaction was aborted.
        defer { sqlite3_exec(sqliteConnection, "PRAGMA legacy_alter_table = ON", nil, nil, nil) }
        try body()
    }
}
