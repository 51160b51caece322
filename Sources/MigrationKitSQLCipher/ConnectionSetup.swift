import Foundation
import GRDB
import KeyStore
import MigrationKitGRDB
import Synchronization

/// What happens on every connection before anyone else uses it.
final class ConnectionSetup: Sendable {
    /// `nil` leaves the database unencrypted.
    let key: DatabaseKey?
    let options: EncryptedDatabase.Options
    /// Whether the write-ahead log stays as it is when the last connection is closed.
    private let keepsLog: Bool
    /// The file where it is read as it lies there.
    private let unwritable: UnwritableFile?

    private let hostThrew = Atomic(false)

    /// Of those connections that read a file which nobody writes, as long as there are any.
    private let authenticPages = Mutex(WeakPages())

    private struct WeakPages {
        weak var pages: AuthenticPages?
    }

    init(
        key: DatabaseKey?,
        options: EncryptedDatabase.Options,
        keepsLog: Bool = false,
        unwritable: UnwritableFile? = nil
    ) {
        self.key = key
        self.options = options
        self.keepsLog = keepsLog || unwritable != nil
        self.unwritable = unwritable
    }

    /// Whether the host's own preparation threw, whose errors are not ours to explain.
    var didHostThrow: Bool { hostThrew.load(ordering: .relaxed) }

    /// SQLite counts milliseconds in 32 bits, which are good for 24 days.
    private var busyTimeout: TimeInterval {
        options.busyTimeout > 0 ? min(options.busyTimeout, 2_000_000) : 0
    }

    var configuration: Configuration {
        var configuration = Configuration()
        configuration.readonly = options.isReadOnly
        configuration.busyMode = .timeout(busyTimeout)
        configuration.maximumReaderCount = options.maximumReaderCount
        configuration.label = options.label
        configuration.prepareDatabase { try self.prepare($0) }
        return configuration
    }

    func prepare(_ db: Database) throws {
        // A connection that fails to open a damaged file doesn't touch it when it is closed.
        db.setCheckpointOnClose(false)
        let readsLog = unwritable?.usesLog ?? true
        if let key, key.form == .rawKey, let path = db.filePath,
            StillFile.path == path || !readsLog
        {
            let pages = authenticPages.withLock { weak in
                let pages = weak.pages ?? AuthenticPages()
                weak.pages = pages
                return pages
            }
            try DecryptingFile.decrypt(
                db.sqliteConnection,
                key: key,
                cipher: options.cipher,
                authenticPages: pages,
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
}
