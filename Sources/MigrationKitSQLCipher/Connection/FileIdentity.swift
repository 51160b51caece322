import Foundation
import Glibc
import MigrationKitCommon
import MigrationKitPages

/// A file, independent of its name.
package struct FileIdentity: Equatable {
    private let device: dev_t
    private let inode: ino_t
    package let owner: uid_t
    package let group: gid_t
    package let mode: mode_t
    /// How many names the file has.
    let linkCount: nlink_t

    /// The mode without the kind of the file, such as 0o600.
    package var permissions: UInt32 { mode & 0o7777 }

    /// How many other names the file has.
    package var otherNameCount: Int { max(Int(linkCount) - 1, 0) }

    /// - Parameter path: Links are followed.
    /// - Returns: `nil` if nothing is there.
    /// - Throws: ``EncryptedDatabaseError`` if this can't be checked.
    package static func of(_ path: String) throws(EncryptedDatabaseError) -> FileIdentity? {
        try find(path).get()
    }

    /// Looks at what a path leads to, following links. An empty file has an identity, too.
    package static func find(_ path: String) -> Found<FileIdentity> {
        var status = stat()
        guard stat(path, &status) == 0 else {
            return Found(failing: "stat", on: path, errno)
        }
        return .content(FileIdentity(status))
    }

    private init(_ status: stat) {
        device = status.st_dev
        inode = status.st_ino
        owner = status.st_uid
        group = status.st_gid
        mode = status.st_mode
        linkCount = status.st_nlink
    }

    func isSameFile(as other: FileIdentity) -> Bool {
        device == other.device && inode == other.inode
    }

    // MARK: - Who has it open

    /// How many descriptors of this process are open on the file.
    ///
    /// - Throws: As ``otherProcesses()``.
    var ownDescriptorCount: Int {
        get throws { try descriptors(of: "self").count }
    }

    /// How many names the file has now, which this process has open; `nil` if the system doesn't
    /// report it.
    ///
    /// - Throws: As ``otherProcesses()``.
    var remainingNameCount: Int? {
        get throws {
            try descriptors(of: "self").first
                .flatMap { try FileIdentity.of($0).map { Int($0.linkCount) } }
        }
    }

    /// The other processes that have the file open, as far as the system reports them. It reports
    /// another user's processes only to root, or if they hold a lock.
    ///
    /// <https://man7.org/linux/man-pages/man5/proc_pid_fd.5.html>
    ///
    /// - Throws: ``EncryptedDatabaseError/inputOutput(path:detail:)`` if the system can't report
    ///   them, for example because no descriptor is free. Otherwise it would look as if no process
    ///   had the file open.
    func otherProcesses() throws -> [OpenProcess] {
        try otherProcesses(including: lockHolders()) { _ in true }
    }

    /// The other processes that have opened the file under a name that it no longer has.
    ///
    /// - Throws: As ``otherProcesses()``.
    func processesWithLostName() throws -> [OpenProcess] {
        try otherProcesses(including: []) { linkTarget($0)?.hasSuffix(" (deleted)") == true }
    }

    /// - Parameters:
    ///   - known: Processes that count in any case.
    ///   - condition: Which descriptors of the file count, by their path in `/proc`.
    private func otherProcesses(
        including known: [Int32],
        where condition: (_ descriptor: String) -> Bool
    ) throws -> [OpenProcess] {
        var found = Set(known)
        for name in try Self.names(in: "/proc") {
            guard let identifier = Int32(name), !found.contains(identifier) else { continue }
            if try descriptors(of: name).contains(where: condition) { found.insert(identifier) }
        }
        found.remove(getpid())
        return found.sorted().map(OpenProcess.init)
    }

    /// The paths in `/proc` of a process's descriptors of the file.
    private func descriptors(of process: String) throws -> [String] {
        let folder = "/proc/\(process)/fd/"
        return try Self.names(in: folder).map { folder + $0 }.filter { descriptor in
            // A descriptor that was closed meanwhile doesn't count.
            if case .content(let file) = Self.find(descriptor) {
                isSameFile(as: file)
            } else {
                false
            }
        }
    }

    /// All processes that hold a lock on the file, whichever user they belong to. A process in
    /// another PID namespace is 0 or less.
    /// <https://man7.org/linux/man-pages/man5/proc_locks.5.html>
    private func lockHolders() throws -> [Int32] {
        // 4: POSIX  ADVISORY  WRITE 17325 fe:00:1116270 1073741824 1073742335
        let place = ":\(inode)"
        return try Self.lines(of: "/proc/locks").compactMap { line in
            let words = line.split(separator: " ").filter { $0 != "->" }
            guard words.count > 5, words[5].hasSuffix(place), let process = Int32(words[4]),
                process > 0, isHere(words[5])
            else { return nil }
            return process
        }
    }

    private func isHere(_ place: Substring) -> Bool {
        let parts = place.split(separator: ":")
        guard parts.count == 3, let major = UInt64(parts[0], radix: 16),
            let minor = UInt64(parts[1], radix: 16)
        else { return false }
        // Combines the two numbers as makedev(3) does.
        let device = UInt64(device)
        return (device >> 8) & 0xfff | (device >> 32) & ~0xfff == major
            && device & 0xff | (device >> 12) & ~0xff == minor
    }

    private static func lines(of path: String) throws -> [Substring] {
        // Read until the end: a file in /proc has no size.
        guard let file = fopen(path, "re") else {
            try checkIsWithheld(path, errno)
            return []
        }
        defer { fclose(file) }
        var text: [UInt8] = []
        var part = [UInt8](repeating: 0, count: 1 << 16)
        while case let count = fread(&part, 1, part.count, file), count > 0 {
            text += part[..<count]
        }
        guard ferror(file) == 0 else { throw EncryptedDatabaseError.unreadable(path, "read", EIO) }
        return String(decoding: text, as: UTF8.self).split(separator: "\n")
    }

    private static func names(in folder: String) throws -> [String] {
        do {
            return try namesInFolder(folder)
        } catch {
            try checkIsWithheld(folder, error.code.rawValue)
            return []
        }
    }

    /// Throws, unless the failure is expected: the process has ended, it belongs to another user,
    /// or there is no `/proc`.
    private static func checkIsWithheld(_ path: String, _ code: Int32) throws {
        guard ![ENOENT, ENOTDIR, ESRCH, EACCES, EPERM].contains(code) else { return }
        throw EncryptedDatabaseError.unreadable(path, "open", code)
    }
}
