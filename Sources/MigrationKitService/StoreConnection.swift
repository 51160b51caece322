import GRDB
import MigrationKitCommon
import MigrationKitGRDB
import MigrationKitSQLCipher

/// How a service opens a store.
public enum StoreConnection: Equatable, Sendable {
    /// One connection. Opening costs the least; reading and writing wait for each other.
    case queue

    /// One writing connection and several reading ones, with a write-ahead log.
    case pool

    /// Opens a store, on a thread of its own.
    func open(_ store: EncryptedStore) async throws -> any DatabaseWriter {
        switch self {
        case .queue: try await store.asyncOpen()
        case .pool: try await store.asyncOpenPool()
        }
    }
}

extension DatabaseWriter {
    /// Closes the database on a thread of its own: a write-ahead log may have to be moved into it.
    ///
    /// A connection that is still in use, against the rules, is closed when it is released.
    func asyncClose() async {
        try? await onOwnThread {
            // The last connection to be closed empties the log, if it may write. A pool closes the
            // writing one first. <https://www.sqlite.org/wal.html#avoiding_excessively_large_wal_files>
            (self as? DatabasePool)?.invalidateReadOnlyConnections()
            try self.close()
        }
    }
}
