import Dispatch
import GRDB
import GRDBSQLite
import MigrationKit

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

// MARK: - Blocking Work

/// Runs work on its own thread: Swift's tasks share few threads, which must not block.
///
/// It has its own queue. On Linux, tasks run on the threads of the global queues, so blocking those
/// could keep the task that cancels the work from running.
///
/// - Parameters:
///   - cancel: Asks the work to end if the task is cancelled.
///   - work: The work. It may block.
/// - Returns: What the work returns.
/// - Throws: What the work throws.
package func blocking<Value: Sendable>(
    cancellingBy cancel: @escaping @Sendable () -> Void = {},
    _ work: @escaping @Sendable () throws -> Value
) async throws -> Value {
    try await withTaskCancellationHandler {
        try await withCheckedThrowingContinuation { continuation in
            DispatchQueue(label: "MigrationKit.blocking").async {
                continuation.resume(with: Result { try work() })
            }
        }
    } onCancel: {
        cancel()
    }
}

/// Runs a long call on a thread of its own, and cancels it if the task is cancelled.
///
/// - Parameters:
///   - call: The call with its options. If they have no cancellation, it gets one.
///   - options: Where the options are.
///   - work: Makes the call, which may block.
package func blocking<Call: Sendable, Options: OperationOptions, Value: Sendable>(
    _ call: Call,
    _ options: WritableKeyPath<Call, Options>,
    _ work: @escaping @Sendable (Call) throws -> Value
) async throws -> Value {
    var call = call
    let cancellation = call[keyPath: options].cancellation ?? Cancellation()
    call[keyPath: options].cancellation = cancellation
    return try await blocking(cancellingBy: cancellation.cancel) { [call] in try work(call) }
}
