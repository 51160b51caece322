import MigrationKitPages
import CSQLCipher
import Foundation
import GRDB
import MigrationKitKeys
import MigrationKitGRDB

/// Prepares each connection before anything else uses it.
package final class ConnectionSetup: Sendable {
    /// `nil` leaves the database unencrypted.
    package let key: DatabaseKey?
    package let options: EncryptedDatabase.Options
    /// Set if the file was created for these connections.
    private let created: CreatedFile?

    /// Whether the write-ahead log stays as it is when the last connection is closed.
    fileprivate let keepsLog: Bool
    /// Set if the file is read in place.
    fileprivate let resting: RestingFile?

    /// Whether nobody writes the file as long as one of the connections is open.
    private let readsQuietFile: Bool

    /// Whether the file is new, so that the first connection gives it a first page.
    private let writesFirstPage: Bool

    // Not an `Atomic`: if two threads need that type for the first time at one moment, Swift 6.3 may hang on
    // Linux. A thread and a queue may let go of their connections at one moment.
    private let hostThrew = Locked(false)

    /// The pages that these connections have authenticated themselves, without SQLCipher.
    /// `nil` if others have.
    private let authenticPages: AuthenticPages?

    package init(
        key: DatabaseKey?,
        options: EncryptedDatabase.Options,
        created: CreatedFile? = nil,
        keepsLog: Bool = false,
        resting: RestingFile? = nil,
        readsQuietFile: Bool = false,
        writesFirstPage: Bool = false,
        trustsPages: Bool = false
    ) {
        self.key = key
        self.options = options
        self.created = created
        self.keepsLog = keepsLog || resting != nil
        self.resting = resting
        self.readsQuietFile = readsQuietFile
        self.writesFirstPage = writesFirstPage
        authenticPages = trustsPages ? nil : AuthenticPages()
        TemporaryStorage.install()
        EncryptedDatabase.guardConnections()
    }

    /// Whether the host's own `prepareDatabase` threw. Such errors are passed on unchanged.
    var didHostThrow: Bool { hostThrew.withLock { $0 } }

    package var configuration: Configuration {
        // Its only closure is the one below: options take none for it.
        var configuration = options.configuration
        if case .timeout(let seconds) = configuration.busyMode {
            // Capped: SQLite counts milliseconds in 32 bits, which overflow after 24 days.
            configuration.busyMode = .timeout(seconds > 0 ? min(seconds, 2_000_000) : 0)
        }
        if options.purpose.onlyReads { configuration.journalMode = .default }
        configuration.prepareDatabase { try self.prepare($0) }
        return configuration
    }

    package func prepare(_ db: Database) throws {
        // If opening fails on a damaged file, closing must not change it.
        db.setCheckpointOnClose(false)
        // Before anything is written, or a key is given to what others have put there.
        try created?.checkIsOpen()
        try keep(with: db.sqliteConnection)
        let resting = resting.flatMap { $0.isFile(of: db) ? $0 : nil }
        let readsLog = !readsQuietFile && resting?.usesLog ?? true
        if let key, key.form == .rawKey, !readsLog {
            try DecryptingFile.decrypt(
                db.sqliteConnection,
                key: key,
                cipher: options.cipher,
                authenticPages: authenticPages,
                isUnchanged: resting.map { file in { file.isUnchanged } }
            )
        } else {
            try resting?.prepare(db.sqliteConnection)
            if let key {
                try db.proveSQLCipher()
                try db.setKey(key)
                try db.setCipher(options.cipher)
            }
        }
        // Temporary tables and sorter data must not reach the disk as plaintext.
        let isEncrypting = TemporaryStorage.serves(db.sqliteConnection)
        try db.execute(sql: "PRAGMA temp_store = \(isEncrypting ? "FILE" : "MEMORY")")
        if options.isExclusive || resting?.usesLog == true {
            // Before the first read, so that SQLite opens a write-ahead log without shared memory.
            // That requires exclusive access. <https://www.sqlite.org/wal.html#noshm>
            try db.execute(sql: "PRAGMA main.locking_mode = EXCLUSIVE")
        }
        // `sqlite3_key` accepts any key. Only reading a page proves it.
        // <https://www.zetetic.net/sqlcipher/sqlcipher-api/#testing-the-key>
        let onlyReads = options.purpose.onlyReads || options.isReadOnly
        // What is prepared for the database is prepared for its copy, which is migrated.
        try db.readSchemaGuarded(onlyReads: onlyReads && options.purpose != .copy)
        db.setCheckpointOnClose(!keepsLog)

        db.add(function: .uuid)
        try SQLiteExtensions.load(on: db)
        options.functions.forEach(db.add(function:))
        options.collations.forEach(db.add(collation:))
        do {
            try options.prepareDatabase?(db)
        } catch {
            hostThrew.withLock { $0 = true }
            throw error
        }
        // Last, since the host may choose what the first page makes permanent.
        if writesFirstPage { try writeFirstPage(in: db) }
    }

    /// Gives an empty file its first page, which contains the salt.
    private func writeFirstPage(in db: Database) throws {
        guard !db.configuration.readonly, try Int.fetchOne(db, sql: "PRAGMA main.page_count") == 0
        else { return }
        // Taking the write lock is enough. The journal has no pages, so SQLite synchronizes the same
        // header twice. That is harmless: a file gets its first page once. GRDB would ask the host's
        // `transactionClock` for a date.
        let sql = "BEGIN IMMEDIATE; COMMIT"
        guard sqlite3_exec(db.sqliteConnection, sql, nil, nil, nil) == SQLITE_OK else {
            throw DatabaseError(resultCode: db.lastErrorCode, message: db.lastErrorMessage)
        }
    }

    // MARK: - Further Connections

    private static let name = "MigrationKit.ConnectionSetup"

    /// Attaches the setup to a connection, so that more connections like it can be opened.
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
    package static func of(_ reader: some DatabaseReader) throws -> ConnectionSetup? {
        try reader.unsafeRead { db in
            sqlite3_get_clientdata(db.sqliteConnection, name).map {
                Unmanaged<ConnectionSetup>.fromOpaque($0).takeUnretainedValue()
            }
        }
    }

    /// Opens a connection that only reads. Nobody may write the file meanwhile.
    func openReader(_ path: String) throws -> DatabaseQueue {
        // Not read-only unless the others are: SQLite ignores CHECK constraints on a read-only
        // connection.
        try DatabaseQueue(path: path, configuration: configuration.forReadingAlongside)
    }
}

extension EncryptedDatabase {
    /// Returns a function that opens more connections to a database's file. They read an encrypted
    /// file faster than SQLCipher does. Nobody may write the file as long as one of them is open.
    ///
    /// - Parameters:
    ///   - reader: The database. Its key is used.
    ///   - areAuthentic: Whether it is known that all pages are as they were written. Then they aren't
    ///     authenticated again.
    /// - Returns: A function that takes the file's path; `nil` if the database wasn't opened here.
    package static func quietReaders(
        of reader: any DatabaseReader,
        areAuthentic: Bool = false
    ) throws -> (@Sendable (_ path: String) throws -> DatabaseQueue)? {
        guard let setup = try ConnectionSetup.of(reader) else { return nil }
        let quiet = ConnectionSetup(
            key: setup.key,
            options: setup.options,
            keepsLog: setup.keepsLog,
            resting: setup.resting,
            readsQuietFile: true,
            trustsPages: areAuthentic
        )
        return { try quiet.openReader($0) }
    }
}
