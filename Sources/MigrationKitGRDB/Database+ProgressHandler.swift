import GRDB
import GRDBSQLite

extension Database {
    /// Runs SQL during which SQLite calls back every few thousand instructions: to give a sign of
    /// life, and to be interrupted. <https://www.sqlite.org/c3ref/progress_handler.html>
    ///
    /// - Parameters:
    ///   - count: How many instructions of SQLite's virtual machine are between two calls.
    ///   - continues: Is called on the thread of the database, and must not use it. Whether the
    ///     statement is to go on.
    ///   - body: Runs the SQL.
    /// - Returns: What the body returns.
    /// - Throws: What the body throws; for a statement that was interrupted, that says nothing about
    ///   why it was.
    package func withProgressHandler<Value>(
        every count: Int32,
        _ continues: () -> Bool,
        _ body: () throws -> Value
    ) throws -> Value {
        try withoutActuallyEscaping(continues) { escaping in
            let handler = ProgressHandler(escaping)
            sqlite3_progress_handler(
                sqliteConnection,
                count,
                { context in
                    guard let context else { return 0 }
                    let handler = Unmanaged<ProgressHandler>.fromOpaque(context)
                        .takeUnretainedValue()
                    return handler.continues() ? 0 : 1
                },
                Unmanaged.passUnretained(handler).toOpaque()
            )
            defer {
                sqlite3_progress_handler(sqliteConnection, 0, nil, nil)
                withExtendedLifetime(handler) {}
            }
            return try body()
        }
    }
}

private final class ProgressHandler {
    let continues: () -> Bool

    init(_ continues: @escaping () -> Bool) {
        self.continues = continues
    }
}
