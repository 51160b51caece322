import Foundation

/// A folder that stays the same one as long as this lives. Users who may write to the folder above can
/// rename it meanwhile, and give its name to another folder or to a link.
package final class HeldFolder {
    /// Leads to the folder through its descriptor; by its name where there is no `/proc`.
    package let path: String
    private let name: String
    private let descriptor: Int32
    private let status: stat
    /// Whether it could be opened for more than finding what is in it.
    private let isReadable: Bool

    /// - Parameter path: Links are followed.
    package convenience init(_ path: String) throws(NewFileError) {
        try self.init(path, 0)
    }

    private init(_ name: String, _ flags: Int32) throws(NewFileError) {
        let flags = flags | O_DIRECTORY | O_CLOEXEC
        var descriptor = open(name, flags | O_RDONLY)
        isReadable = descriptor >= 0 && flags & Self.onlyPath == 0
        // A folder may be writable but not readable.
        if descriptor < 0, errno == EACCES { descriptor = open(name, flags | Self.onlyPath) }
        var status = stat()
        guard descriptor >= 0, fstat(descriptor, &status) == 0 else {
            let code = errno
            if descriptor >= 0 { close(descriptor) }
            throw NewFileError(name, code)
        }
        self.name = name
        self.descriptor = descriptor
        self.status = status
        path = Self.hasDescriptorPaths ? "\(Self.prefix)\(descriptor)" : name
    }

    deinit {
        close(descriptor)
    }

    /// O_PATH, a macro that Swift doesn't import.
    package static let onlyPath: Int32 = 0o10000000

    /// Whether it is still what has a name.
    private func isAt(_ path: String) -> Bool {
        var found = stat()
        return lstat(path, &found) == 0 && found.st_dev == status.st_dev
            && found.st_ino == status.st_ino
    }

    /// Has the names in the folder reach the disk. Until then a power cut brings back what was there.
    ///
    /// - Parameters:
    ///   - isLenient: Whether that may be impossible.
    ///   - move: Changes the folder.
    /// - Returns: `nil`, or the errno of a failure after the change.
    func synchronize(
        isLenient: Bool,
        after move: () throws(NewFileError) -> Void
    ) throws(NewFileError) -> Int32? {
        guard isReadable || isLenient else { throw NewFileError(name, EACCES) }
        try move()
        // Some file systems can't synchronize a folder, and return EINVAL.
        guard !isReadable || fsync(descriptor) == 0 || isLenient && errno == EINVAL else {
            return errno
        }
        return nil
    }

    // MARK: - Paths

    private static let prefix = "/proc/self/fd/"

    private static let hasDescriptorPaths = access(prefix + ".", X_OK) == 0

    /// The descriptor of the folder that a path of a file leads through; `nil` for other paths.
    private static func descriptor(in path: some StringProtocol) -> Substring? {
        guard path.hasPrefix(prefix) else { return nil }
        let parts = path.dropFirst(prefix.count).split(separator: "/", maxSplits: 1)
        guard parts.count == 2, parts[0].allSatisfy(\.isNumber), !parts[1].contains("/") else {
            return nil
        }
        return Substring(parts[0])
    }

    /// Whether a path leads to a file in a held folder. Resolving its links would lead to whatever has
    /// the folder's name then.
    package static func holds(_ path: String) -> Bool { descriptor(in: path) != nil }

    /// The name that a file in a held folder has at the moment, for messages; any other path as it is.
    package static func shownPath(_ path: String) -> String {
        guard let descriptor = descriptor(in: path), let folder = linkTarget(prefix + descriptor)
        else { return path }
        return folder + path.dropFirst(prefix.count + descriptor.count)
    }

    /// A name in the folder that a new file is made for, instead of a path that soon leads nowhere; any
    /// other path as it is.
    package static func neighbour(of path: String) -> String {
        let shown = shownPath(path)
        guard holds(path) else { return shown }
        let file = URL(fileURLWithPath: shown)
        let folder = file.deletingLastPathComponent()
        return file.lastPathComponent == folder.lastPathComponent ? folder.path : shown
    }

    // MARK: - Folders in It

    /// Opens a folder in it.
    ///
    /// - Returns: `nil` if the name is that of something else, such as a link, or of nothing.
    func folder(_ name: String) -> HeldFolder? {
        try? HeldFolder("\(path)/\(name)", O_NOFOLLOW)
    }

    /// Makes a folder in it that other users can't enter.
    ///
    /// - Returns: `nil` if others have the name, perhaps since it was made.
    func makePrivate(_ name: String) throws(NewFileError) -> HeldFolder? {
        let path = "\(path)/\(name)"
        guard mkdir(path, 0o700) == 0 else {
            if errno == EEXIST { return nil }
            throw NewFileError("\(self.name)/\(name)", errno)
        }
        let made: HeldFolder
        do {
            made = try HeldFolder(path, O_NOFOLLOW | Self.onlyPath)
        } catch {
            if [ENOENT, ENOTDIR, ELOOP].contains(error.code) { return nil }
            rmdir(path)
            throw NewFileError("\(self.name)/\(name)", error.code)
        }
        // The umask may have removed bits that its owner needs.
        if made.isOwn, made.status.st_mode & 0o700 != 0o700 { chmod(made.path, 0o700) }
        return made.status.st_dev == status.st_dev && (made.isOwn || made.keepsNoModes)
            ? made : nil
    }

    /// Whether it is the user's, and nobody else may enter it.
    private var isOwn: Bool { Self.isOwn(status) }

    private static func isOwn(_ status: stat) -> Bool {
        status.st_uid == geteuid() && status.st_mode & 0o077 == 0
    }

    /// Whether a new file in it isn't private either, although it was made so: on the file systems of
    /// other operating systems, everything belongs to one user and has one mode.
    private var keepsNoModes: Bool {
        let path = "\(path)/.migrationkit-\(UInt64.random(in: .min ... .max))"
        let probe = open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0o600)
        guard probe >= 0 else { return false }
        defer {
            unlink(path)
            close(probe)
        }
        var status = stat()
        return fstat(probe, &status) == 0 && !Self.isOwn(status)
    }

    /// Removes a folder in it, if that is empty.
    func remove(_ folder: HeldFolder, _ name: String) {
        if folder.isAt("\(path)/\(name)") { rmdir("\(path)/\(name)") }
    }

    /// Whether only the user and root can rename what the user has in it.
    var keepsNames: Bool {
        [geteuid(), 0].contains(status.st_uid)
            && (status.st_mode & (S_IWGRP | S_IWOTH) == 0 || status.st_mode & S_ISVTX != 0)
    }

    /// Whether others could lead what is done in a folder of its own to another one.
    var needsDescriptorPaths: Bool { !Self.hasDescriptorPaths && !keepsNames }
}
