import Foundation
import MigrationKitCommon

// Small files of ours beside a database, which belong to its owner alone.
extension DatabaseFile {
    func companionPath(_ suffix: String) -> String { resolvedPath + suffix }

    /// The content of a small file beside the database; `nil` if there is none, or it is something else.
    ///
    /// - Throws: ``EncryptedDatabaseError`` if it can't be read.
    func companion(_ suffix: String) throws -> Data? {
        let path = companionPath(suffix)
        let descriptor = Glibc.open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK)
        guard descriptor >= 0 else {
            switch errno {
            case ENOENT: return nil
            case EACCES: throw EncryptedDatabaseError.permissionDenied(path: path)
            default:
                throw EncryptedDatabaseError.inputOutput(path: path, detail: systemReason(errno))
            }
        }
        let file = FileHandle(fileDescriptor: descriptor, closeOnDealloc: true)
        var status = stat()
        guard fstat(descriptor, &status) == 0, status.st_mode & S_IFMT == S_IFREG else {
            return nil
        }
        do {
            return try file.read(upToCount: 1 << 20) ?? Data()
        } catch {
            throw EncryptedDatabaseError.inputOutput(path: path, detail: systemReason(EIO))
        }
    }

    /// Writes a small file beside the database, and returns when it is on the disk.
    ///
    /// - Parameter files: What keeps others from removing the new file.
    /// - Throws: A `NewFileError`.
    func writeCompanion(_ suffix: String, _ content: Data, by files: NewFiles) throws {
        let path = companionPath(suffix)
        var status = stat()
        let hasOwner = stat(resolvedPath, &status) == 0
        let file = try files.make()
        defer { file.remove() }
        try file.write { descriptor in
            if let code = writeAll(content, to: descriptor) { throw NewFileError(path, code) }
        }
        try file.finish(mode: 0o600, owner: hasOwner ? (status.st_uid, status.st_gid) : nil)
        try file.replace(path)
    }
}
