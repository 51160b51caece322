import MigrationKitPages
import MigrationKitCommon
import Foundation
import Glibc

/// The files that a conversion makes in a folder, until they have their final names.
///
/// They are named after a file, `.NAME-converting-` and random digits, so that those of a killed
/// run are found. The holder of that file's lock knows that none of them is in use.
package struct ConversionFolder {
    private let files: TemporaryFiles
    /// The file that the others are named after.
    private let database: String

    /// - Parameters:
    ///   - path: A file in the folder.
    ///   - database: The path of a file whose lock is held, and whose name the files have in theirs.
    package init(of path: String, for database: String) {
        files = TemporaryFiles(beside: path, for: database)
        self.database = database
    }

    /// The folder's absolute path.
    package var path: String { files.folder }

    /// The folder that a copy of the old file goes to. In another folder a database may be that has
    /// the same name, and is being converted: there the copy's own name is taken, and its own lock.
    package init(ofOriginal original: DatabaseFile, of database: DatabaseFile) throws {
        self.init(
            of: original.absolutePath,
            for: try (original.isBeside(database) ? database : original).absolutePath
        )
    }

    /// A path at which nothing is, nor beside it, for a new file.
    ///
    /// A new file must not have a name that SQLite uses beside a database: SQLite would take it for
    /// that database's journal, and remove it. <https://www.sqlite.org/tempfiles.html>
    ///
    /// - Parameter database: The database to keep a copy of; `nil` for another new file.
    package static func freePlace(
        _ path: String,
        forOriginalOf database: DatabaseFile? = nil
    ) throws -> DatabaseFile {
        do {
            return try checkedPlace(path)
        } catch DatabaseConversionError.exists(let found) {
            // A run may have put it there that was killed before it was done.
            let file = DatabaseFile(path)
            try ConversionFolder(ofOriginal: file, of: database ?? file).removeUnusedLeftovers()
            throw DatabaseConversionError.exists(path: found)
        }
    }

    private static func checkedPlace(_ path: String) throws -> DatabaseFile {
        let name = URL(fileURLWithPath: path).lastPathComponent
        for suffix in DatabaseFile.journalSuffixes + [FileLock.migrationSuffix]
        where name.hasSuffix(suffix) && name != suffix {
            throw DatabaseConversionError.reservedName(path: path, suffix: suffix)
        }
        try checkLength(of: path)
        let file = try freeName(path)
        // It may be all that is left of a database; and SQLite would take it for the new one's.
        for suffix in DatabaseFile.journalSuffixes
        where try isThere(file.absolutePath + suffix) {
            throw DatabaseConversionError.exists(path: path + suffix)
        }
        return file
    }

    /// Throws if the file system has no room for the longest name of those that come up beside a
    /// database: that of the journal of the new file, as long as that is written.
    static func checkLength(of path: String) throws {
        let url = URL(fileURLWithPath: path)
        let count = url.lastPathComponent.utf8.count
        let most = pathconf(url.deletingLastPathComponent().path, Int32(_PC_NAME_MAX))
        let prefix = TemporaryFiles.prefix(for: path).utf8.count
        let added = prefix - count + TemporaryFiles.digitCount + "-journal".utf8.count
        let limit = (most > 0 ? most : Int(NAME_MAX)) - added
        guard count <= limit else {
            throw DatabaseConversionError.nameTooLong(path: path, limit: limit)
        }
    }

    /// Whether anything is at a path, be it a link that leads nowhere.
    private static func isThere(_ path: String) throws -> Bool {
        var status = stat()
        guard lstat(path, &status) != 0 else { return true }
        return try Found<Never>(failing: "lstat", on: path, errno).get() != nil
    }

    /// A path at which nothing is, whatever may be beside it.
    static func freeName(_ path: String) throws -> DatabaseFile {
        let file = DatabaseFile(path)
        guard file.isNamed else {
            throw DatabaseConversionError.cannotWrite(path: path, code: ENOENT)
        }
        guard try !isThere(file.absolutePath) else {
            throw DatabaseConversionError.exists(path: path)
        }
        let folder = URL(fileURLWithPath: file.absolutePath).deletingLastPathComponent().path
        guard faccessat(AT_FDCWD, folder, W_OK | X_OK, AT_EACCESS) == 0 else {
            throw DatabaseConversionError.cannotWrite(path: path, code: errno)
        }
        return file
    }

    /// Creates an empty file for its owner alone.
    package func makeFile() throws -> String {
        let (file, code) = files.make()
        guard code == 0 else { throw Self.cannotWrite(file, code) }
        return file
    }

    /// Removes a file, and what SQLite may have put beside it.
    package func remove(_ file: String) {
        files.remove(file)
    }

    /// Removes the files of runs that were killed.
    package func removeLeftovers() {
        files.removeLeftovers()
    }

    /// Removes the files of runs that were killed, unless the lock is held: by one that isn't.
    private func removeUnusedLeftovers() {
        guard (try? leftovers())?.isEmpty == false,
            let held = try? FileLock(beside: database, suffix: FileLock.migrationSuffix).hold()
        else { return }
        defer { held.release() }
        removeLeftovers()
    }

    /// The names of the files of runs that were killed.
    ///
    /// - Throws: ``EncryptedDatabaseError`` if the disk doesn't give them.
    package func leftovers() throws(EncryptedDatabaseError) -> [String] {
        do {
            return try files.leftovers()
        } catch {
            throw .unreadable(path, "list", error.code.rawValue)
        }
    }

    /// Has a file's content, mode and owner reach the disk. No connection may be open to it.
    ///
    /// - Parameter owner: The file whose owner it gets, as far as that is allowed; `nil` for the
    ///   process's own.
    package func finish(_ file: String, mode: mode_t, owner: FileIdentity?) throws {
        let descriptor = open(file, O_RDWR | O_CLOEXEC | O_NOFOLLOW)
        guard descriptor >= 0 else { throw Self.cannotWrite(file, errno) }
        defer { close(descriptor) }
        if let owner, geteuid() == 0 || getegid() != owner.group {
            // Only root can give a file to another user; to a group of one's own, anybody.
            let code = fchown(descriptor, geteuid() == 0 ? owner.owner : uid_t.max, owner.group)
            guard code == 0 || geteuid() != 0 else { throw Self.cannotWrite(file, errno) }
        }
        guard fchmod(descriptor, mode) == 0, fsync(descriptor) == 0 else {
            throw Self.cannotWrite(file, errno)
        }
    }

    /// Gives a file its final name, which must be free.
    ///
    /// - Parameter synchronizes: Whether the name is on the disk when this returns.
    /// - Throws: ``DatabaseConversionError/notSynced(path:code:)`` if it has the name; any other
    ///   error if it hasn't.
    package func place(_ file: String, at path: String, synchronizes: Bool = true) throws {
        // The folder must be opened before, in case it can't be.
        let descriptor = open(self.path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard descriptor >= 0 else { throw Self.cannotWrite(self.path, errno) }
        defer { close(descriptor) }
        switch FreeName.give(path, to: file) {
        case 0: break
        case EEXIST: throw DatabaseConversionError.exists(path: path)
        case let code: throw Self.cannotWrite(path, code)
        }
        guard !synchronizes || fsync(descriptor) == 0 else {
            throw DatabaseConversionError.notSynced(path: path, code: errno)
        }
    }

    /// Has the names in the folder reach the disk.
    func synchronize() throws {
        let code = synchronizationCode()
        guard code == 0 else { throw Self.cannotWrite(path, code) }
    }

    /// Has the names in the folder reach the disk.
    ///
    /// - Returns: The errno, or 0.
    func synchronizationCode() -> Int32 {
        let descriptor = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard descriptor >= 0 else { return errno }
        defer { close(descriptor) }
        return fsync(descriptor) == 0 ? 0 : errno
    }

    package static func cannotWrite(_ path: String, _ code: Int32) -> any Error {
        switch code {
        case ENOSPC, EDQUOT:
            EncryptedDatabaseError.diskFull(path: path)
        case EIO:
            EncryptedDatabaseError.inputOutput(
                path: path,
                detail: String(cString: strerror(code)).lowercased()
            )
        default:
            DatabaseConversionError.cannotWrite(path: path, code: code)
        }
    }
}
