import Foundation
import Glibc
import MigrationKitCommon

/// A file whose bytes are read directly, without a connection or a lock.
///
/// Closing the descriptor releases the locks that this process has on the file. So the file must be
/// a journal, which has no locks, or this process must have no connection to it.
package final class RawFile: Sendable {
    package let path: String
    private let descriptor: Int32
    package let size: Int

    /// Opens the file at a path, links followed.
    package static func find(_ path: String) -> Found<RawFile> {
        // Otherwise opening a pipe would wait for a writer.
        let flags = O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK
        let descriptor = open(path, flags)
        guard descriptor >= 0 else { return Found(failing: "open", on: path, errno) }
        var status = stat()
        guard fstat(descriptor, &status) == 0 else {
            defer { close(descriptor) }
            return .unreadable(.unreadable(path, "fstat", errno))
        }
        guard status.st_mode & S_IFMT == S_IFREG else {
            close(descriptor)
            return .unreadable(.inputOutput(path: path, detail: "it is not a regular file"))
        }
        guard status.st_size > 0 else {
            close(descriptor)
            return .empty
        }
        return .content(RawFile(path, descriptor, size: Int(status.st_size)))
    }

    private init(_ path: String, _ descriptor: Int32, size: Int) {
        self.path = path
        self.descriptor = descriptor
        self.size = size
    }

    deinit {
        close(descriptor)
    }

    /// The bytes at an offset; `nil` if the file ends before.
    ///
    /// - Throws: ``EncryptedDatabaseError/inputOutput(path:detail:)`` if the disk can't read them.
    package func read(at offset: Int, count: Int) throws(EncryptedDatabaseError) -> [UInt8]? {
        guard offset >= 0, count >= 0, offset + count <= size else { return nil }
        var (done, code) = (0, Int32(0))
        let bytes = [UInt8](unsafeUninitializedCapacity: count) { buffer, initialized in
            do throws(POSIXError) {
                done = try moveAll(count) { done, rest in
                    pread(
                        descriptor,
                        buffer.baseAddress.map { $0 + done },
                        rest,
                        off_t(offset + done)
                    )
                }
            } catch {
                code = error.code.rawValue
            }
            initialized = done
        }
        guard code == 0 else { throw .unreadable(path, "read", code) }
        // The file was truncated meanwhile.
        return done == count ? bytes : nil
    }
}

extension [UInt8] {
    /// The big-endian number of two bytes.
    package func half(_ offset: Int) -> Int {
        Int(self[offset]) << 8 | Int(self[offset + 1])
    }

    /// The big-endian number of four bytes.
    package func word(_ offset: Int) -> UInt32 {
        self[offset..<(offset + 4)].reduce(0) { $0 << 8 | UInt32($1) }
    }
}

// MARK: - Found

/// The file at a path, if there is one.
///
/// An optional isn't enough: a journal that can't be read may have content, but `nil` would look as
/// if there were none.
package enum Found<Content> {
    /// There is no file.
    case absent
    /// There is an empty file.
    case empty
    /// There is a file with content.
    case content(Content)
    /// There is or may be a file, but the system can't read it.
    case unreadable(EncryptedDatabaseError)

    /// The content; `nil` only if there is none.
    ///
    /// - Throws: ``EncryptedDatabaseError/permissionDenied(path:)`` or
    ///   ``EncryptedDatabaseError/inputOutput(path:detail:)`` if it is unreadable.
    package func get() throws(EncryptedDatabaseError) -> Content? {
        switch self {
        case .absent, .empty: nil
        case .content(let content): content
        case .unreadable(let error): throw error
        }
    }
}

extension Found<stat> {
    /// Looks at what a path leads to, following links.
    package init(_ path: String) {
        var status = stat()
        guard stat(path, &status) == 0 else {
            self = .init(failing: "stat", on: path, errno)
            return
        }
        self = status.st_size == 0 ? .empty : .content(status)
    }
}

extension Found {
    /// The meaning of a failed system call.
    package init(failing operation: String, on path: String, _ code: Int32) {
        switch code {
        // If such a name is impossible, nothing has it.
        case ENOENT, ENOTDIR, ENAMETOOLONG: self = .absent
        default: self = .unreadable(.unreadable(path, operation, code))
        }
    }
}

extension EncryptedDatabaseError {
    /// The error of a file that can't be read.
    ///
    /// - Parameter operation: The system call that failed.
    package static func unreadable(_ path: String, _ operation: String, _ code: Int32) -> Self {
        switch code {
        case EACCES, EPERM:
            .permissionDenied(path: path)
        default:
            .inputOutput(
                path: path,
                detail: "\(operation): \(systemReason(code))"
            )
        }
    }
}
