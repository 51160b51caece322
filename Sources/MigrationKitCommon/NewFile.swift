import Foundation

/// A file that is made under a hidden name, and gets its own when it is whole and on the disk.
///
/// Every new file of this package is written so: databases, backups, dumps and migrations.
package final class NewFile {
    /// Its path as long as it is made.
    package let path: String

    private let files: NewFiles
    /// The file's own lock, if no other protects it.
    private var claim: FileLock.Held?

    init(_ path: String, of files: NewFiles, claim: FileLock.Held?) {
        self.path = path
        self.files = files
        self.claim = claim
    }

    /// Removes the file under its hidden name, and what SQLite may have put beside it.
    package func remove() {
        NewFiles.removeFiles(of: path)
        claim?.release()
        claim = nil
    }

    /// Has `body` write to a descriptor of the file.
    package func write(_ body: (_ descriptor: Int32) throws -> Void) throws {
        let descriptor = open(path, O_WRONLY | O_CLOEXEC | O_NOFOLLOW)
        guard descriptor >= 0 else { throw NewFileError(path, errno) }
        do {
            try body(descriptor)
        } catch {
            close(descriptor)
            throw error
        }
        // Closing may be the first to report a full disk or a quota.
        guard close(descriptor) == 0 || errno == EINTR else { throw NewFileError(path, errno) }
    }

    /// Makes the file empty again.
    package func clear() throws(NewFileError) {
        guard truncate(path, 0) == 0 else { throw NewFileError(path, errno) }
    }

    /// Has the file's content, mode and owner reach the disk. No connection may be open to it.
    ///
    /// - Parameters:
    ///   - mode: `nil` for the mode that it was made with.
    ///   - owner: The user and the group that it gets, as far as that is allowed; `nil` for the
    ///     process's own.
    package func finish(
        mode: mode_t?,
        owner: (user: uid_t, group: gid_t)? = nil
    ) throws(NewFileError) {
        let descriptor = open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW)
        guard descriptor >= 0 else { throw NewFileError(path, errno) }
        defer { close(descriptor) }
        let isRoot = geteuid() == 0
        if let owner, isRoot || getegid() != owner.group {
            // Only root can give a file to another user. Anybody can give it to a group of theirs.
            let code = fchown(descriptor, isRoot ? owner.user : uid_t.max, owner.group)
            guard code == 0 || !isRoot else { throw NewFileError(path, errno) }
        }
        if let mode, fchmod(descriptor, mode) != 0 { throw NewFileError(path, errno) }
        guard fsync(descriptor) == 0 else { throw NewFileError(path, errno) }
    }

    // MARK: - Its Place

    /// Gives the file its final name, which must be free.
    ///
    /// - Parameter synchronizes: Whether the name is on the disk when this returns.
    /// - Throws: ``NewFileError``, with `EEXIST` if something is there.
    package func place(at name: String, synchronizes: Bool = true) throws(NewFileError) {
        guard synchronizes else { return try move(to: name, by: give) }
        try files.synchronize(name) { () throws(NewFileError) in try move(to: name, by: give) }
    }

    /// Gives the file the name of another one, which it replaces.
    package func replace(_ name: String) throws(NewFileError) {
        try files.synchronize(name) { () throws(NewFileError) in
            try move(to: name) { rename(path, $0) == 0 ? nil : errno }
        }
    }

    private func move(to name: String, by give: (String) -> Int32?) throws(NewFileError) {
        if let code = give(name) { throw NewFileError(name, code) }
        remove()
    }

    /// Unlike rename(2), link(2) replaces nothing. Where the file system has no links, such as FAT and
    /// some network file systems, an empty file takes the name first, and is replaced; a process
    /// that is killed in between leaves that. <https://man7.org/linux/man-pages/man2/link.2.html>
    ///
    /// - Returns: `nil`, or the errno.
    private func give(_ name: String) -> Int32? {
        if link(path, name) == 0 { return nil }
        switch errno {
        case EPERM, EOPNOTSUPP, ENOSYS, EMLINK: break
        case let code: return code
        }
        let reserved = open(name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0o600)
        guard reserved >= 0 else { return errno }
        close(reserved)
        guard rename(path, name) == 0 else {
            let code = errno
            unlink(name)
            return code
        }
        return nil
    }
}

extension NewFile {
    /// Writes a small file as a whole or not at all.
    ///
    /// - Parameters:
    ///   - path: The file.
    ///   - mode: Its mode; `nil` for what the umask leaves of 0666.
    ///   - replaces: Whether a file that is there is replaced, which is an error otherwise.
    /// - Throws: ``NewFileError``, with `EEXIST` if something is there.
    package static func write(
        _ bytes: some Sequence<UInt8>,
        to path: String,
        mode: mode_t? = nil,
        replaces: Bool
    ) throws {
        let files = NewFiles(.writing, for: path)
        files.removeLeftovers()
        // Until it has its mode, nobody else may read what is written.
        let file = try files.make(mode: mode == nil ? nil : 0o600)
        defer { file.remove() }
        try file.write { descriptor in
            if let code = writeAll(Array(bytes), to: descriptor) { throw NewFileError(path, code) }
        }
        try file.finish(mode: mode)
        try replaces ? file.replace(path) : file.place(at: path)
    }
}

/// A new file could not be made or put in its place.
package struct NewFileError: Error, Equatable {
    /// The path that the system refused.
    package let path: String

    /// Why, as an errno: `EEXIST` if the place is taken.
    package let code: Int32

    /// Whether the file is in its place all the same: the folder's entry of it may not be on the
    /// disk.
    package let isPlaced: Bool

    package init(_ path: String, _ code: Int32, isPlaced: Bool = false) {
        self.path = path
        self.code = code
        self.isPlaced = isPlaced
    }
}
