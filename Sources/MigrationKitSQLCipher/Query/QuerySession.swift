import CSQLCipher
import GRDB

/// A connection on which a person's own SQL runs.
///
/// Whatever the SQL says, it can't reach another file, load a library, change the key or how the file
/// is written, change the schema or end the transaction around it. With ``Access/reading`` it changes
/// nothing at all.
package final class QuerySession {
    /// What the SQL may do.
    package enum Access: Equatable, Sendable {
        case reading
        /// Rows may be added, changed and removed, but not those of the record of migrations.
        case changingRows
    }

    private let connection: OpaquePointer?
    private let access: Access
    private let guardian: QueryGuard

    /// Runs a block with a session on a connection. Afterwards the connection is as it was, except
    /// that it stays protected against SQL that breaks the file.
    ///
    /// - Parameters:
    ///   - db: The connection.
    ///   - access: What the SQL may do.
    ///   - largestValue: The largest text or blob, in bytes, that a statement may make or read.
    ///   - body: Uses the session.
    package static func run<Value>(
        on db: Database,
        access: Access,
        largestValue: Int,
        _ body: (QuerySession) throws -> Value
    ) throws -> Value {
        let session = QuerySession(db.sqliteConnection, access)
        try session.begin(largestValue)
        defer { session.end() }
        return try body(session)
    }

    private init(_ connection: OpaquePointer?, _ access: Access) {
        self.connection = connection
        self.access = access
        guardian = QueryGuard(access)
    }

    private func begin(_ largestValue: Int) throws {
        let code = csqlcipher_protect(connection)
        guard code == SQLITE_OK else { throw failure(code) }
        sqlite3_limit(connection, SQLITE_LIMIT_ATTACHED, 0)
        sqlite3_limit(connection, SQLITE_LIMIT_LENGTH, Int32(clamping: largestValue))
        if access == .reading { try run("PRAGMA query_only = ON") }
        guardian.start(on: connection)
    }

    private func end() {
        sqlite3_set_authorizer(connection, nil, nil)
        if access == .reading { try? run("PRAGMA query_only = OFF") }
    }

    // MARK: - Statements

    /// The first statement of an SQL text, and where the next one begins.
    ///
    /// - Parameters:
    ///   - sql: The whole text, without zero bytes.
    ///   - offset: Where to begin, in bytes of UTF-8.
    /// - Returns: `nil` for the statement if only comments and spaces are left.
    /// - Throws: A ``QueryError``; a `DatabaseError` for anything that is not about the SQL.
    package func prepare(
        _ sql: String,
        from offset: Int
    ) throws -> (statement: QueryStatement?, next: Int) {
        guardian.reset()
        var sql = sql
        var compiled: OpaquePointer?
        let (code, next) = sql.withUTF8 { text in
            var end: UnsafePointer<CChar>?
            let start = text.baseAddress.map { UnsafeRawPointer($0 + offset) }
            let code = sqlite3_prepare_v2(
                connection,
                start?.assumingMemoryBound(to: CChar.self),
                Int32(clamping: text.count - offset),
                &compiled,
                &end
            )
            guard let end, let start else { return (code, text.count) }
            return (code, offset + (UnsafeRawPointer(end) - start))
        }
        guard code == SQLITE_OK else {
            if let refusal = guardian.refusal { throw QueryError.refused(refusal) }
            guard ErrorOrigin(code) == .statement else { throw failure(code) }
            let place = Int(sqlite3_error_offset(connection))
            throw QueryError.invalid(message, line: line(of: offset + max(0, place), in: sql))
        }
        guard let compiled else { return (nil, next) }
        let statement = QueryStatement(compiled, of: self)
        if !statement.isReadOnly, access == .reading || !guardian.changesRows {
            // What writes without changing a row is VACUUM.
            throw QueryError.refused(guardian.changesRows ? .write : .schema)
        }
        return (statement, next)
    }

    /// The line of a place in a text of several lines.
    private func line(of offset: Int, in sql: String) -> Int? {
        let text = sql.utf8
        guard text.contains(UInt8(ascii: "\n")) else { return nil }
        return 1 + text.prefix(offset).count { $0 == UInt8(ascii: "\n") }
    }

    /// What SQLite's last error says.
    private var message: String { String(cString: sqlite3_errmsg(connection)) }

    /// An error of the file, the disk or another process.
    func failure(_ code: Int32) -> any Error {
        code & 0xff == SQLITE_INTERRUPT
            ? CancellationError()
            : DatabaseError(resultCode: ResultCode(rawValue: code), message: message)
    }

    /// The error of a statement that was running.
    func runFailure(_ code: Int32) -> any Error {
        switch (code & 0xff, access) {
        case (SQLITE_READONLY, .reading): QueryError.refused(.write)
        case (SQLITE_TOOBIG, _): QueryError.tooLarge
        // A virtual table compiles statements while it runs.
        case (SQLITE_AUTH, _): guardian.refusal.map(QueryError.refused) ?? failure(code)
        default:
            ErrorOrigin(code) == .statement ? QueryError.failed(message) : failure(code)
        }
    }

    // MARK: - Changes

    /// The rows that the last statement has changed itself.
    package var changes: Int { Int(sqlite3_changes64(connection)) }

    /// The rows that all statements of the connection have changed, with what triggers and foreign
    /// keys did.
    package var totalChanges: Int { Int(sqlite3_total_changes64(connection)) }

    /// Runs a block in a transaction that enforces foreign keys.
    ///
    /// - Parameters:
    ///   - keeps: Whether the changes are kept if the block succeeds.
    ///   - body: Makes the changes.
    /// - Throws: What the block throws; ``QueryError/foreignKeys`` if the changes leave a reference to
    ///   a row that doesn't exist. The changes are undone.
    package func transaction<Value>(keeping keeps: Bool, _ body: () throws -> Value) throws -> Value
    {
        sqlite3_set_authorizer(connection, nil, nil)
        try run("PRAGMA foreign_keys = ON")
        try run("BEGIN IMMEDIATE")
        guardian.start(on: connection)
        let result = Result { try body() }
        sqlite3_set_authorizer(connection, nil, nil)
        do {
            let value = try result.get()
            // As the commit would find it, but a dry run has none.
            guard !hasOpenForeignKeys else { throw QueryError.foreignKeys }
            try run(keeps ? "COMMIT" : "ROLLBACK")
            return value
        } catch {
            // SQLite itself ends the transaction if the disk is full, for example.
            if sqlite3_get_autocommit(connection) == 0 { try? run("ROLLBACK") }
            throw error
        }
    }

    /// Whether the transaction violates constraints that are checked at the commit.
    /// <https://www.sqlite.org/c3ref/c_dbstatus_options.html>
    private var hasOpenForeignKeys: Bool {
        var (current, highest): (Int32, Int32) = (0, 0)
        sqlite3_db_status(connection, SQLITE_DBSTATUS_DEFERRED_FKS, &current, &highest, 0)
        return current != 0
    }

    private func run(_ sql: String) throws {
        let code = sqlite3_exec(connection, sql, nil, nil, nil)
        guard code == SQLITE_OK else { throw failure(code) }
    }
}

/// Whether an error comes from the SQL, or from the file, the disk, the memory or another process.
private enum ErrorOrigin {
    case statement, surroundings

    init(_ code: Int32) {
        switch code & 0xff {
        case SQLITE_ERROR, SQLITE_CONSTRAINT, SQLITE_MISMATCH, SQLITE_RANGE, SQLITE_TOOBIG,
            SQLITE_MISUSE:
            self = .statement
        default: self = .surroundings
        }
    }
}
