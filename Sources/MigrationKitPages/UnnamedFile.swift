import CLibCrypto
import CSQLCipher
import Foundation
import Glibc
import MigrationKitCommon

/// A file without a name, which is gone as soon as its descriptor is closed.
enum UnnamedFile {
    /// Why a folder takes no new file, now and later.
    static let refusals: Set<POSIXErrorCode> = [.EACCES, .EPERM, .EROFS, .ENOENT, .ENOTDIR]

    /// O_TMPFILE, a macro that Swift doesn't import.
    /// <https://man7.org/linux/man-pages/man2/open.2.html>
    private static let withoutName = 0o20000000 | O_DIRECTORY

    /// Creates a file that only this process can open, in the folder of a database.
    ///
    /// - Parameter canBeWithoutName: Whether the file system has files without a name. If it turns
    ///   out that it hasn't, the file loses its name as soon as it is open.
    /// - Returns: A descriptor for reading and writing.
    static func create(
        beside path: String,
        canBeWithoutName: Bool = true
    ) -> Result<Int32, POSIXError> {
        let files = NewFiles(for: path)
        if canBeWithoutName {
            let created = open(files.folder, withoutName)
            guard case .failure(let error) = created,
                // The last one is from kernels before 3.11.
                [.EOPNOTSUPP, .EINVAL, .EISDIR].contains(error.code)
            else { return created }
        }
        // If the process is killed before it removes the name, the next one that rewrites the
        // database removes the file. Nothing is in it.
        do {
            let file = try files.name()
            defer { file.remove() }
            let created = open(file.path, O_CREAT | O_NOFOLLOW)
            if case .success(let descriptor) = created, unlink(file.path) != 0 {
                let error = POSIXError.last
                close(descriptor)
                return .failure(error)
            }
            return created
        } catch {
            return .failure(POSIXError(errno: error.code))
        }
    }

    private static func open(_ path: String, _ flags: Int32) -> Result<Int32, POSIXError> {
        while true {
            let flags = flags | O_RDWR | O_EXCL | O_CLOEXEC
            let descriptor = Glibc.open(path, flags, 0o600)
            if descriptor >= 0 { return .success(descriptor) }
            if errno != EINTR { return .failure(.last) }
        }
    }
}
