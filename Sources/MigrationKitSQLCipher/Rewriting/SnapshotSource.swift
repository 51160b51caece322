import MigrationKitPages
import Foundation
import GRDB

/// A database as it is at one instant. Others go on using it.
struct SnapshotSource: PageSource {
    let file: DatabaseFile
    let form: DatabaseForm
    let owner: FileIdentity?
    private let options: DatabaseBackup.Options
    private let monitor: ConversionMonitor

    /// - Parameter file: The database, with its links resolved.
    init(
        _ file: DatabaseFile,
        form: DatabaseForm,
        options: DatabaseBackup.Options,
        monitor: ConversionMonitor
    ) throws {
        self.file = file
        self.form = form
        self.options = options
        self.monitor = monitor
        owner = try FileIdentity.of(file.absolutePath)
    }

    func fill(_ copy: DatabaseCopy, without unused: UnusedPages?) throws -> DatabaseQueue? {
        // Closing the last connection moves the log into the database and removes it.
        try file.checkLog()
        let source: DatabaseQueue
        do {
            source = try open()
        } catch EncryptedDatabaseError.readOnlyFolder {
            // SQLite can't create shared memory for the log there, so no other process has any.
            try RestingSource(file, form: form, monitor: monitor)
                .fillPages(of: copy, without: unused)
            return nil
        }
        let usesLog = try source.inDatabase { db in
            if let unused, try !unused.leaveOut(on: db.sqliteConnection) {
                throw DatabaseCopy.PageFailure.source(.corrupt)
            }
            let pageCount = try Int.fetchOne(db, sql: "PRAGMA main.page_count") ?? 0
            let pageSize = try Int.fetchOne(db, sql: "PRAGMA main.page_size") ?? 0
            try copy.fillPages(from: db.sqliteConnection, byteCount: pageCount * pageSize)
            return try String.fetchOne(db, sql: "PRAGMA main.journal_mode") == "wal"
        }
        guard !usesLog else { return source }
        try source.inDatabase { try $0.execute(sql: "COMMIT") }
        try source.close()
        return nil
    }

    /// Opens a read transaction. Others may read and write meanwhile as far as the journal mode
    /// allows.
    private func open() throws -> DatabaseQueue {
        var opening = options.opening(form)
        // Otherwise it is opened for writing, although nothing is written: a read-only connection
        // leaves an empty log behind and can't undo what a killed program began.
        if try file.isUnwritable { opening.isReadOnly = true }
        let identity = try FileIdentity.of(file.absolutePath)
        let opened = try monitor.waiting(for: { try identity?.otherProcesses() ?? [] }) {
            try beginReading(opening)
        }
        guard let opened else { throw EncryptedDatabaseError.locked(path: file.path) }
        return opened
    }

    /// - Returns: `nil` if another process is writing, or has the database alone.
    private func beginReading(_ options: EncryptedDatabase.Options) throws -> DatabaseQueue? {
        do {
            let opening = Opening(path: file.absolutePath, key: form.key, options: options)
            let queue = try opening.run { path, configuration in
                var configuration = configuration
                // The transaction stays open between accesses.
                configuration.allowsUnsafeTransactions = true
                return try DatabaseQueue(path: path, configuration: configuration)
            }
            try queue.inDatabase { db in
                try db.execute(sql: "BEGIN")
                _ = try Int.fetchOne(db, sql: "SELECT count(*) FROM sqlite_schema")
            }
            return queue
        } catch let error as DatabaseError where error.resultCode == .SQLITE_BUSY {
            return nil
        } catch EncryptedDatabaseError.locked {
            return nil
        }
    }
}
