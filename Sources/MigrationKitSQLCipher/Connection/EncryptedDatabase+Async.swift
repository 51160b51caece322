import MigrationKitPages
import GRDB
import KeyStore
import MigrationKitGRDB

/// The asynchronous forms of everything that blocks. The work runs on its own thread. If the task
/// is already cancelled, the work doesn't begin; later it isn't interrupted, since it waits for
/// nothing longer than `busyTimeout`.
extension EncryptedDatabase {
    /// The asynchronous form of ``open(_:key:options:)``.
    ///
    /// - Parameters:
    ///   - path: The database. Links are followed.
    ///   - key: Its key. A new file is encrypted with it.
    ///   - options: Whether the file may be created, how long to wait for locks, what to register.
    /// - Returns: A queue whose connection has read the schema.
    /// - Throws: What the blocking form throws; a `CancellationError`.
    public static func asyncOpen(
        _ path: String,
        key: DatabaseKey,
        options: Options = Options()
    ) async throws -> DatabaseQueue {
        try Task.checkCancellation()
        return try await blocking { try open(path, key: key, options: options) }
    }

    /// The asynchronous form of ``openPool(_:key:options:)``.
    ///
    /// - Parameters:
    ///   - path: The database. Links are followed.
    ///   - key: Its key. A new file is encrypted with it.
    ///   - options: Whether the file may be created, how long to wait for locks, what to register.
    /// - Returns: A pool whose writing connection has read the schema.
    /// - Throws: What the blocking form throws; a `CancellationError`.
    public static func asyncOpenPool(
        _ path: String,
        key: DatabaseKey,
        options: Options = Options()
    ) async throws -> DatabasePool {
        try Task.checkCancellation()
        return try await blocking { try openPool(path, key: key, options: options) }
    }

    /// The asynchronous form of ``openPlaintext(_:options:)``.
    ///
    /// - Parameters:
    ///   - path: The database. Links are followed.
    ///   - options: Whether the file may be created, how long to wait for locks, what to register.
    /// - Returns: A queue whose connection has read the schema.
    /// - Throws: What the blocking form throws; a `CancellationError`.
    public static func asyncOpenPlaintext(
        _ path: String,
        options: Options = Options()
    ) async throws -> DatabaseQueue {
        try Task.checkCancellation()
        return try await blocking { try openPlaintext(path, options: options) }
    }
}
