import Foundation
import GRDB
import Glibc
import MigrationKitCommon
import MigrationKitGRDB
import MigrationKitPages

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

    /// The path of the folder that it is in.
    var folder: String { URL(fileURLWithPath: absolutePath).deletingLastPathComponent().path }

    /// Whether both are in the same folder, even under different paths.
    func isBeside(_ other: DatabaseFile) throws -> Bool {
        let folders = try [self, other].map { try FileIdentity.of($0.folder) }
        guard let own = folders[0], let others = folders[1] else { return false }
        return own.isSameFile(as: others)
    }

    /// Whether the path can name a file.
    package var isNamed: Bool { !path.isEmpty && !path.utf8.contains(0) }

    /// Looks at what is at the path and beside it.
    ///
    /// - Throws: An ``EncryptedDatabaseError`` if what is there can't be a database or its journal.
    package func look() throws -> FileLook {
        try FileLook(self)
    }

    /// The file's size in bytes; `nil` if there is no file.
    ///
    /// - Throws: As ``look()``.
    package func size() throws -> Int? { try look().size }

    /// The file with its links resolved once, so that a link that changes later has no effect.
    ///
    /// - Throws: `EncryptedDatabaseError.noSuchFile` if there is none; as ``look()`` does.
    package func resolved() throws -> DatabaseFile {
        guard try size() != nil else { throw EncryptedDatabaseError.noSuchFile(path: path) }
        return DatabaseFile(resolvedPath)
    }

    /// Creates the file, empty, readable and writable only by its owner.
    ///
    /// - Returns: What was created; `nil` if somebody else has created it meanwhile.
    package func create() throws -> CreatedFile? {
        guard isNamed else {
            throw EncryptedDatabaseError.cannotCreate(path: path, reason: "not a file name")
        }
        try ReservedNameError.check(path)
        try FileLook.checkJournals(at: resolvedPath)
        let flags = O_CREAT | O_EXCL | O_NOFOLLOW | O_WRONLY | O_CLOEXEC
        let descriptor = open(absolutePath, flags, 0o600)
        guard descriptor >= 0 else {
            let code = errno
            if code == EEXIST, try size() != nil { return nil }
            throw cannotCreate(code)
        }
        defer { close(descriptor) }
        // The umask may have removed bits that the owner needs.
        guard fchmod(descriptor, 0o600) == 0 else {
            let reason = systemReason(errno)
            unlink(absolutePath)
            throw EncryptedDatabaseError.cannotCreate(path: path, reason: reason)
        }
        return CreatedFile(self, descriptor)
    }

    /// Throws if the path leads through a link that another user has laid in a folder that others may
    /// write: it could lead to any file. In folders such as `/tmp`, the kernel may refuse these, too.
    /// <https://docs.kernel.org/admin-guide/sysctl/fs.html#protected-symlinks>
    ///
    /// - Parameter includesItself: Whether the last name is looked at, too.
    /// - Throws: ``EncryptedDatabaseError/linkOfAnother(path:link:)``.
    func checkLinks(includingItself includesItself: Bool) throws {
        guard !HeldFolder.holds(absolutePath) else { return }
        var folder = path.hasPrefix("/") ? "/" : ""
        var names = path.split(separator: "/").map(String.init)
        if !includesItself { names = names.dropLast() }
        names.reverse()
        // As many links as the kernel follows.
        var linksLeft = 40
        while linksLeft > 0, let name = names.popLast() {
            let place = folder + name
            var status = stat()
            guard lstat(place, &status) == 0 else { return }
            guard status.st_mode & S_IFMT == S_IFLNK else {
                folder = "\(place)/"
                continue
            }
            linksLeft -= 1
            var parent = stat()
            guard let target = linkTarget(place), stat(folder.isEmpty ? "." : folder, &parent) == 0
            else { return }
            // The owner of the folder decides what is in it, as for the kernel.
            if ![geteuid(), 0, parent.st_uid].contains(status.st_uid),
                parent.st_mode & (S_IWGRP | S_IWOTH) != 0
            {
                throw EncryptedDatabaseError.linkOfAnother(path: path, link: place)
            }
            if target.hasPrefix("/") { folder = "/" }
            names += target.split(separator: "/").map(String.init).reversed()
        }
    }

    /// Throws if a database can't be created at the path, where there is none.
    func checkCreation() throws {
        try checkLink()
        guard isNamed, !path.hasSuffix("/") else { throw cannotCreate(isNamed ? EISDIR : ENOENT) }
        try ReservedNameError.check(path)
        try FileLook.checkJournals(at: resolvedPath)
        guard faccessat(AT_FDCWD, folder, W_OK | X_OK, AT_EACCESS) == 0 else {
            throw cannotCreate(errno)
        }
    }

    /// The path without links in its folders. Others may change what the file's name leads to.
    var pathInResolvedFolder: String {
        guard !HeldFolder.holds(absolutePath) else { return absolutePath }
        let (folder, name) = absolutePath.splitAtLastSlash
        return realPath(folder).map { $0 == "/" ? "/\(name)" : "\($0)/\(name)" } ?? absolutePath
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
    package var resolvedPath: String {
        HeldFolder.holds(absolutePath) ? absolutePath : realPath(absolutePath) ?? absolutePath
    }

    private static func creationReason(_ code: Int32) -> String {
        switch code {
        case ENOENT, ENOTDIR: "its folder does not exist"
        case EEXIST: "it is a link to a file that does not exist"
        default: systemReason(code)
        }
    }
}

// MARK: - Status

extension DatabaseFile {
    /// The file's status; all zero if there is no file.
    ///
    /// - Throws: ``EncryptedDatabaseError`` if the system can't report it, as the next two do.
    package var status: stat {
        get throws { try Self.status(absolutePath) }
    }

    private static func status(_ path: String) throws -> stat {
        var status = stat()
        guard stat(path, &status) != 0 else { return status }
        _ = try Found<Void>(failing: "stat", on: path, errno).get()
        return stat()
    }

    /// Changes when another program writes the file or its log.
    package var stamp: [Int] {
        get throws { try stampOfFile + Self.stamp(resolvedPath + "-wal") }
    }

    /// Changes when another program writes the file itself.
    var stampOfFile: [Int] {
        get throws { try Self.stamp(absolutePath) }
    }

    private static func stamp(_ path: String) throws -> [Int] {
        let status = try status(path)
        return [
            Int(status.st_ino), Int(status.st_size),
            status.st_mtim.tv_sec, status.st_mtim.tv_nsec,
        ]
    }
}
