import MigrationKitCommon
import Foundation

/// Reads finite input: a file, or the content of a pipe.
package enum FileContents {
    /// Reads a file or a pipe.
    ///
    /// - Throws: `POSIXError`; with `EISDIR` for a folder.
    package static func of(_ path: String) throws -> [UInt8] {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { throw POSIXError.last }
        defer { close(descriptor) }
        return try of(descriptor)
    }

    /// Reads a file, but never a pipe or a device: a pipe may have no writer, and a device no end.
    ///
    /// - Returns: `nil` if it isn't a regular file.
    /// - Throws: `POSIXError`.
    static func ofRegularFile(_ path: String) throws -> [UInt8]? {
        // Otherwise opening a pipe would wait for its writer.
        let descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
        guard descriptor >= 0 else { throw POSIXError.last }
        defer { close(descriptor) }
        var status = stat()
        guard fstat(descriptor, &status) == 0 else { throw POSIXError.last }
        guard status.st_mode & S_IFMT == S_IFREG else { return nil }
        return try of(descriptor, expecting: Int(status.st_size))
    }

    /// Reads an open descriptor to its end.
    ///
    /// - Parameter count: The expected number of bytes.
    ///
    /// - Throws: `POSIXError`.
    package static func of(
        _ descriptor: Int32,
        expecting count: Int = 1 << 16
    ) throws -> [UInt8] {
        var bytes: [UInt8] = []
        // One byte more than expected, to detect the end.
        var room = min(count, 1 << 24) + 1
        while true {
            var got = 0
            let piece = try [UInt8](unsafeUninitializedCapacity: room) { memory, used in
                repeat {
                    got = read(descriptor, memory.baseAddress, room)
                } while got < 0 && errno == EINTR
                guard got >= 0 else { throw POSIXError.last }
                used = got
            }
            guard got > 0 else { return bytes }
            if bytes.isEmpty { bytes = piece } else { bytes += piece }
            room = 1 << 16
        }
    }
}
