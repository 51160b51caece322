import Foundation

/// A file that is made under a hidden name, and gets its own when it is whole and on the disk.
///
/// Every new file of this package is written so: databases, backups, dumps and migrations.
package final class NewFile {
    /// Its path as long as it is made.
    package let path: String

    private let files: NewFiles
    /// Which file it is; `nil` if another makes it.
    private var identity: (device: dev_t, number: ino_t)?
    /// The file's own lock, if no other protects it.
    private var claim: FileLock.Held?

    init(_ path: String, of files: NewFiles, claim: FileLock.Held?) {
        self.path = path
        self.files = files
        self.claim = claim
    }

    fileprivate func identify(by descriptor: Int32) {
        var status = stat()
        if fstat(descriptor, &status) == 0 { identity = (status.st_dev, status.st_ino) }
    }

    /// Removes the file under its hidden name, and what SQLite may have put beside it.
    package func remove() {
        NewFiles.removeFiles(of: path)
        claim?.release()
        claim = nil
    }

    /// Opens the file that was made, and no other: others who may write to the folder can put a file of
    /// theirs in its place.
    private func descriptor(for access: Int32) throws(NewFileError) -> Int32 {
        let descriptor = open(path, access | O_CLOEXEC | O_NOFOLLOW)
        guard descriptor >= 0 else { throw NewFileError(path, errno) }
        var status = stat()
        guard fstat(descriptor, &status) == 0,
            identity.map({ $0 == (status.st_dev, status.st_ino) }) ?? true
        else {
            close(descriptor)
            throw NewFileError(path, ESTALE)
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
        let descriptor = try descriptor(for: O_RDWR)
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

// MARK: - New Files

/// The new files that are made for one place.
///
/// Until it is whole, each has a hidden name: that of the file it is for, `-converting-` or
/// `-writing-`, and random digits. So the next run for the same place finds what a killed run left.
package struct NewFiles: Sendable {
    /// What keeps other processes from removing a file that is being made.
    package enum Ownership: String, Sendable {
        /// The caller holds the lock of the file that the new ones are named after.
        case converting
        /// Each new file has a lock of its own.
        case writing
    }

    /// The suffixes that SQLite appends to a database's name for the files beside it.
    /// <https://www.sqlite.org/tempfiles.html>
    package static let journalSuffixes = ["-wal", "-shm", "-journal"]

    /// How much longer than the file's own name the names beside a new database get.
    package static let addedNameCount =
        prefix(.converting, "").utf8.count + UInt64.bitWidth / 4 + "-journal".utf8.count

    /// The folder's absolute path.
    package let folder: String
    let ownership: Ownership
    private let prefix: String

    /// - Parameters:
    ///   - path: The file that the new ones are named after.
    ///   - neighbour: A file in the folder that they are made in; `nil` for that of `path`.
    package init(
        _ ownership: Ownership = .converting,
        for path: String,
        beside neighbour: String? = nil
    ) {
        self.ownership = ownership
        folder = URL(fileURLWithPath: neighbour ?? path).deletingLastPathComponent().path
        prefix = Self.prefix(ownership, URL(fileURLWithPath: path).lastPathComponent)
    }

    private static func prefix(_ ownership: Ownership, _ name: String) -> String {
        ".\(name)-\(ownership.rawValue)-"
    }

    // MARK: - Making

    /// Creates an empty file.
    ///
    /// - Parameter mode: Its mode; `nil` for what the umask leaves of 0666.
    package func make(mode: mode_t? = 0o600) throws(NewFileError) -> NewFile {
        let file = try name()
        let flags = O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC
        let descriptor = open(file.path, flags, mode ?? 0o666)
        guard descriptor >= 0 else {
            let code = errno
            file.remove()
            throw NewFileError(file.path, code)
        }
        // The umask may have removed bits that SQLite needs.
        if let mode { fchmod(descriptor, mode) }
        file.identify(by: descriptor)
        close(descriptor)
        return file
    }

    /// Gives a file a name, and leaves its creation to another.
    package func name() throws(NewFileError) -> NewFile {
        while true {
            var generator = SystemRandomNumberGenerator()
            let digits = String(UInt64.random(in: .min ... .max, using: &generator), radix: 16)
            let path = "\(folder)/\(prefix)\(digits)"
            guard ownership == .writing else { return NewFile(path, of: self, claim: nil) }
            do {
                guard let claim = try Self.claim(path).hold() else { continue }
                return NewFile(path, of: self, claim: claim)
            } catch {
                guard case .refused(let code) = error else { continue }
                unlink(path + Self.claimSuffix)
                // Where the file system has no locks, nobody can claim the file to remove it either.
                guard [ENOSYS, EOPNOTSUPP, ENOLCK].contains(code) else {
                    throw NewFileError(path, code)
                }
                return NewFile(path, of: self, claim: nil)
            }
        }
    }

    private static func claim(_ path: String) -> FileLock {
        FileLock(beside: path, suffix: claimSuffix)
    }

    // MARK: - What Killed Runs Left

    private static let claimSuffix = ".lock"
    private static let databaseSuffixes = [""] + journalSuffixes + [FileLock.migrationSuffix]

    /// The names of the files of runs that were killed; none if the folder may not be listed.
    ///
    /// - Throws: A `POSIXError` if the disk can't read the names.
    package func leftovers() throws(POSIXError) -> [String] {
        do {
            return try namesInFolder(folder).filter { origin(of: $0) != nil }
        } catch {
            guard error.code != .EACCES else { return [] }
            throw error
        }
    }

    /// Removes the files of runs that were killed, if possible.
    package func removeLeftovers() {
        let origins = ((try? leftovers()) ?? []).compactMap(origin)
        for path in Set(origins.map { "\(folder)/\($0)" }) {
            switch ownership {
            case .converting: Self.removeFiles(of: path)
            case .writing:
                // Another process may be at work on it.
                guard let claim = try? Self.claim(path).hold() else { continue }
                Self.removeFiles(of: path)
                claim.release()
            }
        }
    }

    /// The name of the new file that a file belongs to; `nil` if it belongs to none.
    private func origin(of name: String) -> String? {
        guard name.hasPrefix(prefix) else { return nil }
        let digits = name.dropFirst(prefix.count).prefix { $0.isHexDigit }
        let suffix = name.dropFirst(prefix.count + digits.count)
        guard !digits.isEmpty, (Self.databaseSuffixes + [Self.claimSuffix]).contains(String(suffix))
        else { return nil }
        return prefix + digits
    }

    /// Removes a new file, and what SQLite and the runner may have put beside it.
    static func removeFiles(of path: String) {
        for suffix in databaseSuffixes { unlink(path + suffix) }
    }

    // MARK: - The Folder

    /// Has the names in the folder reach the disk. Until then a power cut brings back what was there.
    ///
    /// - Parameters:
    ///   - name: The file that `move` gives a name in the folder.
    ///   - move: Changes the folder, which is opened before, in case it can't be.
    package func synchronize(
        _ name: String? = nil,
        after move: () throws(NewFileError) -> Void = {}
    ) throws(NewFileError) {
        let isLenient = ownership == .writing
        let descriptor = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        // A folder may be writable but not readable.
        guard descriptor >= 0 || isLenient && errno == EACCES else {
            throw NewFileError(folder, errno)
        }
        defer { if descriptor >= 0 { close(descriptor) } }
        try move()
        // Some file systems can't synchronize a folder, and return EINVAL.
        guard descriptor < 0 || fsync(descriptor) == 0 || isLenient && errno == EINVAL else {
            throw NewFileError(name ?? folder, errno, isPlaced: name != nil)
        }
    }
}
