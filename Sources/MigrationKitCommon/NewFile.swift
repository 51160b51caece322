import Foundation

/// A file that is made where no other user can reach it, and gets its name when it is whole and on the
/// disk.
///
/// Every new file of this package is written so: databases, backups, dumps and migrations. In a shared
/// folder, others can rename a file that is being made, and put one of theirs, or a link, in its place.
/// SQLite opens files by their names, and would read or write what it finds there. So the file is in a
/// hidden folder of its own, which only the user may enter, and whose path leads through a descriptor.
package final class NewFile {
    /// Its path as long as it is made: only in this process, and only until it is removed.
    package let path: String

    /// Its name for messages: what others find it by.
    package let shownPath: String

    private let isLenient: Bool
    /// The folder in which it gets its name.
    private let place: HeldFolder
    /// The hidden folder in which it is made; `nil` once it is removed.
    private var room: (name: String, folder: HeldFolder)?
    /// Which file it is; `nil` if another makes it.
    private var identity: (device: dev_t, number: ino_t)?
    /// The file's own lock, if no other protects it.
    var claim: FileLock.Held?

    init(_ name: String, of files: NewFiles, in room: HeldFolder, at place: HeldFolder) {
        path = "\(room.path)/\(name)"
        shownPath = "\(files.folder)/\(name)"
        isLenient = files.ownership == .writing
        self.place = place
        self.room = (name, room)
    }

    func identify(by descriptor: Int32) {
        var status = stat()
        if fstat(descriptor, &status) == 0 { identity = (status.st_dev, status.st_ino) }
    }

    /// Removes the file from where it was made, and what SQLite may have put beside it.
    package func remove() {
        // Afterwards, the path may lead to another folder that is held.
        guard let room else { return }
        NewFiles.removeFiles(of: path)
        claim?.release()
        claim = nil
        if room.folder !== place { place.remove(room.folder, room.name) }
        self.room = nil
    }

    /// Opens the file that was made, and no other.
    private func descriptor(for access: Int32) throws(NewFileError) -> Int32 {
        let descriptor = open(path, access | O_CLOEXEC | O_NOFOLLOW)
        guard descriptor >= 0 else { throw NewFileError(shownPath, errno) }
        var status = stat()
        guard fstat(descriptor, &status) == 0,
            identity.map({ $0 == (status.st_dev, status.st_ino) }) ?? true
        else {
            close(descriptor)
            throw NewFileError(shownPath, ESTALE)
        }
        return descriptor
    }

    /// Has `body` write to a descriptor of the file.
    package func write(_ body: (_ descriptor: Int32) throws -> Void) throws {
        let descriptor = try descriptor(for: O_WRONLY)
        do {
            try body(descriptor)
        } catch {
            close(descriptor)
            throw error
        }
        // Closing may be the first to report a full disk or a quota.
        guard close(descriptor) == 0 || errno == EINTR else { throw NewFileError(shownPath, errno) }
    }

    /// Has `connect` open the file with SQLite, and checks that it has opened this one: an app's SQLite
    /// may resolve the path to a name, under which others have put something else.
    ///
    /// - Throws: ``NewFileError`` with `ESTALE`; what `connect` throws.
    package func connecting<Connection>(
        _ connect: (_ path: String) throws -> Connection
    ) throws -> Connection {
        let connection = try connect(path)
        try checkIsOpen()
        return connection
    }

    /// Throws if this process hasn't the file open.
    package func checkIsOpen() throws(NewFileError) {
        let folder = "/proc/self/fd"
        // Without it, only the user and root could put something else there.
        guard let descriptors = try? namesInFolder(folder) else { return }
        var status = stat()
        if let identity {
            (status.st_dev, status.st_ino) = identity
        } else if lstat(path, &status) != 0 {
            throw NewFileError(shownPath, errno)
        }
        var failure = ESTALE
        for descriptor in descriptors {
            var other = stat()
            guard stat("\(folder)/\(descriptor)", &other) == 0 else {
                // Others may be closed meanwhile.
                if errno != ENOENT { failure = errno }
                continue
            }
            if (other.st_dev, other.st_ino) == (status.st_dev, status.st_ino) { return }
        }
        throw NewFileError(shownPath, failure)
    }

    /// Makes the file empty again.
    package func clear() throws(NewFileError) {
        guard truncate(path, 0) == 0 else { throw NewFileError(shownPath, errno) }
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
        let descriptor = try descriptor(for: O_RDWR)
        defer { close(descriptor) }
        let isRoot = geteuid() == 0
        if let owner, isRoot || getegid() != owner.group {
            // Only root can give a file to another user. Anybody can give it to a group of theirs.
            let code = fchown(descriptor, isRoot ? owner.user : uid_t.max, owner.group)
            guard code == 0 || !isRoot else { throw NewFileError(shownPath, errno) }
        }
        if let mode, fchmod(descriptor, mode) != 0 { throw NewFileError(shownPath, errno) }
        guard fsync(descriptor) == 0 else { throw NewFileError(shownPath, errno) }
    }

    // MARK: - Its Place

    /// Gives the file its final name, which must be free.
    ///
    /// - Parameters:
    ///   - path: In the folder that the file was made for.
    ///   - synchronizes: Whether the name is on the disk when this returns.
    /// - Throws: ``NewFileError``, with `EEXIST` if something is there.
    package func place(at path: String, synchronizes: Bool = true) throws(NewFileError) {
        guard synchronizes else { return try move(to: path, by: give) }
        try synchronize(path) { () throws(NewFileError) in try move(to: path, by: give) }
    }

    /// Gives the file the name of another one, which it replaces.
    package func replace(_ path: String) throws(NewFileError) {
        try synchronize(path) { () throws(NewFileError) in
            try move(to: path) { rename(self.path, $0) == 0 ? nil : errno }
        }
    }

    private func synchronize(
        _ path: String,
        after move: () throws(NewFileError) -> Void
    ) throws(NewFileError) {
        let code = try place.synchronize(isLenient: isLenient, after: move)
        if let code { throw NewFileError(path, code, isPlaced: true) }
    }

    private func move(to path: String, by give: (String) -> Int32?) throws(NewFileError) {
        // Others may have renamed the folder meanwhile, and put a link in its place.
        let name = path.utf8.lastIndex(of: UInt8(ascii: "/")).map { path[$0...].dropFirst() }
        let newPath = "\(place.path)/\(name ?? path[...])"
        if let code = give(newPath) { throw NewFileError(path, code) }
        remove()
    }

    /// Unlike rename(2), link(2) replaces nothing. Where the file system has no links, such as FAT and
    /// some network file systems, or none between folders, an empty file takes the name first, and is
    /// replaced; a process that is killed in between leaves that.
    /// <https://man7.org/linux/man-pages/man2/link.2.html>
    ///
    /// - Returns: `nil`, or the errno.
    private func give(_ name: String) -> Int32? {
        if link(path, name) == 0 { return nil }
        switch errno {
        case EPERM, EOPNOTSUPP, ENOSYS, EMLINK, EXDEV: break
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
    /// - Throws: ``NewFileError``, with `EEXIST` if something is there; ``ReservedNameError``.
    package static func write(
        _ bytes: some Sequence<UInt8>,
        to path: String,
        mode: mode_t? = nil,
        replaces: Bool
    ) throws {
        try write(to: path, mode: mode, replaces: replaces) { descriptor, path in
            if let code = writeAll(Array(bytes), to: descriptor) {
                throw NewFileError(path, code)
            }
        }
    }

    /// The same for content that `body` writes to a descriptor, such as a secret.
    ///
    /// - Parameter body: Receives the descriptor, and the path for errors.
    package static func write(
        to path: String,
        mode: mode_t? = nil,
        replaces: Bool,
        _ body: (_ descriptor: Int32, _ path: String) throws -> Void
    ) throws {
        try ReservedNameError.check(path)
        let files = NewFiles(.writing, for: path)
        files.removeLeftovers()
        // Until it has its mode, nobody else may read what is written.
        let file = try files.make(mode: mode == nil ? nil : 0o600)
        defer { file.remove() }
        try file.write { try body($0, path) }
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
