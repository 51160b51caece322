import GRDB
import GRDBSQLite

/// The connection settings that a run relies on. If a step changes them, they are restored.
struct ConnectionSettings {
    private let values: [(name: String, value: Int32)]
    private let journalMode: String?

    /// The settings that a step can change within a transaction.
    static func withinTransaction(of db: Database) throws -> ConnectionSettings {
        try ConnectionSettings(["ignore_check_constraints", "writable_schema"], of: db)
    }

    /// The settings that a step can change outside of a transaction, including how commits reach
    /// the disk.
    static func outsideTransaction(of db: Database) throws -> ConnectionSettings {
        try ConnectionSettings(
            [
                "ignore_check_constraints", "writable_schema", "foreign_keys", "synchronous",
                "temp_store",
            ],
            of: db,
            journalMode: db.journalMode
        )
    }

    private init(_ names: [String], of db: Database, journalMode: String? = nil) throws {
        values = try names.map { ($0, try db.number("PRAGMA \($0)")) }
        self.journalMode = journalMode
    }

    /// Restores what has changed.
    ///
    /// A step may choose a journal mode for the file, so that stays, unless the mode leaves no way
    /// to undo a failed transaction. <https://www.sqlite.org/pragma.html#pragma_journal_mode>
    ///
    /// - Returns: The names of the settings that the step had changed.
    @discardableResult
    func putBack(on db: Database) -> Set<String> {
        var changed: Set<String> = []
        for (name, value) in values where (try? db.number("PRAGMA \(name)")) != value {
            db.set("PRAGMA \(name) = \(value)")
            changed.insert(name)
        }
        if let journalMode, let mode = try? db.journalMode, mode != journalMode,
            ["off", "memory"].contains(mode)
        {
            db.set("PRAGMA main.journal_mode = \(journalMode)")
            changed.insert("journal_mode")
        }
        return changed
    }
}

extension Database {
    var journalMode: String? {
        get throws { try String.fetchOne(self, sql: "PRAGMA main.journal_mode") }
    }

    /// Whether SQL may write to `sqlite_schema`.
    var hasWritableSchema: Bool { (try? number("PRAGMA writable_schema")) != 0 }

    /// Fixes the journal mode until the transaction ends, which SQLite does once a page has
    /// changed. Otherwise a step could turn the journal off, and its changes could not be undone.
    ///
    /// This changes the first page, as every commit does.
    func holdJournalMode() throws {
        // An error may have ended the transaction, and the step would be blamed for it.
        try execute(
            "PRAGMA main.user_version = \(try number("PRAGMA main.user_version"))",
            until: SQLITE_DONE
        )
    }

    /// Called directly, since GRDB runs nothing more after a step's transaction was aborted.
    fileprivate func set(_ pragma: String) {
        sqlite3_exec(sqliteConnection, pragma, nil, nil, nil)
    }

    /// The number that a PRAGMA returns. Called directly, because every step needs several.
    fileprivate func number(_ sql: String) throws -> Int32 {
        try execute(sql, until: SQLITE_ROW) { sqlite3_column_int($0, 0) }
    }

    @discardableResult
    private func execute<Value>(
        _ sql: String,
        until code: Int32,
        _ read: (OpaquePointer?) -> Value = { _ in }
    ) throws -> Value {
        var statement: OpaquePointer?
        defer { sqlite3_finalize(statement) }
        guard sqlite3_prepare_v2(sqliteConnection, sql, -1, &statement, nil) == SQLITE_OK,
            sqlite3_step(statement) == code
        else { throw DatabaseError(resultCode: lastErrorCode, message: lastErrorMessage, sql: sql) }
        return read(statement)
    }
}
