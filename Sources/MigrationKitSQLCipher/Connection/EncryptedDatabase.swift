import Foundation
import GRDB
import MigrationKitKeys
import MigrationKitGRDB
import MigrationKitPages

/// Opens SQLCipher databases as GRDB database queues and pools.
///
/// ```swift
/// let key = try DatabaseKey.passphrase(secret)
/// let database = try EncryptedDatabase.open("/home/me/notes.db", key: key)
/// try runner.migrate(in: database)
/// ```
///
/// Every connection gets its key before anything else, and proves that it is SQLCipher and that the
/// key opens the file. A path is always a path: `:memory:` and `file:notes.db` name files. Relative
/// paths start at the current folder.
///
/// Temporary tables and rows that SQLite sorts are in memory. Beyond 32 MB for the whole process
/// they go into files beside the database, which have no name and are encrypted with keys of their
/// own. For that, a VFS named `migrationkit` becomes SQLite's default. It passes everything else on
/// to the former default. If an app makes another VFS the default later, temporary data stays in
/// memory. <https://www.sqlite.org/vfs.html>
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

extension EncryptedDatabase {
    /// How a database is opened. The defaults open an existing file for reading and writing.
    ///
    /// Every property of GRDB's `Configuration` is an option, too:
    ///
    /// ```swift
    /// var options = EncryptedDatabase.Options(createsFile: true)
    /// options.publicStatementArguments = true
    /// options.transactionClock = clock
    /// options.busyMode = .callback { tries in tries < 10 }
    /// ```
    ///
    /// Only closures that a `Configuration` was already given can't be taken over: they would run
    /// before the key is set. Give them as ``prepareDatabase``.
    @dynamicMemberLookup
    public struct Options: Sendable {
        /// What GRDB gets. The key, and whatever else a connection must have, is added to it.
        package var configuration: Configuration

        /// Whether a missing file is created, with mode 0600. An empty file counts as missing, but
        /// keeps its mode. Folders are never created.
        public var createsFile: Bool

        /// Whether the database is only read. In WAL mode, SQLite still keeps the `-wal` and `-shm`
        /// files beside it. A read-only connection can't remove them when it is closed; the next
        /// connection that writes does.
        public var isReadOnly: Bool {
            get { configuration.readonly }
            set { configuration.readonly = newValue }
        }

        /// What it is opened for.
        package var purpose = Opening.Purpose.change

        /// Whether an interrupted rotation of the key, and the record of the item that has it, are left
        /// as they are.
        var leavesKey: Bool { isReadOnly || purpose == .copy }

        /// How the file is or will be encrypted. Ignored for a plaintext database.
        public var cipher: CipherSettings

        /// How long to wait for another process's lock, in seconds. If `busyMode` is a callback, it
        /// decides about SQLite's locks, and the library's own waits take up to 5 seconds.
        public var busyTimeout: TimeInterval {
            get {
                switch configuration.busyMode {
                case .timeout(let seconds): seconds
                case .immediateError: 0
                case .callback: Self.defaultTimeout
                }
            }
            set { configuration.busyMode = .timeout(newValue) }
        }

        /// In seconds.
        private static let defaultTimeout: TimeInterval = 5

        /// SQL functions for every connection, in addition to `uuid()`.
        public var functions: [DatabaseFunction]

        /// Collations for every connection.
        public var collations: [DatabaseCollation]

        /// Runs on every connection after the key is proven and the functions are registered. Its
        /// errors are rethrown unchanged.
        public var prepareDatabase: (@Sendable (Database) throws -> Void)?

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
            configuration = Configuration()
            configuration.readonly = isReadOnly
            configuration.busyMode = .timeout(busyTimeout)
            configuration.maximumReaderCount = maximumReaderCount
            configuration.label = label
            self.createsFile = createsFile
            self.cipher = cipher
            self.functions = functions
            self.collations = collations
            self.prepareDatabase = prepareDatabase
        }

        /// A property of GRDB's `Configuration`.
        public subscript<Value>(
            dynamicMember property: WritableKeyPath<Configuration, Value>
        ) -> Value {
            get { configuration[keyPath: property] }
            set { configuration[keyPath: property] = newValue }
        }
    }
}

extension EncryptedDatabase {
    /// Whether a path leads to a file with content. A file that can't be read counts, so that it is
    /// never taken for a new one.
    package static func hasContent(_ path: String) -> Bool {
        (try? DatabaseFile(path).look())?.hasContent ?? true
    }

    /// Whether a database would be made at a path: there is no file, or an empty one.
    ///
    /// - Throws: ``EncryptedDatabaseError``; `ReservedNameError`, if it can't be made there.
    package static func wouldCreate(_ path: String) throws -> Bool {
        // The common case, without a look.
        var status = stat()
        if stat(path, &status) == 0, status.st_size > 0 { return false }
        let file = DatabaseFile(path)
        let look = try file.look()
        guard !look.hasContent else { return false }
        if look.size == nil {
            try file.checkCreation()
        } else {
            try look.checkAccess(forWriting: true)
        }
        return true
    }

    /// The absolute form of a path that may be relative to the current folder.
    package static func absolutePath(of path: String) -> String {
        DatabaseFile(path).absolutePath
    }

    /// What a path must lead to before the user is asked for a key.
    package enum Expectation: Sendable {
        /// A file, which may be empty if its log or its journal has content.
        case file
        /// A plaintext file.
        case plaintext
        /// A file that isn't plaintext.
        case encrypted
        /// A file that isn't plaintext, or a place where one can be created.
        case encryptedOrNew
    }

    /// Throws for any problem with a path that shows without a key, so that nobody is asked in
    /// vain.
    ///
    /// - Parameter cipher: How the file is expected to be encrypted.
    /// - Throws: ``EncryptedDatabaseError``.
    package static func check(
        _ path: String,
        is expectation: Expectation,
        cipher: CipherSettings = .current
    ) throws {
        let file = DatabaseFile(path)
        let look = try file.look()
        if expectation != .file || look.size == nil { try look.checkHasDatabase() }
        if expectation == .encryptedOrNew, look.size ?? 0 == 0 {
            return try look.size == nil ? file.checkCreation() : ()
        }
        guard let size = look.size else { throw EncryptedDatabaseError.noSuchFile(path: path) }
        if expectation == .file { return }
        switch size {
        case 0: throw EncryptedDatabaseError.empty(path: path)
        case 1: throw EncryptedDatabaseError.notADatabase(path: path)
        default: break
        }
        try look.checkAccess(forWriting: false)
        let inspection = try FileInspection(look, cipher: cipher)
        try expectation == .plaintext ? inspection.checkPlaintext() : inspection.checkEncrypted()
    }
}

/// The asynchronous forms of opening. The work runs on its own thread. If the task is already
/// cancelled, the work doesn't begin; later it isn't interrupted, since it waits for nothing longer
/// than `busyTimeout`.
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
        try await asyncRun { try open(path, key: key, options: options) }
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
        try await asyncRun { try openPool(path, key: key, options: options) }
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
        try await asyncRun { try openPlaintext(path, options: options) }
    }
}

// MARK: - SQLCipher's Own

extension Database {
    /// Throws unless the connection is SQLCipher's. Call it before giving the key: any other SQLite
    /// would ignore the key and write plaintext.
    func proveSQLCipher() throws {
        guard try String.fetchOne(self, sql: "PRAGMA cipher_version") != nil else {
            throw EncryptedDatabaseError.noSQLCipher
        }
    }

    /// Gives the connection its key. This reads nothing, so it doesn't prove the key.
    package func setKey(_ key: DatabaseKey) throws {
        let code = CipherConnection.setKey(key, on: sqliteConnection)
        guard code == .ok else {
            throw DatabaseError(resultCode: ResultCode(rawValue: code.rawValue))
        }
    }

    /// Sets how the file is encrypted. Call it after the key was given.
    func setCipher(_ settings: CipherSettings) throws {
        for statement in settings.statements { try execute(sql: statement) }
    }

    /// Whether the database is read-only, even if it was opened for writing.
    var isMainReadOnly: Bool {
        CipherConnection.isReadOnly(sqliteConnection)
    }

    /// Whether closing the last connection moves the write-ahead log into the database, as usual.
    package func setCheckpointOnClose(_ isEnabled: Bool) {
        CipherConnection.setCheckpointOnClose(isEnabled, on: sqliteConnection)
    }
}

extension DatabaseFunction {
    /// The SQL function `uuid()`: returns a new random UUID (version 4) as lower-case text at each
    /// call. Made for `DEFAULT (uuid())`. An index can't use it, since it is not deterministic.
    public static let uuid = DatabaseFunction("uuid", argumentCount: 0, pure: false) { _ in
        UUID().uuidString.lowercased()
    }
}
