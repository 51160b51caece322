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

/// Calls a function of the system, such as `pread`, until it has moved all bytes or finds no more.
///
/// - Parameters:
///   - count: How many bytes there are.
///   - move: Calls the function with how many bytes are done and how many are left, and returns what
///     it returns.
/// - Returns: How many bytes were moved.
package func moveAll(
    _ count: Int,
    _ move: (_ done: Int, _ rest: Int) -> Int
) throws(POSIXError) -> Int {
    var done = 0
    while done < count {
        let more = move(done, count - done)
        if more < 0, errno == EINTR { continue }
        guard more >= 0 else { throw .last }
        guard more > 0 else { break }
        done += more
    }
    return done
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

/// The names in a folder, without `.` and `..`.
///
/// Foundation treats a read error as the end of the folder, and a migration that isn't listed would
/// seem not to exist. <https://man7.org/linux/man-pages/man3/readdir.3.html>
///
/// - Throws: A `POSIXError`.
package func namesInFolder(_ path: String) throws(POSIXError) -> [String] {
    guard let stream = opendir(path) else { throw POSIXError.last }
    defer { closedir(stream) }
    var names: [String] = []
    while true {
        errno = 0
        guard let entry = readdir(stream) else { break }
        let name = withUnsafePointer(to: &entry.pointee.d_name) {
            $0.withMemoryRebound(to: CChar.self, capacity: Int(NAME_MAX) + 1) {
                String(cString: $0)
            }
        }
        if name != ".", name != ".." { names.append(name) }
    }
    guard errno == 0 else { throw POSIXError.last }
    return names
}

/// The system's text for an errno, worded for the end of a line.
package func systemReason(_ code: Int32) -> String {
    String(cString: strerror(code)).lowercased()
}

extension POSIXError {
    /// The error of an errno that was kept.
    package init(errno code: Int32) {
        self.init(POSIXErrorCode(rawValue: code) ?? .EIO)
    }

    /// The error of the system call that has just failed.
    package static var last: POSIXError { POSIXError(errno: errno) }

    /// The system's text for the error.
    package var reason: String { systemReason(code.rawValue) }
}

extension String {
    /// The folder that a path leads through, and the name in it. A Foundation path of one character traps.
    package var splitAtLastSlash: (folder: String, name: String) {
        guard let slash = lastIndex(of: "/") else { return (".", self) }
        return (
            slash == startIndex ? "/" : String(self[..<slash]), String(self[index(after: slash)...])
        )
    }
}
