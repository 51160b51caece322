import Foundation
import GRDB
import KeyStore

/// Opens SQLCipher databases as GRDB database queues and pools.
///
/// ```swift
/// let key = try DatabaseKey.passphrase(secret)
/// let database = try EncryptedDatabase.open("/home/me/notes.db", key: key)
/// try runner.migrate(in: database)
/// ```
///
/// Every connection gets its key before anything else, proves that it is SQLCipher and that the key
/// opens the file, and keeps temporary tables and sorter data in memory. A path is always a path:
/// `:memory:` and `file:notes.db` name files. Relative paths start at the current folder.
///
/// An open that fails throws an ``EncryptedDatabaseError`` with the reason, and leaves the file,
/// the files that SQLite keeps beside it and the folder as they were.
///
/// SQLCipher's library has neither SQLite's session extension nor its preupdate hooks. The linker
/// warns if an app uses one of their functions, and a call ends the process. (Otherwise it would
/// reach the system's SQLite, and a session would report no changes and no error.)
public enum EncryptedDatabase {
    /// Opens an encrypted database for one connection.
    ///
    /// The journal mode of the file is left as it is.
    ///
    /// - Parameters:
    ///   - path: The database. Links are followed.
    ///   - key: Its key. A new file is encrypted with it.
    ///   - options: Whether the file may be created, how long to wait for locks, what to register.
    /// - Returns: A queue whose connection has read the schema, so that the key is known to be right.
    /// - Throws: ``EncryptedDatabaseError``; or what `options.prepareDatabase` throws.
    public static func open(
        _ path: String,
        key: DatabaseKey,
        options: Options = Options()
    ) throws -> DatabaseQueue {
        try Opening(path: path, key: key, options: options).run {
            try DatabaseQueue(path: $0, configuration: $1)
        }
    }

    /// Opens an encrypted database for one writing connection and several reading ones.
    ///
    /// A pool requires a write-ahead log: the file's journal mode is set to WAL unless
    /// `options.isReadOnly` is set. This is the only exception to the rule that an existing file
    /// keeps its journal mode. GRDB closes a pool's writing connection before its reading ones, and
    /// so leaves the `-wal` and `-shm` files behind.
    ///
    /// - Parameters:
    ///   - path: The database. Links are followed.
    ///   - key: Its key. A new file is encrypted with it.
    ///   - options: Whether the file may be created, how long to wait for locks, what to register.
    /// - Returns: A pool whose writing connection has read the schema. The reading connections are
    ///   opened when they are first needed.
    /// - Throws: ``EncryptedDatabaseError``; or what `options.prepareDatabase` throws.
    public static func openPool(
        _ path: String,
        key: DatabaseKey,
        options: Options = Options()
    ) throws -> DatabasePool {
        try Opening(path: path, key: key, options: options).run {
            try DatabasePool(path: $0, configuration: $1)
        }
    }

    /// Opens a database that is not encrypted. Otherwise the same rules apply.
    ///
    /// - Parameters:
    ///   - path: The database. Links are followed.
    ///   - options: Whether the file may be created, how long to wait for locks, what to register.
    /// - Returns: A queue whose connection has read the schema.
    /// - Throws: ``EncryptedDatabaseError/encrypted(path:)`` if the file isn't a plaintext SQLite
    ///   database; another ``EncryptedDatabaseError``; or what `options.prepareDatabase` throws.
    public static func openPlaintext(
        _ path: String,
        options: Options = Options()
    ) throws -> DatabaseQueue {
        try Opening(path: path, key: nil, options: options).run {
            try DatabaseQueue(path: $0, configuration: $1)
        }
    }

    /// A configuration for apps that open their databases themselves.
    ///
    /// It gives the key to every file that it opens, including temporary ones, so GRDB's
    /// `hasSchemaChanges` works with it. Nothing checks the file first: a wrong key is a
    /// `DatabaseError` with SQLite's code 26 (`SQLITE_NOTADB`). `options.createsFile` is ignored,
    /// since GRDB creates a missing file with the mode that the umask leaves. Each connection
    /// derives its key from a passphrase again, which takes a fifth of a second.
    ///
    /// - Parameters:
    ///   - key: The key of every file that is opened with the configuration.
    ///   - options: How long to wait for locks, what to register.
    public static func configuration(key: DatabaseKey, options: Options = Options())
        -> Configuration
    {
        ConnectionSetup(key: key, options: options).configuration
    }
}
