import MigrationKitPages
import Foundation
import GRDB
import MigrationKitKeys
import MigrationKitGRDB

/// The database that is converted. As long as this is open, nobody else reads or writes it.
///
/// SQLite's exclusive locking mode takes the lock with the first transaction and keeps it after the
/// last. With a write-ahead log, it is refused as long as anybody else is connected.
/// <https://www.sqlite.org/pragma.html#pragma_locking_mode>
final class LockedSource: LockedFile, RewriteSource, PageSource {
    let file: DatabaseFile
    private(set) var queue: DatabaseQueue
    let identity: FileIdentity
    private(set) var journalMode: String
    private(set) var byteCount: Int
    let monitor: ConversionMonitor
    let form: DatabaseForm
    private let options: EncryptedDatabase.Options

    /// Opens and locks a database, and empties its write-ahead log into it.
    ///
    /// - Parameter file: The database, with its links resolved.
    /// - Throws: ``EncryptedDatabaseError``; ``DatabaseConversionError``.
    init(
        _ file: DatabaseFile,
        form: DatabaseForm,
        options: EncryptedDatabase.Options,
        monitor: ConversionMonitor
    ) throws {
        self.file = file
        self.form = form
        var options = options
        options.isExclusive = true
        self.options = options
        self.monitor = monitor
        identity = try file.identityNotOpenHere()
        queue = try Self.hold(file, identity, form, options, monitor)
        (journalMode, byteCount) = try Self.look(at: queue)
    }

    func holdAgain() throws {
        try queue.close()
        queue = try Self.hold(file, identity, form, options, monitor)
        (journalMode, byteCount) = try Self.look(at: queue)
    }

    private static func hold(
        _ file: DatabaseFile,
        _ identity: FileIdentity,
        _ form: DatabaseForm,
        _ options: EncryptedDatabase.Options,
        _ monitor: ConversionMonitor
    ) throws -> DatabaseQueue {
        // Emptying the log discards any commits that SQLite doesn't see in it.
        try file.checkLog()
        do {
            try file.checkLength()
        } catch {
            // What a log says that isn't the file's own is no damage.
            let look = try file.look()
            let inspection = try FileInspection(look, cipher: form.cipher)
            let key = try form.key.map { try inspection.derive($0) }
            try JournalOwnership(look, key: key, cipher: form.cipher).check()
            throw error
        }
        let opened = try monitor.waitingUntilUnused(identity) {
            try openLocked(file, form, options)
        }
        guard let opened else {
            throw DatabaseConversionError.inUse(path: file.path, by: try identity.otherProcesses())
        }
        return opened
    }

    private static func look(
        at queue: DatabaseQueue
    ) throws -> (journalMode: String, byteCount: Int) {
        try queue.inDatabase { db in
            (
                try String.fetchOne(db, sql: "PRAGMA main.journal_mode") ?? "delete",
                try MainFile(of: db.sqliteConnection).size()
            )
        }
    }

    func withConnection<Value>(_ body: (OpaquePointer?) throws -> Value) throws -> Value {
        try queue.inDatabase { try body($0.sqliteConnection) }
    }

    func emptyJournals() throws {
        // Nothing should have been written since, but a log with content must not be deleted.
        try queue.inDatabase { try Self.emptyLog($0, file) }
    }

    /// In exclusive locking mode, SQLite synchronizes a journal that it has rolled back twice: when
    /// it opens the file, and when it closes it. A program with `synchronous = OFF` may have
    /// written that journal. Otherwise the journal is on the disk already.
    func unlock() throws { try queue.close() }

    /// A connection for reading everything: an additional one if the database is encrypted.
    func reader() throws -> DatabaseQueue {
        guard form.isEncrypted else { return queue }
        return try EncryptedDatabase.quietReaders(of: queue)?(file.absolutePath) ?? queue
    }

    // MARK: - Copying

    var owner: FileIdentity? { identity }
    var mode: mode_t { identity.mode & 0o600 }

    /// Copies the pages, if those of the copy have the same form, or else the rows.
    func fill(_ copy: DatabaseCopy, finish: () throws -> Void) throws -> CopiedContent {
        if copy.form.hasPages(of: form) {
            return try copy.copyPages(of: self, finish: finish) { try copy.content($0) }
        }
        try copy.fill(from: self)
        let content = try copy.check(against: self)
        try finish()
        return content
    }

    /// The header; `nil` if the file is empty.
    func header() throws -> DatabaseHeader? {
        let setup = try ConnectionSetup.of(queue)
        return try queue.inDatabase { db in
            let file = try MainFile(of: db.sqliteConnection)
            guard let setup, let key = setup.key else {
                return DatabaseHeader(try file.bytes(at: 0, count: DatabaseHeader.count))
            }
            let cipher = setup.options.cipher
            let page = try file.bytes(at: 0, count: cipher.pageSize)
            return DatabaseHeader(decrypting: page, key: key, cipher: cipher)
        }
    }

    func withPages<Value>(
        without unused: UnusedPages?,
        _ body: (DatabasePages, DatabaseKey?) throws -> Value
    ) throws -> Value {
        let key = try ConnectionSetup.of(queue)?.key
        return try queue.inDatabase { db in
            // The log is empty since the database was locked.
            try body(pages(of: db.sqliteConnection, without: unused), key)
        }
    }

    /// SQLite has no code of its own for damaged pages: one that SQLCipher can't authenticate is "SQL
    /// logic error" as well.
    func explained(_ error: any Error) -> any Error {
        if error is PageRewritingError { return explainedPages(error) }
        guard let code = (error as? DatabaseError)?.resultCode,
            [.SQLITE_ERROR, .SQLITE_CORRUPT, .SQLITE_NOTADB, .SQLITE_NOMEM].contains(code),
            let inspection = try? FileInspection(file.look(), cipher: form.cipher),
            let pages = try? inspection.damagedPages(form), !pages.isEmpty
        else { return error }
        return EncryptedDatabaseError.damaged(path: file.path, pages: pages)
    }

    // MARK: - Locking

    /// - Returns: `nil` if others block it. Then no lock is held: waiting with a read lock would
    ///   keep the others from ever finishing.
    private static func openLocked(
        _ file: DatabaseFile,
        _ form: DatabaseForm,
        _ options: EncryptedDatabase.Options
    ) throws -> DatabaseQueue? {
        do {
            let queue = try Opening(path: file.absolutePath, key: form.key, options: options).run {
                try DatabaseQueue(path: $0, configuration: $1)
            }
            do {
                try queue.inDatabase { db in
                    try db.execute(sql: "PRAGMA main.synchronous = FULL")
                    try db.execute(sql: "BEGIN EXCLUSIVE; COMMIT")
                    try emptyLog(db, file)
                }
            } catch {
                try? queue.close()
                throw error
            }
            return queue
        } catch let error as DatabaseError where error.resultCode == .SQLITE_BUSY {
            return nil
        } catch EncryptedDatabaseError.locked {
            return nil
        }
    }

    /// SQLite synchronizes the log first, even if its commits were on the disk already: a program
    /// with `synchronous = NORMAL` doesn't wait for that. It also synchronizes the folder, once for
    /// each connection, since it can't see whether the log is new.
    /// <https://www.sqlite.org/pragma.html#pragma_wal_checkpoint>
    private static func emptyLog(_ db: Database, _ file: DatabaseFile) throws {
        guard
            let row = try Row.fetchOne(db, sql: "PRAGMA main.wal_checkpoint(TRUNCATE)"),
            row[0] == 0
        else { throw EncryptedDatabaseError.locked(path: file.path) }
    }
}
