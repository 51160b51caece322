import GRDB
import GRDBSQLite
import MigrationKit

/// Checks foreign keys after a step, as the step asks for it.
enum ForeignKeyCheck {
    private static let listed = 10

    /// - Parameters:
    ///   - earlier: What may remain, since it was there before the run.
    ///   - touched: Returns the tables that the step has changed, folded; `nil` if all are checked.
    /// - Throws: A `DatabaseError` of the kind `SQLITE_CONSTRAINT_FOREIGNKEY` that names the tables,
    ///   the constraint and some of the rows, but none of their values.
    static func run(
        after step: MigrationStep<Database>,
        allowing earlier: ForeignKeyViolations? = nil,
        touching touched: () throws -> Set<String>? = { nil },
        in db: Database
    ) throws {
        switch step.foreignKeyChecks {
        case .off: return
        case .immediate where try db.enforcesForeignKeys && !db.hasOpenForeignKeys: return
        case .immediate, .deferred: break
        }
        let children = try touched().map { try db.tablesWithForeignKeys(touching: $0) }
        guard children?.isEmpty != true else { return }
        try db.withLargeCache { try run(after: step, allowing: earlier, of: children, db) }
    }

    private static func run(
        after step: MigrationStep<Database>,
        allowing earlier: ForeignKeyViolations?,
        of children: [String]?,
        _ db: Database
    ) throws {
        if let earlier, try ForeignKeyViolations(db, of: children).areAmong(earlier) { return }
        guard let children else { return try refuse(db.foreignKeyViolations(), after: step, db) }
        for child in children {
            try refuse(db.foreignKeyViolations(in: child, in: "main"), after: step, db)
        }
    }

    /// Throws if there is a violation.
    private static func refuse(
        _ violations: RecordCursor<ForeignKeyViolation>,
        after step: MigrationStep<Database>,
        _ db: Database
    ) throws {
        guard let first = try violations.next() else { return }
        // The rows of a table WITHOUT ROWID have none.
        var rowIDs = [first.originRowID]
        var (count, isOnly) = (1, true)
        while let next = try violations.next() {
            // SQLite reports one constraint after the other.
            guard next.originTable == first.originTable, next.foreignKeyId == first.foreignKeyId
            else {
                isOnly = false
                break
            }
            count += 1
            if rowIDs.count < listed { rowIDs.append(next.originRowID) }
        }
        throw DatabaseError(
            resultCode: .SQLITE_CONSTRAINT_FOREIGNKEY,
            message: """
                FOREIGN KEY constraint violation - \(constraint(of: first, db)), \
                in \(rowIDs.compactMap(\.self).phrase(ofRows: count))\
                \(isOnly ? "" : "; other constraints are violated, too")\
                \(step.sourceFile.isEmpty ? "" : " (\(step.sourceFile))")
                """
        )
    }

    private static func constraint(of violation: ForeignKeyViolation, _ db: Database) -> String {
        let key = try? db.foreignKeys(on: violation.originTable)
            .first { $0.id == violation.foreignKeyId }
        func columns(_ names: [String]?) -> String {
            names.map { "(\($0.joined(separator: ", ")))" } ?? ""
        }
        return """
            from \(violation.originTable)\(columns(key?.originColumns)) \
            to \(violation.destinationTable)\(columns(key?.destinationColumns))
            """
    }
}

extension Database {
    fileprivate var enforcesForeignKeys: Bool {
        get throws { try Bool.fetchOne(self, sql: "PRAGMA foreign_keys") ?? false }
    }

    /// Whether the transaction violates constraints that are checked at the commit.
    /// <https://www.sqlite.org/c3ref/c_dbstatus_options.html>
    fileprivate var hasOpenForeignKeys: Bool {
        var (current, highest): (Int32, Int32) = (0, 0)
        sqlite3_db_status(sqliteConnection, SQLITE_DBSTATUS_DEFERRED_FKS, &current, &highest, 0)
        return current != 0
    }
}
