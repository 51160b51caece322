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

// MARK: - Durable Commits

/// Makes a run's commits reach the disk before they are reported.
///
/// With a rollback journal, removing the journal file is the commit. By default SQLite doesn't
/// synchronize the folder after that, so a power cut can bring the journal back, and undo the
/// commit. With a write-ahead log, GRDB's pools don't synchronize at all. `EXTRA` does both.
/// <https://www.sqlite.org/pragma.html#pragma_synchronous>
///
/// `EXTRA` also makes synchronizations that not every transaction needs. No lower level omits only
/// those, so they stay:
/// - The pages in a journal, before their count is written into its header. In a new journal, the
///   checksums would be enough. In one that is kept (``KeptJournal``), pages of the last
///   transaction would be taken for pages of this one.
/// - The header of a write-ahead log, before the first commit. In a new log, nothing follows it. In
///   a log that is restarted, the old header would make old commits valid again.
///   <https://sqlite.org/src/info/ff5be73dee>
/// - The folder, with the first synchronization of each journal or log that SQLite opens. It can't
///   see whether the file is new.
/// - Each commit in the middle of a run, although the next one covers it: an event has already
///   reported its step as done. Also the last commit in a log that is moved into the file at the
///   end: that happens only if no other program has the database open.
/// - The last commits in a log, before it is moved into the file, even if they were synchronized: a
///   program with `synchronous = NORMAL` leaves that to the program that moves them.
/// - The database's file, after the log was moved into it. The log still has everything until it is
///   restarted.
enum DurableCommits {
    private static let extra = 3

    /// Runs a block whose commits are durable. The connection's setting is always restored.
    static func during<Value>(
        on writer: any DatabaseWriter,
        _ body: () throws -> Value
    ) throws -> Value {
        let level = try writer.writeWithoutTransaction { db in
            let level = try Int.fetchOne(db, sql: "PRAGMA main.synchronous") ?? extra
            if level != extra { try db.execute(sql: "PRAGMA main.synchronous = \(extra)") }
            return level
        }
        guard level != extra else { return try body() }
        defer {
            writer.writeWithoutTransaction { db in
                try? db.execute(sql: "PRAGMA main.synchronous = \(level)")
            }
        }
        return try body()
    }
}
