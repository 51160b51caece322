import Foundation

/// A lock between processes, in a separate file beside a database.
///
/// The kernel releases it when its holder ends, in whatever way. Only the file may be left behind,
/// which locks nothing. The database file itself is never locked: closing a descriptor of it would
/// release SQLite's own locks.
///
/// The lock belongs to an open file description (flock(2)), so it also works between two threads of
/// one process.
package struct FileLock: Sendable {
    /// Why there is no lock.
    package enum Failure: Error, Equatable {
        /// Another process held it for the whole timeout. Contains its process id, if the file has
        /// it.
        case held(processIdentifier: Int32?)
        /// The lock file can't be created or locked, with this errno. `EMLINK`: it is a hard link
        /// to another file. `EEXIST`: it is not a lock file. In both cases, writing to it would change
        /// something else.
        case refused(code: Int32)

        /// Why the lock can't be taken, in words.
        ///
        /// - Parameter path: The lock file.
        package static func reason(for code: Int32, at path: String) -> String {
            switch code {
            case EACCES, EPERM:
                // A run as another user, such as root, was killed, or is still at work.
                guard let owner = otherOwner(of: path) else { return systemReason(code) }
                return "it belongs to \(owner); remove it unless a process of theirs is at work"
            case ENAMETOOLONG:
                let limit = Int(NAME_MAX) - FileLock.migrationSuffix.utf8.count
                return "the database's file name is too long: at most \(limit) bytes"
            case ELOOP: return "the lock file is a symbolic link; remove the link"
            case EMLINK: return "the lock file is a hard link to another file; remove the link"
            case EEXIST: return "something else has the lock file's name; remove it"
            default: return systemReason(code)
            }
        }

        /// Whether the disk or the system failed. Permissions and names are not failures.
        package static func isFault(_ code: Int32) -> Bool { faults.contains(code) }

        /// The name of another user to whom a file belongs; `nil` if it is the process's own.
        private static func otherOwner(of path: String) -> String? {
            var status = stat()
            guard lstat(path, &status) == 0, status.st_uid != geteuid() else { return nil }
            let name = getpwuid(status.st_uid).map { String(cString: $0.pointee.pw_name) }
            return name ?? "user \(status.st_uid)"
        }

        private static let faults = [EIO, ENOSPC, EDQUOT, EMFILE, ENFILE, ENOLCK, EINTR, ENOMEM]
    }

    /// The suffix of the lock file for migrating or rewriting a database.
    package static let migrationSuffix = "-migration.lock"

    /// The suffix of the lock file for the first launch of an app's store.
    package static let launchSuffix = "-launch.lock"

    /// The file's path.
    package let path: String

    /// - Parameters:
    ///   - database: The database's path, with its links resolved.
    ///   - suffix: The lock file's suffix after the database's name, such as `-launch.lock`.
    package init(beside database: String, suffix: String) {
        path = database + suffix
    }

    /// Runs `body` while holding the lock, then removes the file.
    ///
    /// - Parameters:
    ///   - timeout: How long to wait for another holder, in seconds.
    ///   - waitsForProgress: Whether the timeout begins anew at each sign of progress of the holder
    ///     (``Held/signProgress()``), and with each new holder.
    ///   - whileWaiting: Called repeatedly while another process holds the lock, with that
    ///     process's id if the file has it. If it throws, the waiting ends.
    /// - Throws: ``Failure``, or what the closures throw.
    package func withLock<Value>(
        timeout: TimeInterval,
        waitsForProgress: Bool = false,
        whileWaiting: (_ holder: Int32?) throws -> Void = { _ in },
        _ body: (Held) throws -> Value
    ) throws -> Value {
        var sign = lastSign
        var held: Held?
        repeat {
            // flock(2) either waits forever or not at all.
            held = try Polling.value(within: timeout, whileWaiting: { try whileWaiting(holder) }) {
                try hold()
            }
        } while held == nil && waitsForProgress && timeout > 0 && hasSign(since: &sign)
        guard let held else { throw Failure.held(processIdentifier: holder) }
        defer { held.release() }
        return try body(held)
    }

    package func withLock<Value>(
        timeout: TimeInterval,
        whileWaiting: (_ holder: Int32?) throws -> Void = { _ in },
        _ body: () throws -> Value
    ) throws -> Value {
        try withLock(timeout: timeout, whileWaiting: whileWaiting) { _ in try body() }
    }

    /// When the holder last showed that it makes progress; `nil` if there is no file.
    package var lastSign: SignOfProgress? {
        var status = stat()
        guard lstat(path, &status) == 0 else { return nil }
        let time = status.st_mtim
        return SignOfProgress(number: status.st_ino, seconds: time.tv_sec, part: time.tv_nsec)
    }

    /// Whether the holder, or a new one, has shown progress since.
    ///
    /// - Parameter sign: The last sign that is known. It is replaced by the newest.
    package func hasSign(since sign: inout SignOfProgress?) -> Bool {
        let newest = lastSign
        defer { sign = newest }
        return newest != nil && newest != sign
    }

    /// The time of a lock file. It is only compared: the clocks of two machines may differ.
    package struct SignOfProgress: Equatable {
        fileprivate let number: ino_t
        fileprivate let seconds: Int
        fileprivate let part: Int
    }

    /// A lock that is held until it is released, or until the process ends.
    package struct Held: Sendable {
        fileprivate let lock: FileLock
        fileprivate let descriptor: Int32

        /// Shows those who wait for the lock that its holder makes progress.
        package func signProgress() {
            futimens(descriptor, nil)
        }

        /// Removes the file and releases the lock. Must be called once.
        package func release() {
            // Removed before it is released, so that a waiting process notices and creates a new
            // file. If somebody has removed it, the file there is another process's lock.
            if lock.isStillThere(descriptor) { unlink(lock.path) }
            close(descriptor)
        }
    }

    /// Takes the lock, without waiting for it.
    ///
    /// - Returns: `nil` if somebody else holds it.
    /// - Throws: ``Failure/refused(code:)``.
    package func hold() throws(Failure) -> Held? {
        try acquire().map { Held(lock: self, descriptor: $0) }
    }

    /// Whether somebody holds the lock. Creates and removes nothing.
    package var isHeld: Bool {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK)
        guard descriptor >= 0 else { return false }
        defer { close(descriptor) }
        return flock(descriptor, LOCK_SH | LOCK_NB) != 0 && errno == EWOULDBLOCK
    }

    /// Removes the file if a holder was killed and left it behind. Best effort.
    ///
    /// - Parameter body: Removes what else such a holder has left. It runs under the lock.
    package func removeIfAbandoned(with body: () -> Void) {
        var status = stat()
        guard lstat(path, &status) == 0 else { return }
        try? withLock(timeout: 0) { body() }
    }

    /// The process that the file names as the holder.
    private var holder: Int32? {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK)
        guard descriptor >= 0 else { return nil }
        defer { close(descriptor) }
        var bytes = [UInt8](repeating: 0, count: 16)
        let count = read(descriptor, &bytes, bytes.count)
        guard count > 0 else { return nil }
        return Int32(String(decoding: bytes[..<count], as: UTF8.self).prefix { $0 != "\n" })
    }

    /// The descriptor that holds the lock; `nil` if somebody else does.
    private func acquire() throws(Failure) -> Int32? {
        while true {
            let flags = O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK
            let descriptor = open(path, flags, 0o600)
            guard descriptor >= 0 else { throw .refused(code: errno) }
            if let code = Self.fault(of: descriptor) {
                close(descriptor)
                throw .refused(code: code)
            }
            guard flock(descriptor, LOCK_EX | LOCK_NB) == 0 else {
                let code = errno
                close(descriptor)
                switch code {
                case EWOULDBLOCK: return nil
                case EINTR: continue
                default: throw .refused(code: code)
                }
            }
            if isStillThere(descriptor) {
                sign(descriptor)
                return descriptor
            }
            // The last holder removed the file after it was opened here and before it was locked.
            close(descriptor)
        }
    }

    /// Why the opened file must not be written, as an errno: somebody else may have put it there,
    /// or renamed another file, so that it is overwritten.
    private static func fault(of descriptor: Int32) -> Int32? {
        var status = stat()
        guard fstat(descriptor, &status) == 0 else { return errno }
        // No lock file has more in it than the number of a process.
        guard status.st_mode & S_IFMT == S_IFREG, status.st_size <= 16 else { return EEXIST }
        // 0 links: the last holder has just removed it.
        return status.st_nlink > 1 ? EMLINK : nil
    }

    private func isStillThere(_ descriptor: Int32) -> Bool {
        var opened = stat()
        var named = stat()
        return fstat(descriptor, &opened) == 0 && lstat(path, &named) == 0
            && opened.st_dev == named.st_dev && opened.st_ino == named.st_ino
    }

    /// Writes the holder's process id. It is only for messages, so a full disk is ignored.
    private func sign(_ descriptor: Int32) {
        // The umask may have removed bits that the next holder needs.
        _ = fchmod(descriptor, 0o600)
        let text = "\(getpid())\n"
        guard ftruncate(descriptor, 0) == 0 else { return }
        _ = text.withCString { pwrite(descriptor, $0, strlen($0), 0) }
    }
}
