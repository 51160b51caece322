import GRDB
import MigrationKit
import MigrationKitCommon

/// Keeps the rollback journal's file between commits during a run.
///
/// Creating and removing the file for every step costs as much as writing into it, since the folder
/// must be synchronized, too. The mode applies only to this connection and isn't stored in the
/// database. A commit is as durable as before.
/// <https://www.sqlite.org/pragma.html#pragma_journal_mode>
enum KeptJournal {
    /// Runs a block in which the journal is kept. It is always removed afterwards.
    ///
    /// Other journal modes are left alone: WAL has no such file, and the host chose the rest.
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
                // A step may have chosen another mode. If the journal can't be removed, it is
                // empty, and the next transaction removes it.
                if (try? db.journalMode) == "persist" { _ = try? change(to: "DELETE", db) }
            }
        }
        return try body()
    }

    private static func change(to mode: String, _ db: Database) throws -> String? {
        try String.fetchOne(db, sql: "PRAGMA main.journal_mode = \(mode)")
    }
}
