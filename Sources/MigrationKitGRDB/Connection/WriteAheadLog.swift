import GRDB
import GRDBSQLite

extension Database {
    /// How many bytes of the write-ahead log are in use; 0 without a log. Its file may be larger.
    ///
    /// The number of frames is in the index that all connections share. SQLite is asked for its own view
    /// of it: closing a descriptor of the index's file would end the process's locks on it, and the next
    /// program that opens the database would then truncate it under this connection.
    /// <https://www.sqlite.org/walformat.html#the_wal_index_header>
    func bytesInLog() throws -> Int {
        // With exclusive access, the index is in the connection's own memory, and nobody reads the log.
        guard try journalMode == "wal",
            try String.fetchOne(self, sql: "PRAGMA main.locking_mode") == "normal",
            let frames = framesInLog
        else { return 0 }
        let pageSize = try Int.fetchOne(self, sql: "PRAGMA main.page_size") ?? 0
        return frames * (pageSize + 24)
    }

    /// How many frames of the log belong to it; `nil` if that is being changed.
    private var framesInLog: Int? {
        // The index grows by regions of this size. <https://www.sqlite.org/c3ref/io_methods.html>
        let regionSize: Int32 = 32 << 10
        var file: UnsafeMutablePointer<sqlite3_file>?
        var region: UnsafeMutableRawPointer?
        let code = sqlite3_file_control(
            sqliteConnection,
            "main",
            SQLITE_FCNTL_FILE_POINTER,
            &file
        )
        guard code == SQLITE_OK, let methods = file?.pointee.pMethods?.pointee,
            methods.iVersion >= 2,
            methods.xShmMap?(file, 0, regionSize, 0, &region) == SQLITE_OK, let region
        else { return nil }
        // Both copies are the same unless one is being written.
        let header = UnsafeRawBufferPointer(start: region, count: 96)
        let (first, second) = (Array(header.prefix(48)), Array(header.suffix(48)))
        guard first == second else { return nil }
        return first.withUnsafeBytes {
            Int($0.loadUnaligned(fromByteOffset: 16, as: UInt32.self))
        }
    }
}
