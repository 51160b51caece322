import MigrationKitPages
import CSQLCipher
import Foundation
import GRDB
import KeyStore
import MigrationKitGRDB
import Synchronization

/// What happens on every connection before anyone else uses it.
package final class ConnectionSetup: Sendable {
    /// `nil` leaves the database unencrypted.
    package let key: DatabaseKey?
    package let options: EncryptedDatabase.Options
    /// Whether the write-ahead log stays as it is when the last connection is closed.
    fileprivate let keepsLog: Bool
    /// The file where it is read as it lies there.
    fileprivate let unwritable: UnwritableFile?

    /// Whether the connections read a file that nobody writes as long as one of them is open.
    private let readsQuietFile: Bool

    private let hostThrew = Atomic(false)

    /// What the connections that don't leave it to SQLCipher have authenticated.
    private let authenticPages = AuthenticPages()

    package init(
        key: DatabaseKey?,
        options: EncryptedDatabase.Options,
        keepsLog: Bool = false,
        unwritable: UnwritableFile? = nil,
        readsQuietFile: Bool = false
    ) {
        self.key = key
        self.options = options
        self.keepsLog = keepsLog || unwritable != nil
        self.unwritable = unwritable
        self.readsQuietFile = readsQuietFile
    }

    /// Whether the host's own preparation threw, whose errors are not ours to explain.
    var didHostThrow: Bool { hostThrew.load(ordering: .relaxed) }

    /// SQLite counts milliseconds in 32 bits, which are good for 24 days.
    private var busyTimeout: TimeInterval {
        options.busyTimeout > 0 ? min(options.busyTimeout, 2_000_000) : 0
    }

    package var configuration: Configuration {
        var configuration = Configuration()
        configuration.readonly = options.isReadOnly
        configuration.busyMode = .timeout(busyTimeout)
        configuration.maximumReaderCount = options.maximumReaderCount
        configuration.label = options.label
        configuration.prepareDatabase { try self.prepare($0) }
        return configuration
    }

    package func prepare(_ db: Database) throws {
        // A connection that fails to open a damaged file doesn't touch it when it is closed.
        db.setCheckpointOnClose(false)
        try keep(with: db.sqliteConnection)
        let readsLog = !readsQuietFile && unwritable?.usesLog ?? true
        if let key, key.form == .rawKey, !readsLog {
            try DecryptingFile.decrypt(
                db.sqliteConnection,
                key: key,
                cipher: options.cipher,
                authenticPages: authenticPages,
                isUnchanged: unwritable.map { file in { file.isUnchanged } }
            )
        } else {
            try unwritable?.prepare(db.sqliteConnection)
            if let key {
                try db.proveSQLCipher()
                try db.setKey(key)
                try db.setCipher(options.cipher)
            }
        }
        // Temporary tables and sorter data never reach the disk, where they would be in the clear.
        try db.execute(sql: "PRAGMA temp_store = MEMORY")
        if options.isExclusive || unwritable?.usesLog == true {
            // Before the first read: a write-ahead log is then opened without shared memory, for
            // which SQLite has to be alone. <https://www.sqlite.org/wal.html#noshm>
            try db.execute(sql: "PRAGMA main.locking_mode = EXCLUSIVE")
        }
        // `sqlite3_key` accepts anything; reading a page is what proves the key.
        // <https://www.zetetic.net/sqlcipher/sqlcipher-api/#testing-the-key>
        _ = try Int.fetchOne(db, sql: "SELECT count(*) FROM sqlite_schema")
        db.setCheckpointOnClose(!keepsLog)

        db.add(function: .uuid)
        options.functions.forEach(db.add(function:))
        options.collations.forEach(db.add(collation:))
        do {
            try options.prepareDatabase?(db)
        } catch {
            hostThrew.store(true, ordering: .relaxed)
            throw error
        }
    }

    // MARK: - Further Connections

    private static let name = "MigrationKit.ConnectionSetup"

    /// Leaves the setup with a connection, so that others can be opened that are like it.
    /// <https://www.sqlite.org/c3ref/get_clientdata.html>
    private func keep(with connection: OpaquePointer?) throws {
        let code = sqlite3_set_clientdata(
            connection,
            Self.name,
            Unmanaged.passRetained(self).toOpaque(),
            { $0.map { Unmanaged<ConnectionSetup>.fromOpaque($0).release() } }
        )
        guard code == SQLITE_OK else {
            throw DatabaseError(resultCode: ResultCode(rawValue: code))
        }
    }

    /// The setup of a database's connections; `nil` if they weren't opened here.
    static func of(_ reader: some DatabaseReader) throws -> ConnectionSetup? {
        try reader.unsafeRead { db in
            sqlite3_get_clientdata(db.sqliteConnection, name).map {
                Unmanaged<ConnectionSetup>.fromOpaque($0).takeUnretainedValue()
            }
        }
    }

    /// Opens a connection that does nothing but read a file that nobody writes meanwhile.
    func openReader(_ path: String) throws -> DatabaseQueue {
        // Not read-only unless the others are: SQLite then knows nothing of CHECK constraints.
        try DatabaseQueue(path: path, configuration: configuration.forReadingAlongside)
    }
}

extension EncryptedDatabase {
    /// What opens further connections to a database's file, which nobody may write as long as one of
    /// them is open. They read an encrypted file faster than SQLCipher does.
    ///
    /// - Parameter reader: The database, by whose key the file is read.
    /// - Returns: A function that takes the file's path; `nil` where the database wasn't opened here.
    package static func quietReaders(
        of reader: any DatabaseReader
    ) throws -> (@Sendable (_ path: String) throws -> DatabaseQueue)? {
        guard let setup = try ConnectionSetup.of(reader) else { return nil }
        let quiet = ConnectionSetup(
            key: setup.key,
            options: setup.options,
            keepsLog: setup.keepsLog,
            unwritable: setup.unwritable,
            readsQuietFile: true
        )
        return { try quiet.openReader($0) }
    }
}
