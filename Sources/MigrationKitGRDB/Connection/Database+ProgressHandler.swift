import GRDB
import GRDBSQLite

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
