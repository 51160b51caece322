import CSQLCipher
import KeyStore
import MigrationKitCommon

/// Reads the pages of a database, decrypted. One thread at a time uses it.
package protocol PageReading: AnyObject {
    /// In bytes.
    var pageSize: Int { get }

    /// Fills a buffer with a page. The first page begins as in plaintext. The bytes at the end that
    /// SQLite doesn't use are undefined.
    ///
    /// - Parameters:
    ///   - number: The page's number, from 1. A page is usually read once, but may be read again.
    ///   - page: Of ``pageSize`` bytes.
    /// - Throws: A ``CipherCode``: the disk's, or `SQLITE_CORRUPT` for a page that is incomplete or
    ///   isn't authentic.
    func read(_ number: Int, into page: UnsafeMutableRawBufferPointer) throws(CipherCode)
}

/// A file whose pages several threads read, each through a reader of its own.
package protocol PagedFile: Sendable {
    /// The size of the file in bytes.
    var byteCount: Int { get }

    func reader() throws -> any PageReading
}

/// The bytes of a file, for several threads.
package final class SharedBytes: Sendable {
    // A lock guards SQLite's method, which may store an error in the file.
    private let file: Locked<MainFile>
    package let count: Int

    /// The bytes of an open connection's file.
    ///
    /// - Parameter connection: Must stay open as long as this is used, and not write.
    package init(of connection: OpaquePointer?) throws(CipherCode) {
        let file = try MainFile(of: connection)
        count = try file.size()
        self.file = Locked(file)
    }

    func read(into buffer: UnsafeMutableRawBufferPointer, at offset: Int) throws(CipherCode) {
        let failure = file.withLock { file -> CipherCode? in
            do throws(CipherCode) {
                try file.read(into: buffer, at: offset)
                return nil
            } catch {
                return error
            }
        }
        if let failure { throw failure }
    }
}

/// A file on the disk as a database, in plaintext or encrypted.
package struct StoredPages: PagedFile {
    private let bytes: SharedBytes
    private let pageSize: Int
    private let key: DatabaseKey?
    private let cipher: CipherSettings
    private let provesPages: Bool

    /// A plaintext database.
    ///
    /// - Throws: A ``CipherCode`` if the file has no valid header.
    package init(plaintext bytes: SharedBytes) throws(CipherCode) {
        self.bytes = bytes
        var header = [UInt8](repeating: 0, count: DatabaseHeader.count)
        guard bytes.count >= header.count else { throw .notADatabase }
        try bytes.read(into: &header)
        guard let size = DatabaseHeader(header)?.pageSize else { throw .notADatabase }
        pageSize = size
        key = nil
        cipher = .current
        provesPages = false
    }

    /// An encrypted database.
    ///
    /// - Parameters:
    ///   - key: A raw key.
    ///   - provesPages: Whether each page is authenticated, if it has an HMAC.
    package init(
        encrypted bytes: SharedBytes,
        key: DatabaseKey,
        cipher: CipherSettings,
        provesPages: Bool = true
    ) {
        self.bytes = bytes
        pageSize = cipher.pageSize
        self.key = key
        self.cipher = cipher
        self.provesPages = provesPages
    }

    package var byteCount: Int { bytes.count }

    package func reader() throws -> any PageReading {
        guard let key else { return StoredPageReader(bytes, pageSize, nil, nil) }
        var salt = [UInt8](repeating: 0, count: CipherSettings.saltCount)
        try bytes.read(into: &salt)
        return StoredPageReader(
            bytes,
            pageSize,
            try PageCipher(key: key, cipher: cipher),
            try provesPages ? PageAuthentication(key: key, salt: salt, cipher: cipher) : nil
        )
    }
}

extension SharedBytes {
    fileprivate func read(into bytes: inout [UInt8]) throws(CipherCode) {
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: bytes.count, alignment: 16)
        defer { buffer.deallocate() }
        try read(into: buffer, at: 0)
        bytes = Array(buffer)
    }
}

/// Reads ahead as long as pages are asked for in about their order.
private final class StoredPageReader: PageReading {
    let pageSize: Int
    private let bytes: SharedBytes
    private let cipher: PageCipher?
    private let authentication: PageAuthentication?
    /// What was read last, as it is in the file.
    private let window: UnsafeMutableRawBufferPointer
    private var start = 0
    private var end = 0
    /// How many bytes are read next.
    private var step: Int

    private static let windowSize = 128 * 1024

    init(
        _ bytes: SharedBytes,
        _ pageSize: Int,
        _ cipher: PageCipher?,
        _ authentication: PageAuthentication?
    ) {
        self.bytes = bytes
        self.pageSize = pageSize
        self.cipher = cipher
        self.authentication = authentication
        step = pageSize
        window = .allocate(byteCount: max(Self.windowSize, pageSize), alignment: 16)
    }

    deinit { window.deallocate() }

    func read(_ number: Int, into page: UnsafeMutableRawBufferPointer) throws(CipherCode) {
        let offset = (number - 1) * pageSize
        if offset < start || offset + pageSize > end { try fill(from: offset) }
        page.copyMemory(
            from: UnsafeRawBufferPointer(
                rebasing: window[offset - start..<offset - start + pageSize]
            )
        )
        if let authentication,
            !authentication.isAuthentic(UnsafeRawBufferPointer(page), number: number)
        {
            throw .corrupt
        }
        if let cipher, !cipher.decrypt(page, number: number) { throw .corrupt }
    }

    private func fill(from offset: Int) throws(CipherCode) {
        guard offset >= 0, offset + pageSize <= bytes.count else { throw .corrupt }
        let follows = offset >= end && offset < end + window.count
        step = follows ? min(2 * step, window.count) : pageSize
        let count = min(step, bytes.count - offset)
        (start, end) = (0, 0)
        try bytes.read(
            into: UnsafeMutableRawBufferPointer(rebasing: window[..<count]),
            at: offset
        )
        (start, end) = (offset, offset + count)
    }
}
