import MigrationKitPages
import Foundation
import GRDB

extension EncryptedDatabase {
    /// How a database is opened. The defaults open an existing file for reading and writing.
    public struct Options: Sendable {
        /// Whether a missing file is created, with mode 0600. An empty file counts as missing, but
        /// keeps its mode. Folders are never created.
        public var createsFile: Bool

        /// Whether the database is only read. In WAL mode, SQLite still keeps the `-wal` and `-shm`
        /// files beside it. A read-only connection can't remove them when it is closed; the next
        /// connection that writes does.
        public var isReadOnly: Bool

        /// Whether a file that can't be written, because of its mode or its medium, is opened for
        /// reading instead of refused. Nothing is left beside it, not even in WAL mode.
        package var readsIfUnwritable = false

        /// How the file is or will be encrypted. Ignored for a plaintext database.
        public var cipher: CipherSettings

        /// How long to wait for another process's lock, in seconds.
        public var busyTimeout: TimeInterval

        /// SQL functions for every connection, in addition to `uuid()`.
        public var functions: [DatabaseFunction]

        /// Collations for every connection.
        public var collations: [DatabaseCollation]

        /// Runs on every connection after the key is proven and the functions are registered. Its
        /// errors are rethrown unchanged.
        public var prepareDatabase: (@Sendable (Database) throws -> Void)?

        /// How many connections of a pool may read at the same time.
        public var maximumReaderCount: Int

        /// A name for the connections in GRDB's descriptions and queues.
        public var label: String?

        /// Whether the connection locks everyone else out, from its first transaction until it is
        /// closed.
        package var isExclusive = false

        /// Creates options. Each parameter that isn't given has its default.
        ///
        /// - Parameters:
        ///   - createsFile: Whether a missing file is created, with mode 0600.
        ///   - isReadOnly: Whether the database is only read.
        ///   - cipher: How the file is or will be encrypted.
        ///   - busyTimeout: How long to wait for another process's lock, in seconds.
        ///   - functions: SQL functions for every connection, in addition to `uuid()`.
        ///   - collations: Collations for every connection.
        ///   - prepareDatabase: Runs on every connection, last.
        ///   - maximumReaderCount: How many connections of a pool may read at the same time.
        ///   - label: A name for the connections in GRDB's descriptions and queues.
        public init(
            createsFile: Bool = false,
            isReadOnly: Bool = false,
            cipher: CipherSettings = .current,
            busyTimeout: TimeInterval = 5,
            functions: [DatabaseFunction] = [],
            collations: [DatabaseCollation] = [],
            prepareDatabase: (@Sendable (Database) throws -> Void)? = nil,
            maximumReaderCount: Int = 5,
            label: String? = nil
        ) {
            self.createsFile = createsFile
            self.isReadOnly = isReadOnly
            self.cipher = cipher
            self.busyTimeout = busyTimeout
            self.functions = functions
            self.collations = collations
            self.prepareDatabase = prepareDatabase
            self.maximumReaderCount = maximumReaderCount
            self.label = label
        }
    }
}
