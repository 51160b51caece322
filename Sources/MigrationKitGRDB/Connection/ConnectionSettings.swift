import GRDB
import GRDBSQLite
import MigrationKit

/// The state of a connection that a step can change, and that would outlive it: settings, limits and
/// temporary objects. Every step begins with the same.
package struct ConnectionSettings {
    private let values: [(name: String, value: String?)]
    private let limits: [Int32]
    private let temporaryObjects: Set<String>
    private let journalMode: String?

    /// What a step can change within a transaction.
    ///
    /// Some settings that matter only to an app's own work are here, too: a step can't know what
    /// ran before it. The busy timeout isn't: setting it would remove the busy handler.
    package static func withinTransaction(of db: Database) throws -> ConnectionSettings {
        try ConnectionSettings(settings, of: db)
    }

    /// What a step can change outside of a transaction, including how commits reach the disk.
    static func outsideTransaction(of db: Database) throws -> ConnectionSettings {
        try ConnectionSettings(
            settings + ["foreign_keys", "synchronous", "temp_store"],
            of: db,
            journalMode: db.journalMode
        )
    }

    /// In this order: that of `cache_spill` depends on `cache_size`.
    private static let settings = [
        "query_only", "writable_schema", "ignore_check_constraints", "legacy_alter_table",
        "recursive_triggers", "case_sensitive_like", "reverse_unordered_selects",
        "automatic_index", "trusted_schema", "cell_size_check", "read_uncommitted", "count_changes",
        "short_column_names", "full_column_names",
        "empty_result_callbacks", "fullfsync", "checkpoint_fullfsync", "secure_delete",
        "analysis_limit", "cache_size", "cache_spill", "mmap_size", "max_page_count",
        "journal_size_limit", "wal_autocheckpoint", "locking_mode",
    ]

    private init(_ names: [String], of db: Database, journalMode: String? = nil) throws {
        values = try names.map { ($0, try db.setting($0)) }
        limits = Self.limitNumbers.map { sqlite3_limit(db.sqliteConnection, $0, -1) }
        temporaryObjects = try db.temporaryObjects()
        self.journalMode = journalMode
    }

    /// <https://www.sqlite.org/c3ref/c_limit_attached.html>
    private static let limitNumbers = SQLITE_LIMIT_LENGTH...SQLITE_LIMIT_WORKER_THREADS

    /// Restores the settings and limits that have changed.
    ///
    /// A step may choose a journal mode for the file, so that stays, unless the mode leaves no way
    /// to undo a failed transaction. <https://www.sqlite.org/pragma.html#pragma_journal_mode>
    ///
    /// - Returns: The names of the settings that the step had changed.
    @discardableResult
    package func putBack(on db: Database) -> Set<String> {
        var changed: Set<String> = []
        for (name, value) in values {
            guard let value, (try? db.setting(name)) != value else { continue }
            db.set("PRAGMA \(name) = \(value)")
            changed.insert(name)
        }
        for (number, limit) in zip(Self.limitNumbers, limits) {
            sqlite3_limit(db.sqliteConnection, number, limit)
        }
        if let journalMode, let mode = try? db.journalMode, mode != journalMode,
            ["off", "memory"].contains(mode)
        {
            db.set("PRAGMA main.journal_mode = \(journalMode)")
            changed.insert("journal_mode")
        }
        return changed
    }

    /// Drops the temporary objects that a step has left. Those that were there before it stay, and
    /// so does an empty `sqlite_sequence`, which SQLite doesn't drop.
    package func dropNewTemporaryObjects(on db: Database) throws {
        // After most steps there is nothing temporary at all.
        guard try !db.temporaryObjects().subtracting(temporaryObjects).isEmpty else { return }
        try db.dropObjects(of: "temp", except: temporaryObjects)
    }
}

extension Database {
    /// The kinds and names of the connection's temporary objects.
    func temporaryObjects() throws -> Set<String> {
        try String.fetchSet(
            cachedStatement(sql: "SELECT type || ' ' || name FROM temp.sqlite_master")
        )
    }

    /// Drops all objects of a schema that can be dropped.
    ///
    /// - Parameter kept: The kinds and names of objects that stay.
    func dropObjects(of schema: String, except kept: Set<String> = []) throws {
        // Virtual tables first: dropping them drops their shadow tables. Then the newest first,
        // which may refer to older ones.
        for type in ["trigger", "view", "table", "index"] {
            let objects = try String.fetchAll(
                self,
                sql: """
                    SELECT name FROM \(schema).sqlite_master
                    WHERE type = ? AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\'
                    ORDER BY sql LIKE 'CREATE VIRTUAL%' DESC, rowid DESC
                    """,
                arguments: [type]
            )
            for object in objects where !kept.contains("\(type) \(object)") {
                let name = GRDBMigrationSQLHelpers.quoted(object)
                try execute(sql: "DROP \(type) IF EXISTS \(schema).\(name)")
            }
        }
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
            until: [SQLITE_DONE]
        )
    }

    /// Called directly, since GRDB runs nothing more after a step's transaction was aborted.
    func set(_ pragma: String) {
        sqlite3_exec(sqliteConnection, pragma, nil, nil, nil)
    }

    /// The number that a PRAGMA returns. Called directly, because every step needs several.
    fileprivate func number(_ sql: String) throws -> Int32 {
        try execute(sql, until: [SQLITE_ROW]) { sqlite3_column_int($0, 0) }
    }

    /// What a setting is, as `PRAGMA name = value` takes it; `nil` if this database doesn't have it.
    fileprivate func setting(_ name: String) throws -> String? {
        // That PRAGMA can't be read.
        let sql =
            name == "case_sensitive_like" ? "SELECT NOT ('a' LIKE 'A')" : "PRAGMA main.\(name)"
        return try execute(sql, until: [SQLITE_ROW, SQLITE_DONE]) {
            sqlite3_column_text($0, 0).map { String(cString: $0) }
        }
    }

    @discardableResult
    private func execute<Value>(
        _ sql: String,
        until codes: [Int32],
        _ read: (OpaquePointer?) -> Value = { _ in }
    ) throws -> Value {
        var statement: OpaquePointer?
        defer { sqlite3_finalize(statement) }
        guard sqlite3_prepare_v2(sqliteConnection, sql, -1, &statement, nil) == SQLITE_OK,
            codes.contains(sqlite3_step(statement))
        else { throw DatabaseError(resultCode: lastErrorCode, message: lastErrorMessage, sql: sql) }
        return read(statement)
    }
}

// MARK: - Progress Handler

extension Database {
    /// Runs SQL during which SQLite calls back every few thousand instructions, to report progress
    /// and to allow an interruption. <https://www.sqlite.org/c3ref/progress_handler.html>
    ///
    /// - Parameters:
    ///   - count: How many instructions of SQLite's virtual machine run between two calls.
    ///   - atStatements: Whether there is also a call at every statement that changes something.
    ///     SQLite restarts the count with each statement, so thousands of short ones may never
    ///     reach `count`.
    ///   - continues: Called on the database's thread; must not use the database. Returns whether
    ///     the statement should continue.
    ///   - body: Runs the SQL.
    /// - Returns: What the body returns.
    /// - Throws: What the body throws. The error of an interrupted statement doesn't say why it was
    ///   interrupted.
    package func withProgressHandler<Value>(
        every count: Int32,
        atStatements: Bool = false,
        _ continues: () -> Bool,
        _ body: () throws -> Value
    ) throws -> Value {
        try withoutActuallyEscaping(continues) { escaping in
            let handler = ProgressHandler(on: self, every: count, escaping)
            handler.start(every: count)
            if atStatements { add(transactionObserver: handler) }
            defer {
                if atStatements { remove(transactionObserver: handler) }
                sqlite3_progress_handler(sqliteConnection, 0, nil, nil)
            }
            return try withExtendedLifetime(handler) { try body() }
        }
    }
}

/// Calls back at statements: GRDB asks its observers before every statement that changes a table.
private final class ProgressHandler: TransactionObserver {
    private unowned let db: Database
    private let count: Int32
    private let continues: () -> Bool
    private var interruptsNext = false
    private var instructions: Int32?

    init(on db: Database, every count: Int32, _ continues: @escaping () -> Bool) {
        self.db = db
        self.count = count
        self.continues = continues
    }

    func start(every count: Int32) {
        sqlite3_progress_handler(
            db.sqliteConnection,
            count,
            { context in
                guard let context else { return 0 }
                let handler = Unmanaged<ProgressHandler>.fromOpaque(context).takeUnretainedValue()
                return handler.isInterrupted() ? 1 : 0
            },
            Unmanaged.passUnretained(self).toOpaque()
        )
    }

    func observes(eventsOfKind eventKind: DatabaseEventKind) -> Bool {
        // This can't throw, but SQLite can interrupt the statement at its first instruction.
        if !continues(), !interruptsNext {
            interruptsNext = true
            instructions = 0
            start(every: 1)
        }
        return false
    }

    private func isInterrupted() -> Bool {
        if interruptsNext {
            // Only that statement: the cleanup after it must run.
            interruptsNext = false
            return true
        }
        // SQLite doesn't allow its handler to be changed from within.
        if let counted = instructions {
            instructions = (counted + 1) % count
            guard counted + 1 == count else { return false }
        }
        return !continues()
    }

    func databaseDidChange(with event: DatabaseEvent) {}
    func databaseDidCommit(_ db: Database) {}
    func databaseDidRollback(_ db: Database) {}
}

extension LongOperation {
    /// Runs SQL that reports its progress, and can be interrupted, in the middle of a statement.
    ///
    /// - Parameters:
    ///   - count: How many instructions of SQLite's virtual machine are between two looks.
    ///   - atStatements: Whether there is a look at statements that change something, too. Only
    ///     every 16th look is one at the clock and the cancellation then, so that short statements
    ///     cost nothing more.
    ///   - events: What is reported about ten times a second. It is called on the thread of the
    ///     database.
    ///   - body: Runs the SQL.
    /// - Returns: What the body returns.
    /// - Throws: A `CancellationError` if the body was interrupted; what the body throws.
    package func watching<Value>(
        _ db: Database,
        every count: Int32,
        atStatements: Bool = false,
        reporting events: () -> [Event],
        _ body: () throws -> Value
    ) throws -> Value {
        guard isWatched else { return try body() }
        var looks = 0
        func look() -> Bool {
            looks &+= 1
            return atStatements && looks % 16 != 0 || continues(reporting: events)
        }
        do {
            return try db.withProgressHandler(every: count, atStatements: atStatements, look, body)
        } catch {
            // The interrupted statement's error doesn't say why it was interrupted.
            try checkCancellation()
            throw error
        }
    }
}
