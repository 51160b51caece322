import MigrationKitCommon
import Foundation
import GRDB
import GRDBSQLite
import MigrationKit

/// A copy of a database before it is migrated, made by the connection that migrates it. Others may
/// write meanwhile.
public enum MigrationBackup {
    /// Copies a database, page by page, into a new file, and checks the copy by opening it.
    ///
    /// The copy has the state of the database when the copying began: everything that was committed
    /// then, and nothing else. It has the same key, and only its owner can read it.
    /// <https://www.sqlite.org/backup.html>
    ///
    /// It gets its name when it is complete, checked, and on the disk. Until then it has a hidden
    /// name beside that. If a run is killed, the next run for the same path removes its unfinished
    /// file.
    ///
    /// - Parameters:
    ///   - source: The database. It is only read.
    ///   - path: The new file. An existing file is never replaced.
    /// - Throws: ``MigrationBackupError``, with nothing left at the path; `ReservedNameError`;
    ///   `MigrationKitError.locked(path:holder:seconds:)` if another process is making this file.
    public static func copy(_ source: any DatabaseReader, to path: String) throws {
        try checkIsFree(path)
        let lock = FileLock(beside: path, suffix: FileLock.migrationSuffix)
        let timeout = 5.0
        do {
            try lock.withLock(timeout: timeout) { try make(path, of: source) }
        } catch FileLock.Failure.held(let holder) {
            throw MigrationKitError.locked(path: path, holder: holder, seconds: timeout)
        } catch FileLock.Failure.refused(let code) {
            throw MigrationBackupError.cannotCreate(path: path, code: code)
        }
    }

    /// Copies a database into a temporary file, with the same key, and removes that after use.
    ///
    /// If the process is killed, the next copy of this database to the same folder removes what is
    /// left.
    ///
    /// - Parameters:
    ///   - source: The database. It is only read.
    ///   - path: The database's path.
    ///   - folder: Where the copy is made; `nil` for beside the database.
    ///   - cancellation: Ends the copying from another thread.
    ///   - progress: Receives how much is copied, in bytes, and how much there is.
    ///   - body: Uses the copy.
    /// - Throws: ``MigrationBackupError``; a `CancellationError`; what the body throws.
    package static func withTemporaryCopy<Value>(
        of source: any DatabaseReader,
        at path: String,
        in folder: String? = nil,
        cancellation: Cancellation? = nil,
        progress: @escaping (_ done: Int, _ total: Int) -> Void = { _, _ in },
        _ body: (DatabaseQueue) throws -> Value
    ) throws -> Value {
        let files = temporaryCopies(of: path, in: folder)
        files.removeLeftovers()
        let (new, copy): (NewFile, DatabaseQueue)
        do {
            new = try files.make()
        } catch {
            throw MigrationBackupError.cannotCreate(path: error.path, code: error.code)
        }
        defer { new.remove() }
        do {
            try fill(new, from: source, cancellation, progress)
            // Otherwise the first commit would have to wait for the copy.
            try new.finish(mode: nil)
            copy = try open(new, like: source)
        } catch let error as DatabaseError {
            throw MigrationBackupError.cannotCopy(path: path, resultCode: error.extendedResultCode)
        } catch let error as NewFileError {
            throw MigrationBackupError.cannotCreate(path: error.path, code: error.code)
        }
        defer { try? copy.close() }
        return try body(copy)
    }

    /// Removes the temporary copies of a database that killed runs have left, unless another is at
    /// work on them.
    package static func removeTemporaryCopies(of path: String, in folder: String? = nil) {
        temporaryCopies(of: path, in: folder).removeLeftovers()
    }

    private static func temporaryCopies(of path: String, in folder: String?) -> NewFiles {
        NewFiles(.writing, for: path, beside: folder.map { "\($0)/copy" })
    }

    /// Removes what a killed run has left beside the backup that it had made, unless another is at work.
    package static func removeLeftovers(of path: String) {
        let lock = FileLock(beside: path, suffix: FileLock.migrationSuffix)
        try? lock.withLock(timeout: 0) { NewFiles(for: path).removeLeftovers() }
    }

    /// Throws if the file exists, or a file that SQLite would take for its journal, or if the name
    /// is that of another database's journal.
    private static func checkIsFree(_ path: String) throws {
        try ReservedNameError.check(path)
        var status = stat()
        for suffix in [""] + NewFiles.journalSuffixes
        where lstat(path + suffix, &status) == 0 {
            throw MigrationBackupError.cannotCreate(path: path + suffix, code: EEXIST)
        }
    }

    private static func make(_ path: String, of source: any DatabaseReader) throws {
        let files = NewFiles(for: path)
        files.removeLeftovers()
        do {
            let new = try files.make()
            defer { new.remove() }
            try fill(new, from: source)
            try check(new, of: path, as: source)
            try new.finish(mode: 0o600)
            // The folder is not left to the migration's first commit: if there is a write-ahead log
            // already, that reaches the disk before the folder does.
            try new.place(at: path)
        } catch let error as DatabaseError {
            throw MigrationBackupError.cannotCopy(path: path, resultCode: error.extendedResultCode)
        } catch let error as NewFileError {
            if error.isPlaced { unlink(path) }
            throw MigrationBackupError.cannotCreate(path: path, code: error.code)
        }
    }

    private static func fill(
        _ new: NewFile,
        from source: any DatabaseReader,
        _ cancellation: Cancellation? = nil,
        _ progress: @escaping (_ done: Int, _ total: Int) -> Void = { _, _ in }
    ) throws {
        let copy = try open(new, like: source)
        try copy.writeWithoutTransaction { db in
            // A crash loses only the temporary file, and it is synchronized as a whole at the end.
            // So a journal and SQLite's own synchronizations would be wasted.
            try db.execute(
                sql: "PRAGMA main.journal_mode = OFF; PRAGMA main.synchronous = OFF"
            )
        }
        try source.read { db in
            // Begins the transaction whose state is copied.
            db.clearSchemaCache()
            try db.execute(sql: "SELECT count(*) FROM sqlite_master")
            let pageSize = try Int.fetchOne(db, sql: "PRAGMA main.page_size") ?? 0
            try copy.writeWithoutTransaction { target in
                try db.backup(to: target, pagesPerStep: 1024) {
                    try cancellation?.check()
                    progress($0.completedPageCount * pageSize, $0.totalPageCount * pageSize)
                }
            }
            try db.checkPagesRead()
        }
        try copy.close()
    }

    /// Opened again, because the connection that wrote it has its pages in memory. Opened for
    /// writing, although nothing is written: in WAL mode, a read-only connection can't remove the
    /// files that it creates beside it. <https://www.sqlite.org/wal.html#read_only_databases>
    private static func check(
        _ new: NewFile,
        of path: String,
        as source: any DatabaseReader
    ) throws {
        let copy = try open(new, like: source)
        let finding = try copy.read { try $0.quickCheck().found.first }
        try copy.close()
        if let finding {
            guard !finding.saysReadError else {
                throw MigrationBackupError.cannotCopy(path: path, resultCode: .SQLITE_IOERR_READ)
            }
            throw MigrationBackupError.copyIsDamaged(path: path, finding: finding)
        }
    }

    /// The source's configuration has the key, however it was given.
    private static func open(_ new: NewFile, like source: any DatabaseReader) throws
        -> DatabaseQueue
    {
        var configuration = source.configuration
        configuration.readonly = false
        configuration.targetQueue = nil
        configuration.writeTargetQueue = nil
        return try new.connecting {
            try DatabaseQueue(path: $0, configuration: configuration)
        }
    }
}

/// Why a backup can't be made.
public enum MigrationBackupError: Error, Equatable, Sendable {
    /// The file can't be created or written, with this errno.
    case cannotCreate(path: String, code: Int32)

    /// The database can't be read, or the copy can't be written, with this result code of SQLite.
    case cannotCopy(path: String, resultCode: ResultCode)

    /// The copy was written, but is damaged. So the database or the disk is damaged, too.
    case copyIsDamaged(path: String, finding: String)
}

extension MigrationBackupError: LocalizedError {
    /// What is wrong, in one line.
    public var errorDescription: String? {
        switch self {
        case .cannotCreate(let path, let code):
            "the backup \(path) can't be made: \(systemReason(code))"
        case .cannotCopy(let path, let code):
            "the backup \(path) can't be made: \(String(cString: sqlite3_errstr(code.rawValue)))"
        case .copyIsDamaged(let path, let finding):
            "the backup \(path) is damaged: \(finding)"
        }
    }

    /// What to do about it.
    public var recoverySuggestion: String? {
        switch self {
        case .cannotCreate(_, EEXIST):
            "Choose another path: a backup never replaces a file."
        case .cannotCreate:
            "Choose a path in a folder that exists and can be written."
        case .cannotCopy:
            "Nothing was migrated. Make room on the disk, or choose another one."
        case .copyIsDamaged:
            "Nothing was migrated. Verify the database, and the disk."
        }
    }
}

extension MigrationBackupError: CodedError {
    /// The error's code for programs, and its exit status.
    public var code: ErrorCode {
        switch self {
        case .cannotCreate(_, ENOSPC), .cannotCreate(_, EIO), .copyIsDamaged:
            ErrorCode("backupFailed", .inputOutput)
        case .cannotCopy(_, let code):
            ErrorCode(sqlite: code.rawValue).flatMap { $0.exitStatus == .busy ? $0 : nil }
                ?? ErrorCode("backupFailed", .inputOutput)
        case .cannotCreate: ErrorCode("cannotWrite", .cannotCreate)
        }
    }
}
