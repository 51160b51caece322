import GRDB

/// Keeps the file of the rollback journal from one commit to the next, while a run lasts.
///
/// A new file and its removal for every step cost as much as all that is written into it: the
/// folder has to reach the disk as well. The mode is the connection's alone, nothing of it is in
/// the database, and a commit is as durable as before.
/// <https://www.sqlite.org/pragma.html#pragma_journal_mode>
enum KeptJournal {
    /// Runs a block in which the journal stays. It is removed afterwards, on every path.
    ///
    /// What is not in the default mode is left as it is: WAL has no such file, and the others are a
    /// host's wish.
    static func during<Value>(
        on writer: any DatabaseWriter,
        _ body: () throws -> Value
    ) throws -> Value {
        let isKept = try writer.writeWithoutTransaction { db in
            try db.journalMode == "delete" && change(to: "PERSIST", db) == "persist"
        }
        guard isKept else { return try body() }
        defer {
            writer.writeWithoutTransaction { db in
                // A step may have asked for another one. A journal that can't be removed is empty,
                // and the next transaction removes it.
                if (try? db.journalMode) == "persist" { _ = try? change(to: "DELETE", db) }
            }
        }
        return try body()
    }

    private static func change(to mode: String, _ db: Database) throws -> String? {
        try String.fetchOne(db, sql: "PRAGMA main.journal_mode = \(mode)")
    }
}
