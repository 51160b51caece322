import Foundation

/// Reads what has an end: a file, or what comes through a pipe.
package enum FileContents {
    /// Reads a file or a pipe.
    ///
    /// - Throws: `POSIXError`; with `EISDIR` for a folder.
    package static func of(_ path: String) throws -> [UInt8] {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { throw systemError() }
        defer { close(descriptor) }
        return try of(descriptor)
    }

    /// Reads an open descriptor to its end.
    ///
    /// - Throws: `POSIXError`.
    package static func of(_ descriptor: Int32) throws -> [UInt8] {
        var bytes: [UInt8] = []
        var piece = [UInt8](repeating: 0, count: 1 << 16)
        while true {
            let count = read(descriptor, &piece, piece.count)
            if count < 0, errno == EINTR { continue }
            guard count >= 0 else { throw systemError() }
            guard count > 0 else { return bytes }
            bytes += piece[..<count]
        }
    }

    private static func systemError() -> POSIXError {
        POSIXError(POSIXErrorCode(rawValue: errno) ?? .EIO)
    }
}

extension POSIXError {
    /// The system's words for the error.
    package var reason: String { String(cString: strerror(code.rawValue)).lowercased() }
}
