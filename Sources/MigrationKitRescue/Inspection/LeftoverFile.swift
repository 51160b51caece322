import Foundation
import MigrationKitKeys
import MigrationKitCommon
import MigrationKitGRDB
import MigrationKitPages
import MigrationKitSQLCipher

/// A file that a conversion or a restore was making beside a database when it was killed.
public struct LeftoverFile: Equatable, Sendable {
    /// Its absolute path.
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
        let descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK)
        defer { if descriptor >= 0 { close(descriptor) } }
        var status = stat()
        // A file that can't be opened still exists.
        guard (descriptor < 0 ? lstat(path, &status) : fstat(descriptor, &status)) == 0,
            status.st_mode & S_IFMT == S_IFREG
        else { return nil }
        self.path = path
        size = Int(status.st_size)
        var start = [UInt8](repeating: 0, count: FileBeginning.count)
        let count = descriptor < 0 ? 0 : pread(descriptor, &start, start.count, 0)
        isPlaintext =
            count >= DatabaseHeader.magic.count && start.starts(with: DatabaseHeader.magic)
            && !FileBeginning.hasPlaintextHeader(start, fileSize: size)
    }
}
