import Foundation
import GRDB
import GRDBSQLite

extension Configuration {
    /// For a further connection, which waits for nobody, and has a thread of its own.
    package var forReadingAlongside: Configuration {
        var configuration = self
        configuration.busyMode = .immediateError
        // On a queue that is given, the connection that is there may be at work.
        configuration.targetQueue = nil
        configuration.writeTargetQueue = nil
        return configuration
    }
}

extension DatabaseWriter {
    /// The path of a database that is large enough for several connections to save time; `nil` for
    /// one that is not, or that no second connection can be opened to.
    func largeFile() throws -> String? {
        switch self {
        case is DatabasePool: break
        // In a URI there may be more than a name.
        case let queue as DatabaseQueue where !queue.path.hasPrefix("file:"): break
        default: return nil
        }
        return try unsafeRead { db in
            // Others don't see what isn't committed.
            guard !db.isInsideTransaction, let path = db.filePath else { return nil }
            let pageSize = try Int.fetchOne(db, sql: "PRAGMA main.page_size") ?? 0
            let pageCount = try Int.fetchOne(db, sql: "PRAGMA main.page_count") ?? 0
            return pageSize * pageCount >= 4 << 20 ? path : nil
        }
    }
}

extension Database {
    /// The absolute path of the file; `nil` for a database that is in memory.
    package var filePath: String? {
        let name = sqlite3_db_filename(sqliteConnection, "main").map { String(cString: $0) }
        return name?.hasPrefix("/") == true ? name : nil
    }

    /// Whether the file still has the name by which it was opened.
    /// <https://www.sqlite.org/c3ref/c_fcntl_begin_atomic_write.html>
    var hasFile: Bool {
        var hasMoved: Int32 = 0
        let code = sqlite3_file_control(
            sqliteConnection,
            "main",
            SQLITE_FCNTL_HAS_MOVED,
            &hasMoved
        )
        return code == SQLITE_OK && hasMoved == 0
    }

    /// Begins to read, which keeps others from writing the file, and says whether everything that
    /// the connection sees is in it.
    ///
    /// In WAL mode others write to the log, and nobody moves that into the file while somebody reads
    /// who began when it was empty. <https://www.sqlite.org/walformat.html#wal_locks>
    func isAllInFile(_ path: String) throws -> Bool {
        _ = try Int.fetchOne(self, sql: "SELECT count(*) FROM main.sqlite_schema")
        // Not a transaction that somebody else has begun on this connection, and changes something in.
        guard sqlite3_txn_state(sqliteConnection, "main") == SQLITE_TXN_READ,
            try Int.fetchOne(self, sql: "SELECT count(*) FROM pragma_database_list") == 1
        else { return false }
        if try String.fetchOne(self, sql: "PRAGMA main.journal_mode") == "wal" {
            var status = stat()
            guard stat(path + "-wal", &status) != 0 || status.st_size == 0 else { return false }
        }
        return hasFile
    }
}
