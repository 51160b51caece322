import GRDB
import GRDBSQLite

/// Runs a step's closure, and records the statements that it runs.
enum TracedClosure {
    struct Result {
        /// The statements in order, with the values bound to them.
        let statements: [String]

        /// What the closure throws.
        let error: (any Error)?

        /// Whether it was stopped since it took too long.
        let isStopped: Bool
    }

    /// - Parameters:
    ///   - queue: A database of its own, which keeps what the closure does.
    ///   - setup: The SQL that begins the step.
    ///   - budget: How much it may do.
    ///   - body: The closure.
    static func run(
        on queue: DatabaseQueue,
        beginning setup: [String],
        _ budget: StepBudget,
        _ body: (Database) throws -> Void
    ) -> Result {
        queue.inDatabase { db in
            let trace = StatementTrace(budget)
            for sql in setup { try? db.execute(sql: sql) }
            trace.begin(on: db)
            let result = Swift.Result { try db.withSchemaSource(nil) { try body(db) } }
            trace.end(on: db)
            if db.isInsideTransaction { try? db.commit() }
            if db.isInsideTransaction { try? db.rollback() }
            var failure: (any Error)?
            if case .failure(let error) = result { failure = error }
            // A statement that SQLite doesn't compile never runs, and so isn't traced.
            if let sql = (failure as? DatabaseError)?.sql, (try? db.makeStatement(sql: sql)) == nil
            {
                trace.statements.append(sql)
            }
            return Result(
                statements: trace.statements,
                error: failure,
                isStopped: trace.isStopped
            )
        }
    }
}

/// What the connection's callbacks need.
private final class StatementTrace {
    var statements: [String] = []
    private(set) var isStopped = false
    private var meter: StepMeter
    private var running: Set<OpaquePointer> = []

    init(_ budget: StepBudget) { meter = StepMeter(budget) }

    func begin(on db: Database) {
        let context = Unmanaged.passUnretained(self).toOpaque()
        sqlite3_trace_v2(
            db.sqliteConnection,
            UInt32(SQLITE_TRACE_STMT | SQLITE_TRACE_PROFILE),
            { kind, context, statement, text in
                guard let context, let statement else { return 0 }
                let trace = Unmanaged<StatementTrace>.fromOpaque(context).takeUnretainedValue()
                trace.note(Int32(bitPattern: kind), OpaquePointer(statement), text)
                return 0
            },
            context
        )
        sqlite3_progress_handler(
            db.sqliteConnection,
            StepBudget.instructions,
            { context in
                guard let context else { return 0 }
                let trace = Unmanaged<StatementTrace>.fromOpaque(context).takeUnretainedValue()
                return trace.checkTime() ? 1 : 0
            },
            context
        )
    }

    func end(on db: Database) {
        sqlite3_trace_v2(db.sqliteConnection, 0, nil, nil)
        sqlite3_progress_handler(db.sqliteConnection, 0, nil, nil)
    }

    /// SQLite also reports the programs of triggers and foreign keys, which run within the same
    /// statement, and the statements of virtual tables, with a text of their own.
    /// <https://www.sqlite.org/c3ref/c_trace.html>
    private func note(_ kind: Int32, _ statement: OpaquePointer, _ text: UnsafeMutableRawPointer?) {
        guard kind == SQLITE_TRACE_STMT else {
            running.remove(statement)
            return
        }
        let isOwnText = text.map { UnsafePointer($0.assumingMemoryBound(to: CChar.self)) }
            .map { $0 == sqlite3_sql(statement) }
        guard isOwnText ?? false, running.insert(statement).inserted else { return }
        if meter.isOverAfterStatement() { isStopped = true }
        if isStopped { sqlite3_interrupt(sqlite3_db_handle(statement)) }
        guard let expanded = sqlite3_expanded_sql(statement) else { return }
        defer { sqlite3_free(expanded) }
        statements.append(String(cString: expanded))
    }

    private func checkTime() -> Bool {
        if meter.isOver() { isStopped = true }
        return isStopped
    }
}
