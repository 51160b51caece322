import GRDB
import MigrationKit

/// What a check has found.
public struct CheckViolations: Equatable, Sendable {
    /// The check's name.
    public let check: String

    /// How many rows it returned.
    public let count: Int

    /// The first ten rows by their `rowid`, if the check selects it.
    public let rowIDs: [Int64]

    /// Creates what a check has found.
    ///
    /// - Parameters:
    ///   - check: The check's name.
    ///   - count: How many rows it returned.
    ///   - rowIDs: The first rows by their `rowid`.
    public init(check: String, count: Int, rowIDs: [Int64] = []) {
        self.check = check
        self.count = count
        self.rowIDs = rowIDs
    }

    /// For example `3 rows: rowid 4, 7, 9`.
    package var rows: String { rowIDs.phrase(ofRows: count) }
}

extension [Int64] {
    /// Names rows by their rowids, such as `3 rows: rowid 4, 7, 9`.
    ///
    /// - Parameter count: How many rows there are, perhaps more than are named.
    func phrase(ofRows count: Int) -> String {
        let rows = count == 1 ? "1 row" : "\(count) rows"
        guard !isEmpty else { return rows }
        let list = map(String.init).joined(separator: ", ")
        return "\(rows): rowid \(list)\(self.count < count ? " and more" : "")"
    }
}

// MARK: - Running Checks

extension CheckQuery {
    /// How many violations are named.
    private static let listed = 10

    /// Throws if the SQL can't be run as a check. Nothing is compiled.
    ///
    /// - Throws: ``GRDBMigrationVerificationError/unusableCheck(name:reason:)``.
    func checkIsQuery() throws {
        guard Self.isQuery(sql) else { throw unusable("it must be a SELECT, and only read") }
    }

    /// Runs the query. It can't write, even by a function.
    ///
    /// - Returns: `nil` if it returns no row.
    /// - Throws: ``GRDBMigrationVerificationError/unusableCheck(name:reason:)`` if SQLite refuses the
    ///   query; a `DatabaseError` if the database can't be read.
    func violations(in db: Database) throws -> CheckViolations? {
        try checkIsQuery()
        return try db.readOnly {
            let statement = try compiled(in: db)
            let namesRows = selectsRowID || statement.columnNames.first?.lowercased() == "rowid"
            var (count, rowIDs): (Int, [Int64]) = (0, [])
            do {
                let rows = try Row.fetchCursor(statement)
                while let row = try rows.next() {
                    count += 1
                    guard namesRows, rowIDs.count < Self.listed,
                        case .int64(let rowID) = (row[0] as DatabaseValue).storage
                    else { continue }
                    rowIDs.append(rowID)
                }
            } catch let error as DatabaseError where error.isOfQuery {
                // The message may have a value of a row, even as the name of a column.
                throw unusable("SQLite stopped at a row: \(error.resultCode)")
            }
            return count == 0 ? nil : CheckViolations(check: name, count: count, rowIDs: rowIDs)
        }
    }

    /// The query as a statement that only reads. Messages of SQLite are about its text here.
    private func compiled(in db: Database) throws -> Statement {
        do {
            let statement = try db.onlyStatement(of: sql)
            guard statement.isReadonly else { throw unusable("it writes") }
            try statement.validateArguments([])
            return statement
        } catch let error as DatabaseError where error.isOfQuery {
            throw unusable(error.messageWithoutValues)
        }
    }

    private func unusable(_ reason: String) -> GRDBMigrationVerificationError {
        let place = place?.description
        let prefix = place == name ? "" : place.map { "\($0): " } ?? ""
        return .unusableCheck(name: name, reason: prefix + reason)
    }
}

extension DatabaseError {
    /// Whether the query is the reason, or a row that it reads, and not the file or the machine.
    fileprivate var isOfQuery: Bool {
        [
            .SQLITE_ERROR, .SQLITE_MISUSE, .SQLITE_READONLY, .SQLITE_MISMATCH, .SQLITE_TOOBIG,
            .SQLITE_RANGE, .SQLITE_CONSTRAINT,
        ].contains(resultCode)
    }
}

extension [CheckQuery] {
    /// Runs the checks in order.
    ///
    /// - Parameter error: The error for a check that found rows.
    func run(
        in db: Database,
        else error: (CheckViolations) -> GRDBMigrationVerificationError
    ) throws {
        for check in self {
            if let violations = try check.violations(in: db) { throw error(violations) }
        }
    }
}

extension MigrationStep<Database> {
    /// Performs the change, after what it requires and before what it checks.
    func applyChecked(_ db: Database, merging applied: Set<String>) throws {
        try requirements.run(in: db) { .requirementFailed(step: identifier, $0) }
        try applyMerging(db, applied)
        try checks.run(in: db) { .checkFailed($0) }
    }
}
