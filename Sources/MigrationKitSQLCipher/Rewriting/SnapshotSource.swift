import MigrationKitPages
import Foundation
import GRDB
import MigrationKitKeys

/// A database as it is at one instant. Others go on using it.
struct SnapshotSource: RewriteSource, PageSource {
    let file: DatabaseFile
    let form: DatabaseForm
    let owner: FileIdentity?
    private let options: RewriteOptions
    private let monitor: ConversionMonitor

    /// - Parameter file: The database, with its links resolved.
    init(
        _ file: DatabaseFile,
        form: DatabaseForm,
        options: RewriteOptions,
        monitor: ConversionMonitor
    ) throws {
        self.file = file
        self.form = form
        self.options = options
        self.monitor = monitor
        owner = try FileIdentity.of(file.absolutePath)
    }

    func withPages<Value>(
        without unused: UnusedPages?,
        _ body: (DatabasePages, DatabaseKey?) throws -> Value
    ) throws -> Value {
        // Closing the last connection moves the log into the database and removes it.
        try file.checkLog()
        let (source, instant): (DatabaseQueue, LogInstant?)
        do {
            (source, instant) = try open()
        } catch EncryptedDatabaseError.readOnlyFolder {
            // SQLite can't create shared memory for the log there, so no other process has any.
            return try RestingSource(file, form: form, monitor: monitor)
                .withPages(without: unused, body)
        }
        let key = try ConnectionSetup.of(source)?.key
        let value = try source.inDatabase { db in
            let pages = try pages(of: db.sqliteConnection, without: unused) {
                try instant.flatMap { try LogPages(path: file.resolvedPath + "-wal", $0) }
            }
            let value = try body(pages, key)
            try db.execute(sql: "COMMIT")
            return value
        }
        try source.close()
        return value
    }

    /// Opens a read transaction. Others may read and write meanwhile as far as the journal mode
    /// allows.
    ///
    /// - Returns: The connection, and what it sees of the log, if there is one.
    private func open() throws -> (DatabaseQueue, LogInstant?) {
        var opening = options.opening(form)
        // Otherwise it is opened for writing, although nothing is written: a read-only connection
        // leaves an empty log behind and can't undo what a killed program began.
        if try file.look().isUnwritable { opening.isReadOnly = true }
        let identity = try FileIdentity.of(file.absolutePath)
        let opened = try monitor.waiting(for: { try identity?.otherProcesses() ?? [] }) {
            try beginReading(opening)
        }
        guard let opened else { throw EncryptedDatabaseError.locked(path: file.path) }
        return opened
    }

    /// - Returns: `nil` if another process is writing, or has the database alone.
    private func beginReading(
        _ options: EncryptedDatabase.Options
    ) throws -> (DatabaseQueue, LogInstant?)? {
        do {
            let opening = Opening(path: file.absolutePath, key: form.key, options: options)
            let queue = try opening.run { path, configuration in
                var configuration = configuration
                // The transaction stays open between accesses.
                configuration.allowsUnsafeTransactions = true
                return try DatabaseQueue(path: path, configuration: configuration)
            }
            return try queue.inDatabase { db in
                try begin(db)
                // Nobody changes the mode as long as the transaction is open.
                guard try String.fetchOne(db, sql: "PRAGMA main.journal_mode") == "wal" else {
                    return (queue, nil)
                }
                return try instant(of: db).map { (queue, $0) }
            }
        } catch let error as DatabaseError where error.resultCode == .SQLITE_BUSY {
            return nil
        } catch EncryptedDatabaseError.locked {
            return nil
        }
    }

    private func begin(_ db: Database) throws {
        try db.execute(sql: "BEGIN")
        _ = try Int.fetchOne(db, sql: "SELECT count(*) FROM sqlite_schema")
    }

    /// Begins the transaction anew, until nobody has committed just then.
    ///
    /// - Returns: What it sees of the log; `nil` if others commit all the time.
    private func instant(of db: Database) throws -> LogInstant? {
        for _ in 0..<1000 {
            try db.execute(sql: "COMMIT")
            do {
                let connection = db.sqliteConnection
                let instant = try LogInstant.of(connection, beginning: { try begin(db) })
                if let instant { return instant }
            } catch let code as CipherCode where code.primary == CipherCode.readOnly {
                // Nobody has the index of the log open, and it can't be written.
                throw EncryptedDatabaseError.readOnlyFolder(path: file.path)
            }
        }
        return nil
    }
}
