import CSQLCipher
import MigrationKitPages

/// A connection that takes SQLite's locks on a file and reads nothing. It works on any file,
/// whatever its key.
///
/// SQLite makes its locks count against the other connections of this process, too, and closing it
/// keeps their locks.
final class UnreadFile {
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

    /// Keeps out programs that write with a rollback journal, and refuses a file that one of them has
    /// left in the middle of a change.
    ///
    /// - Parameters:
    ///   - file: A database that isn't written here.
    ///   - waiting: Calls its argument until that returns a value, or gives up.
    /// - Returns: The lock; `nil` if the medium has no locks. Then nobody writes under one.
    /// - Throws: ``EncryptedDatabaseError/locked(path:)``;
    ///   ``EncryptedDatabaseError/needsRecovery(path:)``; what `waiting` throws.
    static func guarding(
        _ file: DatabaseFile,
        _ waiting: (_ attempt: () -> UnreadFile?) throws -> UnreadFile?
    ) throws -> UnreadFile? {
        let guardian = try? UnreadFile(file.absolutePath, isReadOnly: true)
        if let guardian {
            let locked = try waiting { (try? guardian.lockForReading()) == false ? nil : guardian }
            guard locked != nil else { throw EncryptedDatabaseError.locked(path: file.path) }
        }
        guard try !file.hasHotJournal else {
            throw EncryptedDatabaseError.needsRecovery(path: file.path)
        }
        return guardian
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
