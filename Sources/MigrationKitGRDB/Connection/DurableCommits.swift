import GRDB

/// Has a run's commits reach the disk before they are reported.
///
/// With a rollback journal, a commit is the removal of the journal's file. By default SQLite doesn't
/// synchronize the folder after that, so a power cut can bring the journal back, and with it the
/// database as it was before the run. With a write-ahead log, GRDB's pools don't synchronize at all.
/// `EXTRA` does both. <https://www.sqlite.org/pragma.html#pragma_synchronous>
///
/// `EXTRA` also brings synchronizations that not every transaction needs. No lower level leaves them
/// out and keeps the others, so they stay:
/// - The pages in a journal, before their count is written into its header. In a new journal the
///   checksums alone would do. In one that is kept (``KeptJournal``), pages of the last
///   transaction would be taken for those of this one.
/// - The header of a write-ahead log, before the first commit. In a new log nothing is behind it.
///   In one that is begun anew, the old header would make old commits valid again.
///   <https://sqlite.org/src/info/ff5be73dee>
/// - The folder, with the first synchronization of each journal or log that SQLite opens. It can't
///   see whether the file is new.
/// - Each commit in the middle of a run, although the next one covers it: an event has reported its
///   step as done. And the last one in a log that is moved into the file at the end: that happens
///   only if no other program has the database open.
/// - The last commits in a log, before it is moved into the file, even if they were synchronized: a
///   program with `synchronous = NORMAL` leaves that to the program that moves them.
/// - The database's file, after the log was moved into it. As long as the log isn't begun anew, it
///   still has everything.
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
