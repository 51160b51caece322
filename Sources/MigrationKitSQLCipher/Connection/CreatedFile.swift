import Foundation
import MigrationKitCommon
import MigrationKitPages

/// A file that was created for a database, whatever has its name now.
///
/// SQLite opens it by its name. In a shared folder, others may have put a file of theirs there, or a link to
/// another database.
package final class CreatedFile: Sendable {
    private let file: DatabaseFile
    private let device: dev_t
    private let number: ino_t
    /// As long as it is open, no other file gets the number. A descriptor without access takes no lock with
    /// it when it is closed. <https://man7.org/linux/man-pages/man2/open.2.html> -1 once the first
    /// connection has the file open.
    private let held: Locked<Int32>

    /// - Parameter descriptor: The file, just created.
    init(_ file: DatabaseFile, _ descriptor: Int32) {
        self.file = file
        var status = stat()
        fstat(descriptor, &status)
        (device, number) = (status.st_dev, status.st_ino)
        held = Locked(Glibc.open("/proc/self/fd/\(descriptor)", HeldFolder.onlyPath | O_CLOEXEC))
    }

    deinit {
        held.withLock { if $0 >= 0 { close($0) } }
    }

    /// Throws if no connection of this process has it open: then it has opened something else.
    ///
    /// - Throws: ``EncryptedDatabaseError/cannotCreate(path:reason:)``.
    package func checkIsOpen() throws {
        try held.withLock { held in
            let own = held
            // Without `/proc`, it can't be told.
            guard own >= 0, let descriptors = try? namesInFolder("/proc/self/fd") else { return }
            let isOpen = descriptors.contains { descriptor in
                var status = stat()
                return Int32(descriptor) != own
                    && stat("/proc/self/fd/\(descriptor)", &status) == 0
                    && status.st_dev == device && status.st_ino == number
            }
            guard isOpen else {
                throw Self.isReplaced(file)
            }
            close(own)
            held = -1
        }
    }

    /// The error if others have put something in its place.
    static func isReplaced(_ file: DatabaseFile) -> EncryptedDatabaseError {
        .cannotCreate(path: file.path, reason: "something else has taken its place")
    }
}
