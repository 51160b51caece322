import GRDB
import MigrationKitGRDB

extension VirtualTables {
    /// Runs the modules' own checks.
    ///
    /// The checks of full-text search are commands that take the write lock although they change
    /// nothing. The transaction is rolled back.
    ///
    /// - Throws: A `DatabaseError` with the code `SQLITE_BUSY` if another connection holds that
    ///   lock.
    static func check(in db: Database) throws -> VerificationOutcome {
        let tables = try all(db)
        let wantsLock = tables.contains { $0.module.hasPrefix("fts") }
        if wantsLock, db.configuration.readonly {
            return VerificationOutcome(note: "not checked: the database is open for reading only")
        }
        var outcome = VerificationOutcome()
        // At the start: a connection that already reads isn't allowed to wait for the write lock.
        try db.inTransaction(wantsLock ? .immediate : .deferred) {
            try check(tables, &outcome, db)
            return .rollback
        }
        if outcome.count > 0 {
            outcome.detail =
                "\(outcome.count) of \(tables.count) virtual tables have problems"
        }
        return outcome
    }

    /// The tables of other modules. They may have checks that only SQLite's `integrity_check` runs.
    static func ofOtherModules(in db: Database) throws -> [String] {
        let checked: Set = ["fts3", "fts4", "fts5", "rtree", "rtree_i32"]
        return try all(db).filter { !checked.contains($0.module) }.map(\.name)
    }

    private static func check(
        _ tables: [Table],
        _ outcome: inout VerificationOutcome,
        _ db: Database
    ) throws {
        let modules = Set(
            try String.fetchAll(db, sql: "SELECT lower(name) FROM pragma_module_list")
        )
        for table in tables {
            guard modules.contains(table.module) else {
                outcome.unchecked.append(SchemaNeed.module(table.module).text(about: table.name))
                continue
            }
            do {
                try runOwnCheck(of: table, in: db)
            } catch let error as DatabaseError where error.isFinding {
                if let need = error.need {
                    outcome.unchecked.append(need.text(about: table.name))
                } else {
                    outcome.add(finding(error, table))
                }
            }
        }
    }

    private static func finding(_ error: DatabaseError, _ table: Table) -> VerificationFinding {
        guard error.resultCode != .SQLITE_CORRUPT, !error.isOfModule else {
            return VerificationFinding(table.damage, table: table.name)
        }
        let reason = error.message ?? "SQLite \(error.resultCode.rawValue)"
        return VerificationFinding(
            "'\(table.name)' (\(table.module)) can't be checked: \(reason)",
            table: table.name
        )
    }
}

extension DatabaseError {
    /// Whether the error is about the table, and not about a lock, the disk or a cancellation.
    fileprivate var isFinding: Bool {
        switch resultCode {
        case .SQLITE_CORRUPT, .SQLITE_ERROR, .SQLITE_CONSTRAINT, .SQLITE_MISMATCH: true
        default: isOfModule
        }
    }
}
