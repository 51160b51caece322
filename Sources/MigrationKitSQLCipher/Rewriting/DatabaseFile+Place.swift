import MigrationKitCommon
import MigrationKitPages
import Foundation
import Glibc

extension DatabaseFile {
    /// The file that the path leads to. Throws if this process has it open: SQLite's locks don't
    /// show an idle connection of the same process.
    ///
    /// - Throws: ``EncryptedDatabaseError/noSuchFile(path:)``;
    ///   ``DatabaseConversionError/openHere(path:)``.
    package func identityNotOpenHere() throws -> FileIdentity {
        guard let identity = try FileIdentity.of(absolutePath) else {
            throw EncryptedDatabaseError.noSuchFile(path: path)
        }
        guard try identity.ownDescriptorCount == 0 else {
            throw DatabaseConversionError.openHere(path: path)
        }
        return identity
    }

    /// A free path for a new file, with no journal beside it.
    ///
    /// - Parameter database: The database that the new file is a copy of; `nil` for any other new
    ///   file.
    package static func freePlace(
        _ path: String,
        forOriginalOf database: DatabaseFile? = nil
    ) throws -> DatabaseFile {
        let file = DatabaseFile(path)
        do {
            try file.checkNameLength()
            try file.checkIsFree()
            // It may be all that is left of a database, and SQLite would take it for the new one's.
            for suffix in journalSuffixes where try isThere(file.absolutePath + suffix) {
                throw DatabaseConversionError.exists(path: path + suffix)
            }
            return file
        } catch DatabaseConversionError.exists(let found) {
            // A run may have put it there that was killed before it was done.
            try file.removeUnusedLeftovers(forOriginalOf: database ?? file)
            throw DatabaseConversionError.exists(path: found)
        }
    }

    /// Throws if something is at the path, whatever may be beside it, or nothing can be created there,
    /// or the name is that of a file beside another database.
    func checkIsFree() throws {
        guard isNamed else { throw DatabaseConversionError.cannotWrite(path: path, code: ENOENT) }
        try ReservedNameError.check(path)
        guard try !Self.isThere(absolutePath) else {
            throw DatabaseConversionError.exists(path: path)
        }
        let folder = URL(fileURLWithPath: absolutePath).deletingLastPathComponent().path
        guard faccessat(AT_FDCWD, folder, W_OK | X_OK, AT_EACCESS) == 0 else {
            throw DatabaseConversionError.cannotWrite(path: path, code: errno)
        }
    }

    /// Throws if the file can't be replaced by another.
    func checkIsReplaceable() throws {
        try look().checkAccess(forWriting: true)
        guard let owner = try FileIdentity.of(absolutePath)?.owner else { return }
        guard geteuid() == 0 || owner == geteuid() else {
            throw DatabaseConversionError.otherOwner(path: path, owner: owner)
        }
    }

    /// Throws if the file system has less room than a new file at the path certainly needs, so that a
    /// copy that can't be finished isn't started. Limits that a file system doesn't report, such as a
    /// quota, show only while the file is written.
    ///
    /// - Parameters:
    ///   - byteCount: The least that the file needs.
    ///   - estimate: What it probably needs, for the message; `nil` for the same.
    package func checkRoom(for byteCount: Int, about estimate: Int? = nil) throws {
        let folder =
            URL(fileURLWithPath: HeldFolder.neighbour(of: absolutePath))
            .deletingLastPathComponent().path
        var status = statvfs()
        // A file system that reports no blocks doesn't count them.
        guard statvfs(folder, &status) == 0, status.f_blocks > 0 else { return }
        let blocks = geteuid() == 0 ? status.f_bfree : status.f_bavail
        let free = Int(
            clamping: UInt64(blocks).multipliedReportingOverflow(by: UInt64(status.f_frsize))
                .partialValue
        )
        guard free < byteCount else { return }
        throw DatabaseConversionError.notEnoughRoom(
            folder: folder,
            needed: estimate ?? byteCount,
            free: free
        )
    }

    /// Throws if a file name is too long for the file system. The longest name is that of the new
    /// file's journal while the file is written.
    func checkNameLength() throws {
        let url = URL(fileURLWithPath: absolutePath)
        let most = pathconf(url.deletingLastPathComponent().path, Int32(_PC_NAME_MAX))
        let limit = (most > 0 ? most : Int(NAME_MAX)) - NewFiles.addedNameCount
        guard url.lastPathComponent.utf8.count <= limit else {
            throw DatabaseConversionError.nameTooLong(path: path, limit: limit)
        }
    }

    /// Whether anything exists at a path, even a dangling link.
    private static func isThere(_ path: String) throws -> Bool {
        var status = stat()
        guard lstat(path, &status) != 0 else { return true }
        return try Found<Never>(failing: "lstat", on: path, errno).get() != nil
    }

    // MARK: - New Files

    /// The files that are made for this one, under its lock.
    var newFiles: NewFiles { NewFiles(for: resolvedPath) }

    /// The file whose lock protects the making of a copy at this path. Beside the database, that is
    /// the database's lock. In another folder it is the copy's own: a database of the same name
    /// there may be being converted.
    func locked(asOriginalOf database: DatabaseFile) throws -> DatabaseFile {
        try isBeside(database) ? database : self
    }

    /// The temporary files of a copy of a database that is made at this path.
    func newFiles(forOriginalOf database: DatabaseFile) throws -> NewFiles {
        try NewFiles(for: locked(asOriginalOf: database).absolutePath, beside: absolutePath)
    }

    /// The absolute paths of the files of runs that were killed.
    ///
    /// - Throws: ``EncryptedDatabaseError`` if the disk doesn't give them.
    package func leftovers() throws(EncryptedDatabaseError) -> [String] {
        do {
            return try newFiles.leftovers().sorted().map { "\(newFiles.folder)/\($0)" }
        } catch {
            throw .unreadable(newFiles.folder, "list", error.code.rawValue)
        }
    }

    /// Removes the files of runs that were killed, unless a running process holds the lock.
    private func removeUnusedLeftovers(forOriginalOf database: DatabaseFile) throws {
        let files = try newFiles(forOriginalOf: database)
        let lock = try locked(asOriginalOf: database).migrationLock
        guard (try? files.leftovers())?.isEmpty == false, let held = try? lock.hold() else {
            return
        }
        files.removeLeftovers()
        held.release()
    }

    /// The lock under which the file is migrated and written anew, the same as the runner's.
    package var migrationLock: FileLock {
        FileLock(beside: absolutePath, suffix: FileLock.migrationSuffix)
    }
}

extension NewFileError {
    /// The error for those who called for the new file.
    package var explained: any Error {
        switch code {
        case _ where isPlaced: DatabaseConversionError.notSynced(path: path, code: code)
        case EEXIST: DatabaseConversionError.exists(path: path)
        case ENOSPC, EDQUOT: EncryptedDatabaseError.diskFull(path: path)
        case EIO:
            EncryptedDatabaseError.inputOutput(
                path: path,
                detail: systemReason(code)
            )
        default: DatabaseConversionError.cannotWrite(path: path, code: code)
        }
    }
}
