import Foundation

/// A file's final name, at which nothing may be.
package enum FreeName {
    /// Gives a file a name in its own folder that must be free. It loses the one that it has.
    ///
    /// Unlike rename(2), link(2) replaces nothing. Where the file system has no links, such as FAT and
    /// some that are reached by a network, an empty file takes the name first, and is replaced; a
    /// process that is killed in between leaves that. <https://man7.org/linux/man-pages/man2/link.2.html>
    ///
    /// - Returns: 0, or the errno: `EEXIST` if something is there.
    package static func give(_ name: String, to file: String) -> Int32 {
        if link(file, name) == 0 {
            unlink(file)
            return 0
        }
        switch errno {
        case EPERM, EOPNOTSUPP, ENOSYS, EMLINK: break
        case let code: return code
        }
        let reserved = open(name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0o600)
        guard reserved >= 0 else { return errno }
        close(reserved)
        guard rename(file, name) == 0 else {
            let code = errno
            unlink(name)
            return code
        }
        return 0
    }
}
