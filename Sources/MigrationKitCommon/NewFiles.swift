import Foundation

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
