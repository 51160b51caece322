import Foundation

/// A small file that is written as a whole or not at all.
package enum WholeFile {
    /// Writes a file under a name of its own beside its place, gives it its name, and has both reach
    /// the disk. What a killed process left of an earlier one is removed.
    ///
    /// - Parameters:
    ///   - path: The file.
    ///   - mode: Its mode; `nil` for what the umask leaves of 0666.
    ///   - replaces: Whether a file that is there is replaced, which is an error otherwise.
    /// - Returns: 0, or the errno: `EEXIST` if something is there.
    package static func write(
        _ bytes: some Sequence<UInt8>,
        to path: String,
        mode: mode_t? = nil,
        replaces: Bool
    ) -> Int32 {
        let url = URL(fileURLWithPath: path)
        let folder = url.deletingLastPathComponent().path
        let prefix = ".\(url.lastPathComponent)-writing-"
        removeDrafts(in: folder, prefix: prefix)
        let (draft, descriptor) = makeDraft("\(folder)/\(prefix)")
        guard descriptor >= 0 else { return errno }
        defer { unlink(draft) }
        let code = fill(descriptor, with: Array(bytes), mode: mode)
        // A full disk, or a quota, may be reported by the closing only.
        let closing = close(descriptor) == 0 || errno == EINTR ? 0 : errno
        guard code == 0, closing == 0 else { return code == 0 ? closing : code }
        let placed =
            replaces
            ? (rename(draft, path) == 0 ? 0 : errno) : FreeName.give(path, to: draft)
        return placed == 0 ? synchronize(folder) : placed
    }

    /// Makes an empty file. It is locked as long as its descriptor is open.
    private static func makeDraft(_ prefix: String) -> (path: String, descriptor: Int32) {
        while true {
            let draft = prefix + TemporaryFiles.randomDigits()
            let descriptor = open(draft, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o666)
            guard descriptor >= 0 else { return (draft, descriptor) }
            let isLocked = flock(descriptor, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK
            var status = stat()
            guard fstat(descriptor, &status) == 0 else {
                let code = errno
                unlink(draft)
                close(descriptor)
                errno = code
                return (draft, -1)
            }
            // Before it was locked, another process may have removed it.
            if isLocked, status.st_nlink > 0 { return (draft, descriptor) }
            close(descriptor)
        }
    }

    /// Removes the drafts of processes that were killed, as far as that is possible.
    private static func removeDrafts(in folder: String, prefix: String) {
        let names = (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []
        for name in names where name.hasPrefix(prefix) {
            guard name.dropFirst(prefix.count).allSatisfy(\.isHexDigit) else { continue }
            let draft = "\(folder)/\(name)"
            let descriptor = open(draft, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK)
            guard descriptor >= 0 else { continue }
            if flock(descriptor, LOCK_EX | LOCK_NB) == 0 { unlink(draft) }
            close(descriptor)
        }
    }

    /// Has the disk keep a new entry of a folder: until then a power cut brings back what was there.
    ///
    /// - Returns: 0, or the errno.
    package static func synchronize(_ folder: String) -> Int32 {
        let descriptor = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        // A folder may be written and not read.
        guard descriptor >= 0 else { return errno == EACCES ? 0 : errno }
        defer { close(descriptor) }
        // Some file systems can't synchronize a folder, and say so by EINVAL.
        return fsync(descriptor) == 0 || errno == EINVAL ? 0 : errno
    }

    private static func fill(_ descriptor: Int32, with bytes: [UInt8], mode: mode_t?) -> Int32 {
        if let mode, fchmod(descriptor, mode) != 0 { return errno }
        if let code = bytes.withUnsafeBytes({ writeAll($0, to: descriptor) }) { return code }
        // Or a crash could leave the name with nothing behind it.
        return fsync(descriptor) == 0 ? 0 : errno
    }
}

/// Writes all bytes to a descriptor.
///
/// - Returns: `nil`, or the errno of what went wrong.
package func writeAll(_ bytes: UnsafeRawBufferPointer, to descriptor: Int32) -> Int32? {
    var rest = bytes
    while !rest.isEmpty {
        let count = write(descriptor, rest.baseAddress, rest.count)
        if count >= 0 {
            rest = UnsafeRawBufferPointer(rebasing: rest[count...])
            continue
        }
        switch errno {
        case EINTR:
            continue
        case EAGAIN:
            // Somebody who shares the descriptor doesn't want to wait; a result has to.
            var room = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
            _ = poll(&room, 1, -1)
        case let code:
            return code
        }
    }
    return nil
}
