import Foundation
import MigrationKitKeys
import MigrationKitCommon
import MigrationKitGRDB
import MigrationKitPages
import MigrationKitSQLCipher

/// A file that a conversion or a restore was making beside a database when it was killed.
public struct LeftoverFile: Equatable, Sendable {
    /// The absolute path of the hidden folder that it is in. Earlier versions made it without a folder, and
    /// this is its own.
    public let path: String

    /// The size in bytes.
    public let size: Int

    /// Whether it begins like a plaintext database. Then it may contain all rows, readable by
    /// anybody who can read the file or the disk.
    public let isPlaintext: Bool

    /// The leftover files beside a database; empty while a run is using its own.
    ///
    /// - Throws: `EncryptedDatabaseError` if the disk can't read the names.
    static func all(beside file: DatabaseFile) throws -> [LeftoverFile] {
        let paths = try file.leftovers()
        let lock = DatabaseFile(file.resolvedPath).migrationLock
        guard !paths.isEmpty, !lock.isHeld else { return [] }
        return paths.compactMap(LeftoverFile.init)
    }

    private init?(_ path: String) {
        var status = stat()
        guard lstat(path, &status) == 0 else { return nil }
        let isFolder = status.st_mode & S_IFMT == S_IFDIR
        let file = isFolder ? NewFiles.path(in: path) : path
        let descriptor = open(file, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK)
        defer { if descriptor >= 0 { close(descriptor) } }
        // A file that can't be opened still exists, and a folder without one does.
        let isFound = (descriptor < 0 ? lstat(file, &status) : fstat(descriptor, &status)) == 0
        let isFile = isFound && status.st_mode & S_IFMT == S_IFREG
        guard isFile || isFolder else { return nil }
        self.path = path
        size = isFile ? Int(status.st_size) : 0
        var start = [UInt8](repeating: 0, count: FileBeginning.count)
        let count = descriptor < 0 ? 0 : pread(descriptor, &start, start.count, 0)
        isPlaintext =
            count >= DatabaseHeader.magic.count && start.starts(with: DatabaseHeader.magic)
            && !FileBeginning.hasPlaintextHeader(start, fileSize: size)
    }
}
