import CSQLCipher
import MigrationKitPages

/// A connection without a key. It takes SQLite's locks on any file, and reads no page of it.
///
/// SQLite makes its locks count against the other connections of this process, too, and closing it
/// keeps their locks.
final class KeylessConnection {
    let connection: OpaquePointer

    /// - Parameter path: An absolute path, of a file that is there.
    init(_ path: String, isReadOnly: Bool) throws(CipherCode) {
        var connection: OpaquePointer?
        let access = isReadOnly ? SQLITE_OPEN_READONLY : SQLITE_OPEN_READWRITE
        let code = sqlite3_open_v2(path, &connection, access | SQLITE_OPEN_EXRESCODE, nil)
        guard code == SQLITE_OK, let connection else {
            sqlite3_close(connection)
            throw CipherCode(code)
        }
        self.connection = connection
    }

    deinit {
        // The last connection that closes a database moves the log into the file, and synchronizes
        // the log, its folder and the file: SQLite can't see that the log was on the disk already.
        sqlite3_close(connection)
    }

    /// Keeps others from writing, as any read lock does.
    ///
    /// - Returns: Whether nobody is writing.
    func lockForReading() throws(CipherCode) -> Bool {
        try MainFile(of: connection).lock(SQLITE_LOCK_SHARED)
    }

    /// Keeps other connections out. A connection to a database with a write-ahead log holds a read
    /// lock as long as it is open, so success means that none is open.
    ///
    /// - Returns: Whether nobody else reads or writes.
    func lockForWriting() throws(CipherCode) -> Bool {
        let file = try MainFile(of: connection)
        guard try file.lock(SQLITE_LOCK_SHARED) else { return false }
        return try file.lock(SQLITE_LOCK_EXCLUSIVE)
    }
}
