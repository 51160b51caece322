import MigrationKitPages
import Foundation
import GRDB

extension EncryptedDatabase {
    /// How a database is opened. The defaults open an existing file for reading and writing.
    public struct Options: Sendable {
        /// Whether a file that is not there is created, with mode 0600. An empty file counts as
        /// missing, but keeps its mode. Folders are never created.
        public var createsFile: Bool

        /// Whether the database is only read. For a database in WAL mode SQLite still keeps its
        /// `-wal` and `-shm` files beside it, and a connection that only reads can't remove them
        /// when it is closed; the next one that writes does.
        public var isReadOnly: Bool

        /// Whether a file that can't be written, for its mode or its medium, is opened for reading
        /// instead of refused. Nothing is left beside it then, in WAL mode either.
        package var readsIfUnwritable = false

        /// How the file is or will be encrypted. Without meaning for a plaintext database.
        public var cipher: CipherSettings

        /// How long to wait for another process's lock, in seconds.
        public var busyTimeout: TimeInterval

        /// SQL functions for every connection, beside `uuid()`, which is always there.
        public var functions: [DatabaseFunction]

        /// Collations for every connection.
        public var collations: [DatabaseCollation]

        /// Runs on every connection after the key was proven and the functions were registered.
        /// What it throws comes out of the open unchanged.
        public var prepareDatabase: (@Sendable (Database) throws -> Void)?

        /// How many connections of a pool may read at the same time.
        public var maximumReaderCount: Int

        /// A name for the connections in GRDB's descriptions and queues.
        public var label: String?

        /// Whether the connection keeps everybody else out, from its first transaction to its end.
        package var isExclusive = false

        /// Options that differ from the defaults where a parameter is given.
        ///
        /// - Parameters:
        ///   - createsFile: Whether a file that is not there is created, with mode 0600.
        ///   - isReadOnly: Whether the database is only read.
        ///   - cipher: How the file is or will be encrypted.
        ///   - busyTimeout: How long to wait for another process's lock, in seconds.
        ///   - functions: SQL functions for every connection, beside `uuid()`.
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
