import GRDB

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
