import GRDB

/// Has a run's commits reach the disk before they are reported.
///
/// With a rollback journal, a commit is the removal of the journal's file. By default SQLite doesn't
/// synchronize the folder after that, so a power cut can bring the journal back, and with it the
/// database as it was before the run. With a write-ahead log, GRDB's pools don't synchronize at all.
/// `EXTRA` does both. <https://www.sqlite.org/pragma.html#pragma_synchronous>
enum DurableCommits {
    private static let extra = 3

    /// Runs a block whose commits are durable. The connection's setting comes back on every path.
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
