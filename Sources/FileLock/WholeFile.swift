import Foundation

/// A small file that is written as a whole or not at all.
package enum WholeFile {
    /// Writes a file under a name of its own beside its place, has it reach the disk, and gives it
    /// its name.
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
        let digits = TemporaryFiles.randomDigits()
        let draft = "\(folder)/.\(url.lastPathComponent)-writing-\(digits)"
        let descriptor = open(draft, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o666)
        guard descriptor >= 0 else { return errno }
        defer { unlink(draft) }
        let code = fill(descriptor, with: Array(bytes), mode: mode)
        // A full disk, or a quota, may be told by the closing only.
        let closing = close(descriptor) == 0 || errno == EINTR ? 0 : errno
        guard code == 0, closing == 0 else { return code == 0 ? closing : code }
        if replaces { return rename(draft, path) == 0 ? 0 : errno }
        return FreeName.give(path, to: draft)
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
