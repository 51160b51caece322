import Foundation
import MigrationKit
import MigrationKitCommon

/// The text of one SQL file, ready to be split: valid UTF-8, without a byte order mark, and with
/// line feeds as line ends.
struct SQLFile: Sendable {
    /// The file's name in errors, without its folder.
    let name: String

    /// The text. Each line keeps its number from the file.
    let bytes: [UInt8]

    /// The unchanged bytes of the file, for the checksums of other tools.
    let contents: [UInt8]

    /// Prepares the bytes of a file.
    ///
    /// Windows line ends become line feeds, so that the schema in the database doesn't depend on
    /// how the file was checked out. Line ends inside literals are data and stay.
    ///
    /// - Throws: ``MigrationFolderError/notUTF8(at:)`` or
    ///   ``MigrationFolderError/nulCharacter(at:)``.
    init(name: String, contents: [UInt8]) throws {
        if let offset = Self.firstInvalidByte(in: contents) {
            throw MigrationFolderError.notUTF8(
                at: Self.place(at: offset, in: contents, of: name)
            )
        }
        // SQLite would stop here, and ignore the rest without an error.
        if let index = contents.firstIndex(of: 0) {
            throw MigrationFolderError.nulCharacter(
                at: Self.place(at: index, in: contents, of: name)
            )
        }
        let mark: [UInt8] = [0xEF, 0xBB, 0xBF]
        let text = contents.starts(with: mark) ? Array(contents.dropFirst(mark.count)) : contents
        self.name = name
        self.contents = contents
        self.bytes = Self.withLineFeeds(text)
    }

    /// A place in the text, for messages.
    func place(at offset: Int) -> SQLPlace {
        Self.place(at: offset, in: bytes, of: name)
    }

    /// The place of a quote that is never closed. Anything may come after it, even a key.
    func place(ofOpening offset: Int) -> SQLPlace {
        let place = place(at: offset)
        return SQLPlace(
            file: name,
            line: place.line,
            column: place.column,
            text: String(sourceLine(at: offset).prefix(place.column))
        )
    }

    /// The line of a position in the text, from 1.
    func line(at offset: Int) -> Int {
        Self.line(at: offset, in: bytes)
    }

    /// The column of a position in the text, from 1, in characters as an editor counts them.
    func column(at offset: Int) -> Int {
        Self.column(at: offset, in: bytes)
    }

    /// The line of text that contains a position.
    func sourceLine(at offset: Int) -> String {
        Self.sourceLine(at: offset, in: bytes)
    }

    /// A part of the text.
    func text(in range: Range<Int>) -> String {
        String(decoding: bytes[range], as: UTF8.self)
    }

    private static func place(at offset: Int, in bytes: [UInt8], of name: String) -> SQLPlace {
        SQLPlace(
            file: name,
            line: line(at: offset, in: bytes),
            column: column(at: offset, in: bytes),
            text: sourceLine(at: offset, in: bytes)
        )
    }

    private static func line(at offset: Int, in bytes: [UInt8]) -> Int {
        bytes[..<offset].count { $0 == UInt8(ascii: "\n") } + 1
    }

    private static func column(at offset: Int, in bytes: [UInt8]) -> Int {
        let lineStart = bytes[..<offset].lastIndex(of: UInt8(ascii: "\n")).map { $0 + 1 } ?? 0
        return String(decoding: bytes[lineStart..<offset], as: UTF8.self).count + 1
    }

    private static func sourceLine(at offset: Int, in bytes: [UInt8]) -> String {
        let newline = UInt8(ascii: "\n")
        let start = bytes[..<offset].lastIndex(of: newline).map { $0 + 1 } ?? 0
        let end = bytes[offset...].firstIndex(of: newline) ?? bytes.count
        return String(decoding: bytes[start..<end], as: UTF8.self)
    }

    private static func firstInvalidByte(in bytes: [UInt8]) -> Int? {
        var parser = Unicode.UTF8.ForwardParser()
        var iterator = bytes.makeIterator()
        var offset = 0
        while true {
            switch parser.parseScalar(from: &iterator) {
            case .valid(let scalar): offset += scalar.count
            case .error: return offset
            case .emptyInput: return nil
            }
        }
    }

    private static func withLineFeeds(_ bytes: [UInt8]) -> [UInt8] {
        guard bytes.contains(UInt8(ascii: "\r")) else { return bytes }
        var result: [UInt8] = []
        result.reserveCapacity(bytes.count)
        for token in SQLTokenizer(bytes) {
            switch token.kind {
            case .quoted, .unterminated:
                result += bytes[token.range]
            case .space, .lineComment, .blockComment, .word, .semicolon, .symbol:
                // A line comment ends before its line feed. Its last byte may be the carriage
                // return.
                result += token.range.lazy
                    .filter { index in
                        bytes[index] != UInt8(ascii: "\r") || index + 1 == bytes.count
                            || bytes[index + 1] != UInt8(ascii: "\n")
                    }
                    .map { bytes[$0] }
            }
        }
        return result
    }
}

/// Reads finite input: a file, or the content of a pipe.
package enum FileContents {
    /// Reads a file or a pipe.
    ///
    /// - Throws: `POSIXError`; with `EISDIR` for a folder, and with `EFBIG` if there is more than SQLite
    ///   takes.
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

    /// How many bytes of SQL SQLite takes at most. <https://www.sqlite.org/limits.html>
    private static let limit = 1_000_000_000

    /// Reads an open descriptor to its end.
    ///
    /// - Parameter count: The expected number of bytes.
    ///
    /// - Throws: `POSIXError`; with `EFBIG` if there is more than SQLite takes.
    package static func of(
        _ descriptor: Int32,
        expecting count: Int = 1 << 16
    ) throws -> [UInt8] {
        guard count <= limit else { throw POSIXError(.EFBIG) }
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
            guard bytes.count <= limit else { throw POSIXError(.EFBIG) }
            room = 1 << 16
        }
    }
}

// MARK: - Digest

#if canImport(CryptoKit)
    import CryptoKit
#else
    import CLibCrypto
#endif

/// Hash functions, from the system's own library.
enum Digest {
    /// - Returns: `nil` if there is no memory.
    static func sha256(_ bytes: [UInt8]) -> [UInt8]? {
        #if canImport(CryptoKit)
            Array(SHA256.hash(data: bytes))
        #else
            digest(bytes, fetchedSHA256)
        #endif
    }

    /// - Returns: `nil` if there is no memory.
    static func sha384(_ bytes: [UInt8]) -> [UInt8]? {
        #if canImport(CryptoKit)
            Array(SHA384.hash(data: bytes))
        #else
            digest(bytes, EVP_sha384())
        #endif
    }

    #if !canImport(CryptoKit)
        /// Fetched once: `EVP_sha256()` alone is looked up again with every digest, which takes
        /// longer than the digest of a short file.
        /// <https://docs.openssl.org/3.0/man7/ossl-guide-libcrypto-introduction/>
        // `unsafe`: libcrypto never changes what it has fetched.
        nonisolated(unsafe) private static let fetchedSHA256 =
            EVP_MD_fetch(nil, "SHA256", nil) ?? EVP_sha256()

        private static func digest(_ bytes: [UInt8], _ algorithm: OpaquePointer?) -> [UInt8]? {
            var digest = [UInt8](repeating: 0, count: Int(EVP_MAX_MD_SIZE))
            var length: UInt32 = 0
            guard EVP_Digest(bytes, bytes.count, &digest, &length, algorithm, nil) == 1 else {
                return nil
            }
            return Array(digest[..<Int(length)])
        }
    #endif
}
