import MigrationKitPages
import MigrationKitCommon
import Foundation
import Glibc

/// A database's file as the operating system sees it. This type opens it only to create it.
package struct DatabaseFile {
    package static let journalSuffixes = NewFiles.journalSuffixes

    /// The path as the caller gave it, for messages.
    package let path: String

    /// The path that SQLite gets: absolute, so that `:memory:` and `file:x` are names of files.
    package let absolutePath: String

    package init(_ path: String) {
        self.path = path
        // Not normalized: `..` behind a link would then mean another folder.
        absolutePath =
            path.hasPrefix("/") ? path : FileManager.default.currentDirectoryPath + "/" + path
    }

    /// Whether both are in the same folder, even under different paths.
    func isBeside(_ other: DatabaseFile) throws -> Bool {
        let folders = try [self, other].map {
            try FileIdentity.of(
                URL(fileURLWithPath: $0.absolutePath).deletingLastPathComponent().path
            )
        }
        guard let own = folders[0], let others = folders[1] else { return false }
        return own.isSameFile(as: others)
    }

    /// Whether the path can name a file.
    package var isNamed: Bool { !path.isEmpty && !path.utf8.contains(0) }

    /// The file's size in bytes; `nil` if there is no file.
    ///
    /// - Throws: An ``EncryptedDatabaseError`` if what is there can't be a database.
    package func size() throws -> Int? {
        guard isNamed else { return nil }
        var status = stat()
        guard stat(absolutePath, &status) == 0 else {
            switch errno {
            case ENOENT, ENOTDIR: return nil
            case EACCES: throw EncryptedDatabaseError.permissionDenied(path: path)
            default:
                throw EncryptedDatabaseError.inputOutput(path: path, detail: systemReason(errno))
            }
        }
        switch status.st_mode & S_IFMT {
        case S_IFREG:
            try checkJournals()
            return Int(status.st_size)
        case S_IFDIR: throw EncryptedDatabaseError.isDirectory(path: path)
        case let kind:
            throw EncryptedDatabaseError.notAFile(path: path, kind: Self.name(ofKind: kind))
        }
    }

    private static func name(ofKind kind: mode_t) -> String {
        switch kind {
        case S_IFIFO: "a named pipe"
        case S_IFSOCK: "a socket"
        case S_IFCHR, S_IFBLK: "a device"
        default: "a special file"
        }
    }

    /// Throws if a journal's name belongs to something that isn't a regular file. SQLite would open
    /// it, and opening a named pipe never returns.
    ///
    /// - Throws: ``EncryptedDatabaseError/journalIsNoFile(path:kind:)``.
    private func checkJournals() throws {
        for suffix in Self.journalSuffixes {
            let journal = resolvedPath + suffix
            var status = stat()
            guard stat(journal, &status) == 0 else { continue }
            let kind: String
            switch status.st_mode & S_IFMT {
            case S_IFREG: continue
            case S_IFDIR: kind = "folder"
            case S_IFIFO: kind = "named pipe"
            case S_IFSOCK: kind = "socket"
            default: kind = "device"
            }
            throw EncryptedDatabaseError.journalIsNoFile(path: journal, kind: kind)
        }
    }

    /// The file with its links resolved once, so that a link that changes later has no effect.
    ///
    /// - Throws: `EncryptedDatabaseError.noSuchFile` if there is none; as ``size()`` does.
    package func resolved() throws -> DatabaseFile {
        guard try size() != nil else { throw EncryptedDatabaseError.noSuchFile(path: path) }
        return DatabaseFile(resolvedPath)
    }

    /// Throws if the operating system doesn't allow the access that is needed.
    package func checkAccess(forWriting: Bool) throws {
        guard try allows(absolutePath, R_OK) else {
            throw EncryptedDatabaseError.permissionDenied(path: path)
        }
        guard forWriting else { return }
        guard try allows(absolutePath, W_OK) else {
            throw EncryptedDatabaseError.readOnly(path: path)
        }
        guard try isFolderWritable else {
            throw EncryptedDatabaseError.readOnlyFolder(path: path)
        }
    }

    /// Whether SQLite can create its journals beside the file. Links are followed.
    ///
    /// - Throws: ``EncryptedDatabaseError/inputOutput(path:detail:)`` if this can't be checked.
    package var isFolderWritable: Bool {
        get throws {
            let folder = URL(fileURLWithPath: resolvedPath).deletingLastPathComponent().path
            return try allows(folder, W_OK | X_OK)
        }
    }

    /// Whether there is a write-ahead log or a rollback journal, which may hold a change to the
    /// database.
    ///
    /// - Throws: ``EncryptedDatabaseError`` if this can't be checked.
    var hasJournal: Bool {
        get throws {
            try ["-wal", "-journal"].contains {
                switch Found(resolvedPath + $0) {
                case .absent: false
                case .empty, .content: true
                case .unreadable(let error): throw error
                }
            }
        }
    }

    /// Whether there is a write-ahead log or a rollback journal with content.
    ///
    /// - Throws: ``EncryptedDatabaseError`` if this can't be checked.
    var hasJournalContent: Bool {
        get throws {
            try ["-wal", "-journal"].contains { try Found(resolvedPath + $0).get() != nil }
        }
    }

    /// Creates the file, empty, readable and writable only by its owner.
    ///
    /// - Returns: `false` if somebody else has created it meanwhile.
    package func create() throws -> Bool {
        guard isNamed else {
            throw EncryptedDatabaseError.cannotCreate(path: path, reason: "not a file name")
        }
        try checkJournals()
        let flags = O_CREAT | O_EXCL | O_NOFOLLOW | O_WRONLY | O_CLOEXEC
        let descriptor = open(absolutePath, flags, 0o600)
        guard descriptor >= 0 else {
            let code = errno
            if code == EEXIST, try size() != nil { return false }
            throw cannotCreate(code)
        }
        defer { close(descriptor) }
        // The umask may have removed bits that the owner needs.
        guard fchmod(descriptor, 0o600) == 0 else {
            let reason = systemReason(errno)
            unlink(absolutePath)
            throw EncryptedDatabaseError.cannotCreate(path: path, reason: reason)
        }
        return true
    }

    /// Throws if the path is a link to a missing file, perhaps on a disk that isn't mounted.
    func checkLink() throws {
        var status = stat()
        guard try size() == nil, lstat(absolutePath, &status) == 0 else { return }
        throw cannotCreate(EEXIST)
    }

    /// The error if the operating system refuses to create the file, with its errno.
    package func cannotCreate(_ code: Int32) -> EncryptedDatabaseError {
        .cannotCreate(path: path, reason: Self.creationReason(code))
    }

    /// Removes a file that was created, unless something was written to it.
    func removeIfEmpty() {
        var status = stat()
        guard lstat(absolutePath, &status) == 0, status.st_mode & S_IFMT == S_IFREG,
            status.st_size == 0
        else { return }
        unlink(absolutePath)
    }

    /// The absolute path without links. If the file doesn't exist, only its folders' links are
    /// resolved.
    package var resolvedPath: String { realPath(absolutePath) ?? absolutePath }

    private func allows(_ path: String, _ mode: Int32) throws -> Bool {
        // With the effective user, which the kernel checks when a file is opened.
        guard faccessat(AT_FDCWD, path, mode, AT_EACCESS) != 0 else { return true }
        switch errno {
        // These mean that the disk failed, not that access is denied.
        case EIO, EINTR, ENOMEM, EMFILE, ENFILE:
            throw EncryptedDatabaseError.unreadable(self.path, "access", errno)
        default: return false
        }
    }

    private static func creationReason(_ code: Int32) -> String {
        switch code {
        case ENOENT, ENOTDIR: "its folder does not exist"
        case EEXIST: "it is a link to a file that does not exist"
        default: systemReason(code)
        }
    }
}
