import CSQLCipher
import MigrationKitKeys
import MigrationKitCommon

/// The bytes of a file, for several threads.
package final class SharedBytes: Sendable {
    private let read: @Sendable (UnsafeMutableRawBufferPointer, _ offset: Int) -> CipherCode
    package let count: Int

    /// The bytes of an open connection's file.
    ///
    /// - Parameter connection: Must stay open as long as this is used, and not write.
    package init(of connection: OpaquePointer?) throws(CipherCode) {
        let file = try MainFile(of: connection)
        count = try file.size()
        // SQLite's methods note errors in the file, so one thread calls them at a time. They only
        // copy from the system's cache, which takes a hundredth of what is done with the pages.
        let locked = Locked(file)
        read = { buffer, offset in locked.withLock { $0.readPart(into: buffer, at: offset) } }
    }

    /// - Parameters:
    ///   - count: The size of the file.
    ///   - read: Fills a buffer. Several threads call it at once.
    package init(
        count: Int,
        read: @escaping @Sendable (UnsafeMutableRawBufferPointer, _ offset: Int) -> CipherCode
    ) {
        self.count = count
        self.read = read
    }

    /// Fills a buffer. Where the file ends too early, there are zeros.
    ///
    /// - Returns: `CipherCode.shortRead` if the file ends before.
    func readPart(into buffer: UnsafeMutableRawBufferPointer, at offset: Int) -> CipherCode {
        read(buffer, offset)
    }

    /// The first bytes of the file. Where it ends too early, there are zeros.
    func bytes(count: Int) throws(CipherCode) -> [UInt8] {
        var bytes = [UInt8](repeating: 0, count: count)
        let code = bytes.withUnsafeMutableBytes { read($0, 0) }
        guard code == .ok || code.rawValue == CipherCode.shortRead else { throw code }
        return bytes
    }
}

/// The pages of a database file, in plaintext or encrypted, for several threads: each has a reader.
package struct DecryptedPages: Sendable {
    private let bytes: SharedBytes
    private let pageSize: Int
    private let key: DatabaseKey?
    private let cipher: CipherSettings
    private let provesPages: Bool
    private let digests: PageDigests?

    /// A plaintext database.
    ///
    /// - Throws: A ``CipherCode`` if the file has no valid header.
    package init(plaintext bytes: SharedBytes) throws(CipherCode) {
        self.bytes = bytes
        guard bytes.count >= DatabaseHeader.count,
            let size = DatabaseHeader(try bytes.bytes(count: DatabaseHeader.count))?.pageSize
        else { throw .notADatabase }
        pageSize = size
        key = nil
        cipher = .current
        provesPages = false
        digests = nil
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
        digests = nil
    }

    /// A database whose pages must have certain digests.
    ///
    /// - Parameter encryption: `nil` if the database is in plaintext.
    init(
        _ bytes: SharedBytes,
        pageSize: Int,
        _ encryption: PageRewriting.Encryption?,
        _ digests: PageDigests
    ) {
        self.bytes = bytes
        self.pageSize = pageSize
        key = encryption?.key
        cipher = encryption?.cipher ?? .current
        provesPages = true
        self.digests = digests
    }

    /// The size of the file in bytes.
    var byteCount: Int { bytes.count }

    func reader() throws -> PageReader {
        let check = try digests?.check()
        guard let key else { return PageReader(bytes, pageSize, nil, nil, check) }
        let start = try bytes.bytes(count: CipherSettings.saltCount)
        let salt = try cipher.salt(ofFile: start, key: key)
        return PageReader(
            bytes,
            pageSize,
            try PageCipher(key: key, cipher: cipher),
            try provesPages ? PageAuthentication(key: key, salt: salt, cipher: cipher) : nil,
            check
        )
    }
}

/// Reads the pages of a database, decrypted. One thread at a time uses it.
///
/// It reads ahead as long as pages are asked for in about their order.
final class PageReader {
    /// In bytes.
    let pageSize: Int
    private let bytes: SharedBytes
    private let cipher: PageCipher?
    private let authentication: PageAuthentication?
    private let check: PageDigests.Check?
    /// What was read last, as it is in the file.
    private let window: UnsafeMutableRawBufferPointer
    private var start = 0
    private var end = 0
    /// How many bytes are read next.
    private var step: Int

    private static let windowSize = 128 * 1024

    fileprivate init(
        _ bytes: SharedBytes,
        _ pageSize: Int,
        _ cipher: PageCipher?,
        _ authentication: PageAuthentication?,
        _ check: PageDigests.Check?
    ) {
        self.bytes = bytes
        self.pageSize = pageSize
        self.cipher = cipher
        self.authentication = authentication
        self.check = check
        step = pageSize
        window = .allocate(byteCount: max(Self.windowSize, pageSize), alignment: 16)
    }

    deinit { window.deallocate() }

    /// Fills a buffer with a page. The first page begins as in plaintext. The bytes at the end that
    /// SQLite doesn't use are undefined.
    ///
    /// - Parameters:
    ///   - number: The page's number, from 1. A page is usually read once, but may be read again.
    ///   - page: Of ``pageSize`` bytes.
    /// - Throws: A ``CipherCode``: the disk's, or `SQLITE_CORRUPT` for a page that is incomplete,
    ///   isn't authentic, or hasn't the digest that it should have.
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
        if let check, !check.isEqual(UnsafeRawBufferPointer(page), number: number) {
            throw .corrupt
        }
    }

    private func fill(from offset: Int) throws(CipherCode) {
        guard offset >= 0, offset + pageSize <= bytes.count else { throw .corrupt }
        let follows = offset >= end && offset < end + window.count
        step = follows ? min(2 * step, window.count) : pageSize
        let count = min(step, bytes.count - offset)
        (start, end) = (0, 0)
        let part = UnsafeMutableRawBufferPointer(rebasing: window[..<count])
        let code = bytes.readPart(into: part, at: offset)
        guard code == .ok else { throw code }
        (start, end) = (offset, offset + count)
    }
}
