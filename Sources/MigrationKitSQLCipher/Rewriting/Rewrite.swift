import CSQLCipher
import Foundation
import GRDB
import MigrationKitCommon
import MigrationKitGRDB
import MigrationKitPages

/// Writes a database file anew: a source is copied into a new file, the copy is checked, and then it
/// gets its place. Conversions, backups and restores are all one of these.
///
/// The new file has a hidden name until it is whole and on the disk. Whatever ends the process, there
/// is the old file at the place or the new one.
package struct Rewrite {
    /// What is read.
    let file: DatabaseFile
    /// The file that was there before this waited for its lock.
    private let identity: FileIdentity?
    /// Where the new file goes.
    let place: DatabaseFile
    /// Where the file that is replaced is kept.
    let original: DatabaseFile?
    package let monitor: ConversionMonitor
    let options: RewriteOptions
    /// The files whose migration locks are held while new files are made, placed and removed.
    private let locked: [DatabaseFile]
    private let start = ContinuousClock.now

    /// - Parameters:
    ///   - file: What is read, its links resolved.
    ///   - isLocked: Whether that is locked as well as the place.
    ///   - place: Where the new file goes, its links resolved.
    ///   - original: Where the file that is replaced is kept.
    package init(
        of file: DatabaseFile,
        isLocked: Bool = false,
        to place: DatabaseFile,
        keepingAs original: DatabaseFile? = nil,
        options: RewriteOptions
    ) throws {
        self.file = file
        self.place = place
        self.original = original
        self.options = options
        monitor = options.monitor
        identity = try FileIdentity.of(file.absolutePath)
        var locked = isLocked && file.absolutePath != place.absolutePath ? [file, place] : [place]
        if let original, try !original.isBeside(place) { locked.append(original) }
        self.locked = locked
    }

    /// How long it has taken so far, in seconds, the waiting for others included.
    package var seconds: Double { (.now - start) / .seconds(1) }

    /// Runs `body` under the locks under which databases are migrated, too.
    ///
    /// - Throws: ``DatabaseConversionError``, ``EncryptedDatabaseError``, or what `body` throws.
    package func underLocks<Value>(_ body: () throws -> Value) throws -> Value {
        do {
            for file in locked { try file.checkNameLength() }
            return try underLocks(of: locked[...], body)
        } catch {
            throw explained(error)
        }
    }

    private func underLocks<Value>(
        of files: ArraySlice<DatabaseFile>,
        _ body: () throws -> Value
    ) throws -> Value {
        guard let file = files.first else { return try body() }
        return try monitor.underMigrationLock(of: file) {
            try underLocks(of: files.dropFirst(), body)
        }
    }

    /// Makes the new file, empty. The caller holds the locks, and removes the file.
    ///
    /// What killed runs left is removed first, before anything that may fail.
    package func begin() throws -> NewFile {
        for file in locked { NewFiles(for: file.absolutePath).removeLeftovers() }
        return try NewFiles(for: place.absolutePath).make()
    }

    // MARK: - Source, Copy, Check, Publish

    /// How the new file gets its place.
    enum Destination {
        /// Nothing is there, nor beside it.
        case free
        /// Nothing is there. What a file left beside it that was deleted is removed.
        case abandoned
        /// The file that is there is replaced.
        case locked(any LockedFile)
    }

    /// Fills the new file, checks it, and gives it its place.
    ///
    /// - Parameter form: How the new file is encrypted.
    /// - Returns: What is known of its content, and its size.
    func write<Source: RewriteSource>(
        _ new: NewFile,
        as form: DatabaseForm,
        from source: Source,
        at destination: Destination
    ) throws -> (content: Source.Content, byteCount: Int) {
        let copy = DatabaseCopy(
            path: new.path,
            form: form,
            options: options.opening(form),
            monitor: monitor
        )
        var made: (content: Source.Content, byteCount: Int)?
        // A source that is replaced itself is copied again if other programs have changed it.
        for _ in 1...3 {
            if made == nil || source is any LockedFile {
                if made != nil { try new.clear() }
                made = try fill(new, copy, from: source, at: destination)
            }
            do {
                try monitor.checkCancellation()
                try publish(new, at: destination)
                try source.unlock()
                if let made { return made }
            } catch is ChangedWhileWaiting {}
        }
        throw DatabaseConversionError.changedMeanwhile(path: place.path)
    }

    private func fill<Source: RewriteSource>(
        _ new: NewFile,
        _ copy: DatabaseCopy,
        from source: Source,
        at destination: Destination
    ) throws -> (content: Source.Content, byteCount: Int) {
        var (owner, attributes) = (source.owner, FileAttributes?.none)
        if case .locked(let file) = destination {
            owner = file.identity
            attributes = try FileAttributes(of: file.file.absolutePath).forNewDatabase
        }
        let content: Source.Content
        do {
            content = try explainingReadFailures(of: new.path, for: place, from: source.file) {
                try source.fill(copy) {
                    try new.finish(mode: source.mode, owner: owner.map { ($0.owner, $0.group) })
                    try attributes?.give(to: new)
                }
            }
        } catch {
            throw source.explained(error)
        }
        return (content, FileManager.default.size(of: new.path))
    }

    private func publish(_ new: NewFile, at destination: Destination) throws {
        switch destination {
        case .locked(let file):
            try file.replace(by: new, keepingAs: original)
        case .abandoned where try place.look().hasJournal:
            // Under SQLite's lock on the name: another program may be making its database there.
            let reserved = try LockedPlace(reserving: place, monitor: monitor)
            defer { reserved.free() }
            do {
                try reserved.replace(by: new, keepingAs: nil)
            } catch is ChangedWhileWaiting {
                throw DatabaseConversionError.exists(path: place.path)
            }
        case .free, .abandoned:
            try new.place(at: place.absolutePath)
        }
    }

    // MARK: - Errors

    /// The one place where errors of what is below become public ones.
    package func explained(_ error: any Error) -> any Error {
        switch error {
        case let error as NewFileError:
            error.explained
        // The new file's path is no name that a person could look for.
        case EncryptedDatabaseError.diskFull(let path) where HeldFolder.holds(path):
            EncryptedDatabaseError.diskFull(path: place.path)
        case EncryptedDatabaseError.inputOutput(let path, let detail) where HeldFolder.holds(path):
            EncryptedDatabaseError.inputOutput(path: place.path, detail: detail)
        case EncryptedDatabaseError.damaged(let path, let pages) where HeldFolder.holds(path):
            EncryptedDatabaseError.damaged(path: place.path, pages: pages)
        case DatabaseConversionError.copyIsDamaged(let path, let finding)
        where HeldFolder.holds(path):
            DatabaseConversionError.copyIsDamaged(path: place.path, finding: finding)
        case PageRewritingError.file(ENOSPC), PageRewritingError.file(EDQUOT):
            EncryptedDatabaseError.diskFull(path: place.path)
        case PageRewritingError.file(let code):
            EncryptedDatabaseError.inputOutput(path: place.path, detail: systemReason(code))
        case let code as CipherCode:
            EncryptedDatabaseError(code, path: locked[0].path)
        case let error as DatabaseError:
            error.lack(in: file.path)
                ?? EncryptedDatabaseError(
                    error,
                    path: (error.resultCode == .SQLITE_FULL ? place : file).path
                ) ?? error.contradiction(in: file.path) ?? error
        case EncryptedDatabaseError.wrongKey(let path) where isReplaced && path == file.path,
            EncryptedDatabaseError.wrongKeyOrSalt(let path)
        where isReplaced && path == file.path:
            // The key was read before the lock was free, and the process that held the lock has
            // rewritten the database.
            DatabaseConversionError.replacedMeanwhile(path: path)
        default:
            error
        }
    }

    private var isReplaced: Bool {
        guard let identity, let current = try? FileIdentity.of(file.absolutePath) else {
            return false
        }
        return !current.isSameFile(as: identity)
    }
}

extension DatabaseError {
    /// Only our own SQL runs: if SQLite refuses it, the schema contradicts itself, or the rows
    /// contradict it.
    fileprivate func contradiction(in path: String) -> (any Error)? {
        switch resultCode {
        case .SQLITE_ERROR, .SQLITE_CONSTRAINT, .SQLITE_TOOBIG, .SQLITE_MISMATCH:
            EncryptedDatabaseError.damaged(path: path, pages: [])
        default: nil
        }
    }

    /// The error that names the collation or function which isn't registered, if it is about one.
    fileprivate func lack(in path: String) -> (any Error)? {
        let collation = "no such collation sequence: "
        let function = "unknown function: "
        guard let message else { return nil }
        if message.hasPrefix(collation) {
            let name = String(message.dropFirst(collation.count))
            return DatabaseConversionError.unknownCollation(path: path, name: name)
        }
        if message.hasPrefix(function), message.hasSuffix("()") {
            let name = String(message.dropFirst(function.count).dropLast(2))
            return DatabaseConversionError.unknownFunction(path: path, name: name)
        }
        return nil
    }
}

// MARK: - Read Failure

/// Runs `body`. If it fails because of damage, checks whether the disk can't be read: SQLCipher
/// reports a read error in the same way as a damaged page.
///
/// - Parameters:
///   - copy: The temporary file of a new database; `nil` if there is none yet.
///   - place: The new database's path.
///   - source: The database that is copied.
///   - suspecting: Which of the body's own errors may come from a failing disk.
/// - Throws: ``EncryptedDatabaseError/inputOutput(path:detail:)``, or what the body throws.
package func explainingReadFailures<Value>(
    of copy: String?,
    for place: DatabaseFile,
    from source: DatabaseFile,
    suspecting: (any Error) -> Bool = { _ in false },
    _ body: () throws -> Value
) throws -> Value {
    do {
        return try body()
    } catch DatabaseConversionError.copyIsDamaged(_, let finding) where finding.saysReadError {
        throw EncryptedDatabaseError.inputOutput(
            path: place.path,
            detail: "the new file for it can't be read back from the disk"
        )
    } catch  where suspecting(error) || mayBeReadFailure(error) {
        if let copy, let code = DatabaseFile(copy).readFailure {
            throw EncryptedDatabaseError.inputOutput(
                path: place.path,
                detail: "the new file for it gives a read error (SQLite \(code.rawValue))"
            )
        }
        if let code = source.readFailure { throw EncryptedDatabaseError(code, path: source.path) }
        throw error
    }
}

private func mayBeReadFailure(_ error: any Error) -> Bool {
    switch error {
    case let error as DatabaseError:
        [.SQLITE_ERROR, .SQLITE_CORRUPT, .SQLITE_NOTADB, .SQLITE_NOMEM, .SQLITE_IOERR]
            .contains(error.resultCode)
    case let code as CipherCode: code.isReadFailure
    case PageRewritingError.unreadable, PageRewritingError.file(EIO): true
    case EncryptedDatabaseError.damaged, EncryptedDatabaseError.newerFormat,
        EncryptedDatabaseError.plaintextHeader,
        EncryptedDatabaseError.olderFormat, EncryptedDatabaseError.otherSettings,
        EncryptedDatabaseError.notADatabase,
        EncryptedDatabaseError.encrypted, EncryptedDatabaseError.inputOutput:
        true
    case let error as EncryptedDatabaseError where error.isWrongKey: true
    case DatabaseConversionError.copyIsDamaged, DatabaseConversionError.copyDiffers: true
    default: false
    }
}

extension DatabaseFile {
    /// The result code if the disk can't read the whole file; `nil` if it can.
    fileprivate var readFailure: CipherCode? {
        let step = 1 << 20
        do throws(CipherCode) {
            let connection = try CipherConnection(immutable: absolutePath)
            let size = try connection.fileSize()
            for offset in stride(from: 0, to: size, by: step) {
                _ = try connection.bytes(at: offset, count: min(step, size - offset))
            }
            return nil
        } catch {
            return error.primary == CipherCode.readError ? error : nil
        }
    }
}
