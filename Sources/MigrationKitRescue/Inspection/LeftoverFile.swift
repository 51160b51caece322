import MigrationKitPages
import MigrationKitCommon
import Foundation
import MigrationKitSQLCipher

/// A file that a conversion or a restore was making beside a database when it was killed.
public struct LeftoverFile: Equatable, Sendable {
    /// Its absolute path.
    public let path: String

    /// The size in bytes.
    public let size: Int

    /// Whether it begins as a database in the clear does: then it may have all of the rows, for
    /// everybody who can read it or the disk.
    public let isPlaintext: Bool

    /// Those beside a database, as long as no run is at work, whose files they might be.
    ///
    /// - Throws: `EncryptedDatabaseError` if the disk doesn't give the names.
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
        // What can't be opened is there all the same.
        guard (descriptor < 0 ? lstat(path, &status) : fstat(descriptor, &status)) == 0,
            status.st_mode & S_IFMT == S_IFREG
        else { return nil }
        self.path = path
        size = Int(status.st_size)
        var start = [UInt8](repeating: 0, count: DatabaseHeader.magic.count)
        let count = descriptor < 0 ? 0 : pread(descriptor, &start, start.count, 0)
        isPlaintext = count == start.count && start == DatabaseHeader.magic
    }
}
