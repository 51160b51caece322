import Foundation
import MigrationKitCommon

/// A file that was created for a database, whatever has its name now.
///
/// SQLite opens it by its name. In a shared folder, others may have put a file of theirs there, or a link to
/// another database.
package final class CreatedFile: Sendable {
    private let file: DatabaseFile
    private let device: dev_t
    private let number: ino_t
    /// As long as it is open, no other file gets the number. A descriptor without access takes no lock with
    /// it when it is closed. <https://man7.org/linux/man-pages/man2/open.2.html>
    private let held: Int32

    /// - Parameter descriptor: The file, just created.
    init(_ file: DatabaseFile, _ descriptor: Int32) {
        self.file = file
        var status = stat()
        fstat(descriptor, &status)
        (device, number) = (status.st_dev, status.st_ino)
        held = Glibc.open("/proc/self/fd/\(descriptor)", HeldFolder.onlyPath | O_CLOEXEC)
    }

    deinit {
        if held >= 0 { close(held) }
    }

    /// Throws if no connection of this process has it open: then it has opened something else.
    ///
    /// - Throws: ``DatabaseConversionError/replacedMeanwhile(path:)``.
    package func checkIsOpen() throws {
        // Without `/proc`, it can't be told.
        guard held >= 0, let descriptors = try? namesInFolder("/proc/self/fd") else { return }
        let isOpen = descriptors.contains { descriptor in
            var status = stat()
            return Int32(descriptor) != held && stat("/proc/self/fd/\(descriptor)", &status) == 0
                && status.st_dev == device && status.st_ino == number
        }
        guard isOpen else { throw DatabaseConversionError.replacedMeanwhile(path: file.path) }
    }
}
