import Foundation

/// The new files that are made for one place.
///
/// Until it is whole, each is in a hidden folder, and has the name of that: the name of the file it is
/// for, `-converting-` or `-writing-`, and random digits. So the next run for the same place finds what a
/// killed run left, and a folder that others put in its place has nothing of that name to be removed.
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
            throw NewFileError(file.shownPath, code)
        }
        // The umask may have removed bits that SQLite needs.
        if let mode { fchmod(descriptor, mode) }
        file.identify(by: descriptor)
        close(descriptor)
        return file
    }

    /// Makes the hidden folder of a file, and leaves the file's creation to another.
    package func name() throws(NewFileError) -> NewFile {
        let place = try HeldFolder(folder)
        guard !place.needsDescriptorPaths else { throw NewFileError(folder, ENOSYS) }
        var generator = SystemRandomNumberGenerator()
        // Others who take the folder away as soon as it is made can't do so often.
        for _ in 0..<100 {
            let digits = String(UInt64.random(in: .min ... .max, using: &generator), radix: 16)
            let name = prefix + digits
            guard let room = try room(name, in: place) else { continue }
            let file = NewFile(name, of: self, in: room, at: place)
            guard ownership == .writing else { return file }
            if try claim(file) { return file }
        }
        throw NewFileError(folder, ESTALE)
    }

    /// - Returns: `nil` if others have the name.
    private func room(_ name: String, in place: HeldFolder) throws(NewFileError) -> HeldFolder? {
        do {
            return try place.makePrivate(name)
        } catch  where [EACCES, EPERM, ENOSYS, EOPNOTSUPP, EMLINK].contains(error.code) {
            // Where there can be no further folder, the place itself will do if nobody else can put
            // something else under the file's name.
            guard place.keepsNames else { throw error }
            return place
        }
    }

    /// Locks a file, which isn't there yet, so that other processes don't remove it.
    ///
    /// - Returns: `false` if one has just removed its folder.
    private func claim(_ file: NewFile) throws(NewFileError) -> Bool {
        do {
            guard let claim = try Self.lock(file.path).hold() else { return false }
            file.claim = claim
            return true
        } catch {
            guard case .refused(let code) = error, code != ENOENT else { return false }
            unlink(file.path + Self.claimSuffix)
            // Where the file system has no locks, nobody can claim the file to remove it either.
            guard [ENOSYS, EOPNOTSUPP, ENOLCK].contains(code) else {
                file.remove()
                throw NewFileError(file.shownPath, code)
            }
            return true
        }
    }

    private static func lock(_ path: String) -> FileLock {
        FileLock(beside: path, suffix: claimSuffix)
    }

    // MARK: - What Killed Runs Left

    /// The path of the file that is made in a hidden folder: it has the folder's name.
    package static func path(in folder: String) -> String {
        "\(folder)/\(URL(fileURLWithPath: folder).lastPathComponent)"
    }

    private static let claimSuffix = ".lock"
    private static let databaseSuffixes = [""] + journalSuffixes + [FileLock.migrationSuffix]

    /// The names of what runs left that were killed, hidden folders and files; none if the folder may not
    /// be listed.
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
        let names = Set(((try? leftovers()) ?? []).compactMap(origin))
        guard !names.isEmpty, let place = try? HeldFolder(folder) else { return }
        for name in names {
            // Earlier versions, and runs that could make no folder, left files.
            let room = place.folder(name)
            removeUnused("\((room ?? place).path)/\(name)")
            if let room { place.remove(room, name) }
        }
    }

    private func removeUnused(_ path: String) {
        switch ownership {
        case .converting: Self.removeFiles(of: path)
        case .writing:
            // Another process may be at work on it.
            guard let claim = try? Self.lock(path).hold() else { return }
            Self.removeFiles(of: path)
            claim.release()
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
        let code = try HeldFolder(folder)
            .synchronize(isLenient: ownership == .writing, after: move)
        if let code { throw NewFileError(name ?? folder, code, isPlaced: name != nil) }
    }
}
