import Foundation
import GRDB
import GRDBSQLite
import MigrationKit
import MigrationKitCommon

/// Checks whether a database is structurally sound.
public enum GRDBMigrationVerifier {
    /// Runs all checks: ``verifyIntegrity(in:)``, then
    /// ``verifyRequiredIndexes(in:requiredIndexes:)``.
    ///
    /// - Parameters:
    ///   - writer: The database. It is only read. For a pool, this opens a connection with the
    ///     pool's configuration.
    ///   - requiredIndexes: The indexes that must exist.
    /// - Throws: ``GRDBMigrationVerificationError`` for the first check that fails; a
    ///   `DatabaseError` if the database can't be read.
    public static func runPostMigrationChecks(
        in writer: any DatabaseWriter,
        requiredIndexes: [RequiredIndexSpec] = []
    ) throws {
        try writer.readingWithConstraints { db in
            try verifyIntegrity(in: db)
            try verifyRequiredIndexes(in: db, requiredIndexes: requiredIndexes)
        }
    }

    /// Checks the b-trees and records, that every foreign key has its parent: the row, and the
    /// table, and that full-text tables find rows that exist, if rowids may change. A table whose schema needs a function, a collation, a module or a tokenizer that this
    /// connection doesn't have is left out.
    ///
    /// `quick_check` is `integrity_check` without comparing indexes with their tables. Its time is
    /// linear in the file's size; that of `integrity_check` is not. See
    /// <https://www.sqlite.org/pragma.html#pragma_quick_check> and
    /// <https://www.sqlite.org/pragma.html#pragma_foreign_key_check>.
    ///
    /// - Parameter db: A connection to the database. Its uncommitted changes are checked, too.
    /// - Throws: ``GRDBMigrationVerificationError/quickCheckFailed(result:)``,
    ///   ``GRDBMigrationVerificationError/missingParent(table:parent:)``,
    ///   ``GRDBMigrationVerificationError/foreignKeyViolations(count:)`` or
    ///   ``GRDBMigrationVerificationError/fullTextMismatch(table:content:)``.
    public static func verifyIntegrity(in db: Database) throws {
        try verifyStructure(in: db)
        try verifyForeignKeys(in: db)
        try verifyFullText(in: db)
    }

    /// Checks that indexes exist.
    ///
    /// Names are compared as SQLite does, ignoring the case of ASCII letters.
    ///
    /// - Parameters:
    ///   - db: A connection to the database.
    ///   - requiredIndexes: The indexes that must exist, each on its table.
    /// - Throws: ``GRDBMigrationVerificationError/missingTable(table:index:)`` or
    ///   ``GRDBMigrationVerificationError/missingIndex(table:index:)`` for the first that is missing.
    public static func verifyRequiredIndexes(
        in db: Database,
        requiredIndexes: [RequiredIndexSpec]
    ) throws {
        for required in requiredIndexes {
            guard try exists("table", required.table, on: required.table, db) else {
                throw GRDBMigrationVerificationError.missingTable(
                    table: required.table,
                    index: required.index
                )
            }
            guard try exists("index", required.index, on: required.table, db) else {
                throw GRDBMigrationVerificationError.missingIndex(
                    table: required.table,
                    index: required.index
                )
            }
        }
    }

    /// Queries SQLite, because GRDB's cached schema may be out of date.
    private static func exists(
        _ type: String,
        _ name: String,
        on table: String,
        _ db: Database
    ) throws -> Bool {
        try Bool.fetchOne(
            db,
            sql: """
                SELECT EXISTS (
                    SELECT 1 FROM sqlite_master
                    WHERE type = ? AND name = ? COLLATE NOCASE AND tbl_name = ? COLLATE NOCASE
                )
                """,
            arguments: [type, name, table]
        ) ?? false
    }

    /// - Returns: The tables that can't be checked here, each with what only the app has.
    @discardableResult
    static func verifyStructure(in db: Database) throws -> [String] {
        let (found, unchecked) = try db.quickCheck()
        guard let result = found.first else { return unchecked }
        if let error = obstacle(in: result) { throw error }
        // For findings in a page, the first line only names the database.
        let line = result.split(separator: "\n").first { !$0.hasPrefix("***") }
        throw GRDBMigrationVerificationError.quickCheckFailed(
            result: line.map(String.init) ?? result
        )
    }

    /// Checks a database without tables that has pages: if its first page is damaged, the pages are
    /// tables, and a new one would overwrite what is left of the schema.
    static func verifyEmptiness(in db: Database) throws {
        guard try Int.fetchOne(db, sql: "PRAGMA page_count") ?? 0 > 1,
            try Int.fetchOne(db, sql: "SELECT 1 FROM sqlite_schema LIMIT 1") == nil
        else { return }
        try verifyStructure(in: db)
    }

    /// The error that kept SQLite from checking a page. SQLite reports it as damage: to read a
    /// page, it may have to write others, and the disk may be full.
    private static func obstacle(in result: String) -> DatabaseError? {
        guard let code = result.firstMatch(of: /unable to get the page. error code=(\d+)/),
            let number = Int32(code.1)
        else { return nil }
        let resultCode = ResultCode(rawValue: number)
        switch resultCode.primaryResultCode {
        case .SQLITE_FULL, .SQLITE_IOERR, .SQLITE_NOMEM, .SQLITE_BUSY, .SQLITE_INTERRUPT:
            return DatabaseError(
                resultCode: resultCode,
                message: String(cString: sqlite3_errstr(number))
            )
        default:
            return nil
        }
    }

    static func verifyForeignKeys(in db: Database) throws {
        if let missing = try missingParents(in: db).first { throw missing.error }
        var count = 0
        let violations = try Row.fetchCursor(db, sql: "PRAGMA foreign_key_check")
        while try violations.next() != nil {
            count += 1
        }
        guard count == 0 else {
            throw GRDBMigrationVerificationError.foreignKeyViolations(count: count)
        }
    }
}

// MARK: - Missing Parents

/// A table's reference to a table that doesn't exist.
struct MissingParent: Hashable {
    let table: String
    let parent: String

    var error: GRDBMigrationVerificationError { .missingParent(table: table, parent: parent) }
}

extension GRDBMigrationVerifier {
    /// The references to tables that don't exist. `foreign_key_check` finds them only where a row
    /// refers to something. <https://www.sqlite.org/foreignkeys.html#fk_schemaerrors>
    static func missingParents(in db: Database) throws -> [MissingParent] {
        try Row.fetchAll(
            db,
            sql: """
                SELECT DISTINCT child.name, key."table" \(Database.fromForeignKeys)
                    AND key."table" COLLATE NOCASE NOT IN (
                        SELECT name FROM main.sqlite_master WHERE type IN ('table', 'view')
                    )
                ORDER BY 1, 2
                """
        ).map { MissingParent(table: $0[0], parent: $0[1]) }
    }
}
