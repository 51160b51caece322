import Foundation
import Glibc

/// A file that is read by its bytes, and by nothing else: no connection, no lock.
///
/// Closing the descriptor drops the locks that this process has on the file, so no connection to it
/// may be open here.
final class UntouchedFile {
    private let descriptor: Int32
    let size: Int

    /// - Returns: `nil` if there is no file, or it is empty.
    init?(_ path: String) throws(POSIXError) {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY)
        guard descriptor >= 0 else {
            if errno == ENOENT { return nil }
            throw POSIXError(POSIXErrorCode(rawValue: errno) ?? .EIO)
        }
        var status = stat()
        guard fstat(descriptor, &status) == 0, status.st_mode & S_IFMT == S_IFREG,
            status.st_size > 0
        else {
            close(descriptor)
            return nil
        }
        self.descriptor = descriptor
        size = Int(status.st_size)
    }

    deinit {
        close(descriptor)
    }

    /// The bytes at a place; `nil` where the file has fewer, or the disk doesn't give them.
    func read(at offset: Int, count: Int) -> [UInt8]? {
        guard offset >= 0, count >= 0, offset + count <= size else { return nil }
        var done = 0
        let bytes = [UInt8](unsafeUninitializedCapacity: count) { buffer, initialized in
            while done < count {
                let more = pread(
                    descriptor,
                    buffer.baseAddress.map { $0 + done },
                    count - done,
                    off_t(offset + done)
                )
                if more < 0, errno == EINTR { continue }
                guard more > 0 else { break }
                done += more
            }
            initialized = done
        }
        return done == count ? bytes : nil
    }
}

extension [UInt8] {
    /// The big-endian number of two bytes.
    func half(_ offset: Int) -> Int {
        Int(self[offset]) << 8 | Int(self[offset + 1])
    }

    /// The big-endian number of four bytes.
    func word(_ offset: Int) -> UInt32 {
        self[offset..<(offset + 4)].reduce(0) { $0 << 8 | UInt32($1) }
    }
}
