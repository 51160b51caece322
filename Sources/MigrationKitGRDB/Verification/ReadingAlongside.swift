import Foundation
import GRDB
import GRDBSQLite

extension Configuration {
    /// For an additional connection, which waits for no lock and has its own thread.
    package var forReadingAlongside: Configuration {
        var configuration = self
        configuration.busyMode = .immediateError
        // If a queue is given, the existing connection may be busy on it.
        configuration.targetQueue = nil
        configuration.writeTargetQueue = nil
        return configuration
    }
}

extension DatabaseWriter {
    /// The path of a database that is large enough for several connections to save time; `nil` if
    /// it is small or allows no second connection.
    func largeFile() throws -> String? {
        switch self {
        case is DatabasePool: break
        // A URI may contain more than a path.
        case let queue as DatabaseQueue where !queue.path.hasPrefix("file:"): break
        default: return nil
        }
        return try unsafeRead { db in
            // Other connections don't see uncommitted changes.
            guard !db.isInsideTransaction, let path = db.filePath else { return nil }
            let pageSize = try Int.fetchOne(db, sql: "PRAGMA main.page_size") ?? 0
            let pageCount = try Int.fetchOne(db, sql: "PRAGMA main.page_count") ?? 0
            return pageSize * pageCount >= 4 << 20 ? path : nil
        }
    }
}

extension Database {
    /// The absolute path of the file; `nil` for a database in memory.
    package var filePath: String? {
        let name = sqlite3_db_filename(sqliteConnection, "main").map { String(cString: $0) }
        return name?.hasPrefix("/") == true ? name : nil
    }

    /// Whether the file still has the name with which it was opened.
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

    /// Begins to read, which keeps others from writing the file, and returns whether the file alone
    /// has everything that the connection sees.
    ///
    /// In WAL mode, others write to the log. Nobody moves it into the file while a reader is active
    /// that began when the log was empty. <https://www.sqlite.org/walformat.html#wal_locks>
    func isAllInFile(_ path: String) throws -> Bool {
        _ = try Int.fetchOne(self, sql: "SELECT count(*) FROM main.sqlite_schema")
        // Not in somebody else's transaction on this connection, which may have changed something.
        guard sqlite3_txn_state(sqliteConnection, "main") == SQLITE_TXN_READ,
            try Int.fetchOne(self, sql: "SELECT count(*) FROM pragma_database_list") == 1
        else { return false }
        if try String.fetchOne(self, sql: "PRAGMA main.journal_mode") == "wal" {
            var status = stat()
            guard stat(path + "-wal", &status) != 0 || status.st_size == 0 else { return false }
        }
        return hasFile
    }

    /// Gives SQLite a page cache as large as the file, but at most 32 MB and a 32nd of the memory,
    /// for a check that jumps about in the file.
    package func withLargeCache<Value>(_ body: () throws -> Value) throws -> Value {
        func number(_ sql: String) throws -> Int { try Int.fetchOne(self, sql: sql) ?? 0 }
        let pageSize = try number("PRAGMA main.page_size")
        let former = try number("PRAGMA main.cache_size")
        let most = min(32 << 20, Int(clamping: ProcessInfo.processInfo.physicalMemory / 32))
        let wanted = min(pageSize * (try number("PRAGMA main.page_count")), most)
        // > If the argument N is positive then the suggested cache size is set to N. If N is
        // > negative, [...] approximately abs(N*1024) bytes.
        // <https://www.sqlite.org/pragma.html#pragma_cache_size>
        guard wanted > (former < 0 ? -former << 10 : former * pageSize) else { return try body() }
        try execute(sql: "PRAGMA main.cache_size = \(-(wanted >> 10))")
        defer { try? execute(sql: "PRAGMA main.cache_size = \(former)") }
        return try body()
    }
}

extension DatabaseWriter {
    /// Reads with CHECK constraints. SQLite leaves them out of the schema of a read-only
    /// connection, such as a pool's readers, and `quick_check` then doesn't check them.
    ///
    /// For a pool, this opens a connection with the pool's configuration.
    package func readingWithConstraints<Value>(_ body: (Database) throws -> Value) throws -> Value {
        guard let pool = self as? DatabasePool else { return try read(body) }
        var configuration = pool.configuration.forReadingAlongside
        configuration.busyMode = pool.configuration.busyMode
        return try DatabaseQueue(path: pool.path, configuration: configuration).readAndClose(body)
    }
}

extension DatabaseQueue {
    /// Reads, and closes the connection.
    package func readAndClose<Value>(_ body: (Database) throws -> Value) throws -> Value {
        let value = try read(body)
        try close()
        return value
    }
}
