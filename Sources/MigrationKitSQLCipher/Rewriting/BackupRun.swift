import MigrationKitPages
import Foundation
import GRDB
import KeyStore

/// One run of a ``DatabaseBackup``.
struct BackupRun {
    private let form: DatabaseForm
    private let options: DatabaseBackup.Options
    private let monitor: ConversionMonitor
    private let file: DatabaseFile
    private let output: DatabaseFile
    private let target: DatabaseForm
    private let start = ContinuousClock.now

    init(_ backup: DatabaseBackup) throws {
        form = backup.form
        options = backup.options
        monitor = options.monitor
        target = try form.with(backup.newKey, of: backup.path)
        file = try DatabaseFile(backup.path).resolved()
        output = try ConversionFolder.freePlace(backup.outputPath)
    }

    func run() throws -> BackupReport {
        try explaining(source: file, form, file: output) {
            try monitor.underMigrationLock(of: output, copy)
        }
    }

    private func copy() throws -> BackupReport {
        // Named after the output, whose lock is held: nobody uses those of a killed run.
        let folder = ConversionFolder(of: output.absolutePath, for: output.absolutePath)
        folder.removeLeftovers()
        let temporary = try folder.makeFile()
        defer { folder.remove(temporary) }
        let copy = ConversionCopy(
            path: temporary,
            form: target,
            options: options.opening(target, isExclusive: true),
            monitor: monitor
        )
        let (isCompared, findings) = try explainingReadFailures(
            of: temporary,
            for: output,
            from: file
        ) {
            let snapshot = try copy.fillLeavingOutUnused(of: file, form) {
                try fill(copy, without: $0)
            }
            let findings = try copy.checkPages(against: snapshot, of: file.path)
            try snapshot?.close()
            return (snapshot != nil, findings)
        }
        try folder.finish(temporary, mode: 0o600, owner: FileIdentity.of(file.absolutePath))
        let byteCount = FileManager.default.size(of: temporary)
        try monitor.checkCancellation()
        try folder.place(temporary, at: output.absolutePath)
        return BackupReport(
            path: output.path,
            byteCount: byteCount,
            isCompared: isCompared,
            findings: findings,
            seconds: (.now - start) / .seconds(1)
        )
    }

    /// - Returns: A connection that still sees what was copied, if it is in nobody's way by that.
    private func fill(_ copy: ConversionCopy, without unused: UnusedPages?) throws -> DatabaseQueue?
    {
        // The last connection to be closed moves the log into the database and removes it.
        try file.checkLog()
        let source: DatabaseQueue
        do {
            source = try openSnapshot()
        } catch EncryptedDatabaseError.readOnlyFolder {
            // SQLite can't have shared memory there for the log, and so nobody has.
            try RestingDatabase(file, form: form, monitor: monitor).fill(copy, without: unused)
            return nil
        }
        let usesLog = try source.inDatabase { db in
            if let unused, try !unused.leaveOut(on: db.sqliteConnection) {
                throw ConversionCopy.PageFailure.source(.corrupt)
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

    /// Opens the database in a transaction that reads, as many as may do so beside others who write.
    private func openSnapshot() throws -> DatabaseQueue {
        var opening = options.opening(form, isExclusive: false)
        // Otherwise for writing, although it isn't written: a connection that only reads leaves an
        // empty log behind, and can't undo what a killed program began.
        if try file.isUnwritable { opening.isReadOnly = true }
        let identity = try FileIdentity.of(file.absolutePath)
        let opened = try monitor.waiting(for: { try identity?.otherProcesses() ?? [] }) {
            try Self.openSnapshot(of: file, form, opening)
        }
        guard let opened else { throw EncryptedDatabaseError.locked(path: file.path) }
        return opened
    }

    /// - Returns: `nil` if somebody is writing, or has the database alone.
    private static func openSnapshot(
        of file: DatabaseFile,
        _ form: DatabaseForm,
        _ options: EncryptedDatabase.Options
    ) throws -> DatabaseQueue? {
        do {
            let opening = Opening(path: file.absolutePath, key: form.key, options: options)
            let queue = try opening.run { path, configuration in
                var configuration = configuration
                // The transaction stays open from one access to the next.
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

extension DatabaseForm {
    /// The form with another key.
    ///
    /// - Parameter path: The database, for the message.
    package func with(_ key: DatabaseKey?, of path: String) throws -> DatabaseForm {
        guard let key else { return self }
        guard isEncrypted else { throw EncryptedDatabaseError.plaintext(path: path) }
        return .encrypted(key, cipher: cipher)
    }
}

/// Turns failures of copying pages into our own errors.
///
/// - Parameters:
///   - source: Whose pages.
///   - form: How the source is encrypted.
///   - file: What is made of them.
func explaining<Value>(
    source: DatabaseFile,
    _ form: DatabaseForm,
    file: DatabaseFile,
    _ body: () throws -> Value
) throws -> Value {
    do {
        return try body()
    } catch ConversionCopy.PageFailure.source(let code) {
        if code.primary == CipherCode.readError {
            throw EncryptedDatabaseError(code, path: source.path)
        }
        let pages = try FileInspection(source, cipher: form.cipher).damagedPages(form)
        throw EncryptedDatabaseError.damaged(path: source.path, pages: pages)
    } catch ConversionCopy.PageFailure.file(let code) {
        throw EncryptedDatabaseError(code, path: file.path)
    } catch let code as CipherCode {
        throw EncryptedDatabaseError(code, path: file.path)
    } catch let error as DatabaseError {
        let path = error.resultCode == .SQLITE_FULL ? file.path : source.path
        throw EncryptedDatabaseError(error, path: path) ?? error
    }
}
