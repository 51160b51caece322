import Foundation

/// Writes all bytes to a descriptor.
///
/// - Returns: `nil`, or the errno.
package func writeAll(_ bytes: some ContiguousBytes, to descriptor: Int32) -> Int32? {
    bytes.withUnsafeBytes {
        var rest = $0
        while !rest.isEmpty {
            let count = write(descriptor, rest.baseAddress, rest.count)
            if count >= 0 {
                rest = UnsafeRawBufferPointer(rebasing: rest[count...])
                continue
            }
            switch errno {
            case EINTR:
                continue
            case EAGAIN:
                // Another process has made the shared descriptor nonblocking, but the result must be
                // written.
                var room = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
                _ = poll(&room, 1, -1)
            case let code:
                return code
            }
        }
        return nil
    }
}

/// Where a symbolic link points.
///
/// - Returns: `nil` if that can't be read, with the reason in errno.
package func linkTarget(_ path: String) -> String? {
    var target = [CChar](repeating: 0, count: Int(PATH_MAX))
    let count = readlink(path, &target, target.count)
    guard count > 0 else { return nil }
    return String(decoding: target[..<count].map(UInt8.init(bitPattern:)), as: UTF8.self)
}

/// The absolute path without links; `nil` if there is nothing.
package func realPath(_ path: String) -> String? {
    guard let real = realpath(path, nil) else { return nil }
    defer { free(real) }
    return String(cString: real)
}

/// A variable of the environment. Never ask for one that holds a secret: a text can't be wiped.
package func environmentVariable(_ name: String) -> String? {
    getenv(name).map { String(cString: $0) }
}

extension POSIXError {
    /// The error of an errno that was kept.
    package init(errno code: Int32) {
        self.init(POSIXErrorCode(rawValue: code) ?? .EIO)
    }
}
