import CSQLCipher
import MigrationKitKeys

/// An encrypted file that looks like plaintext to SQLite: each page is authenticated and decrypted
/// when SQLite reads it.
///
/// This is faster than SQLCipher, mainly because a page that is read again unchanged isn't
/// authenticated again.
///
/// It takes no lock, and sees no journal and no log: the caller must make sure that nobody writes
/// the file.
package final class DecryptingFile: FileReader {
    private let pageSize: Int
    private let cipher: PageCipher
    private let authentication: PageAuthentication?
    private let authenticPages: AuthenticPages?
    private let digest: PageDigest?
    private let isUnchanged: (() -> Bool)?

    /// Makes a connection read its file in this way. Call it before the connection's first read. It
    /// applies until the connection is closed.
    ///
    /// - Parameters:
    ///   - key: A raw key.
    ///   - authenticPages: Shared by all connections with this key; `nil` if every page is known to be
    ///     authentic.
    ///   - isUnchanged: Whether nobody has written the file meanwhile; `nil` if nobody can.
    package static func decrypt(
        _ connection: OpaquePointer?,
        key: DatabaseKey,
        cipher: CipherSettings,
        authenticPages: AuthenticPages?,
        isUnchanged: (() -> Bool)? = nil
    ) throws {
        var start = [UInt8](repeating: 0, count: CipherSettings.saltCount)
        try start.withUnsafeMutableBytes { try MainFile(of: connection).read(into: $0, at: 0) }
        let salt = try cipher.salt(ofFile: start, key: key)
        let file = DecryptingFile(
            pageSize: cipher.pageSize,
            cipher: try PageCipher(key: key, cipher: cipher),
            authentication: try PageAuthentication(key: key, salt: salt, cipher: cipher),
            authenticPages: authenticPages,
            digest: try authenticPages.map { try PageDigest(key: $0.key) },
            isUnchanged: isUnchanged
        )
        // When SQLite opened the file, it took encrypted bytes for the page size.
        let pragma = "PRAGMA main.page_size = \(cipher.pageSize)"
        let code = sqlite3_exec(connection, pragma, nil, nil, nil)
        guard code == SQLITE_OK else { throw CipherCode(code) }
        try file.attach(to: connection, locks: .reading) {
            $0.xWrite = { _, _, _, _ in SQLITE_READONLY }
            $0.xTruncate = { _, _ in SQLITE_READONLY }
        }
    }

    private init(
        pageSize: Int,
        cipher: PageCipher,
        authentication: PageAuthentication?,
        authenticPages: AuthenticPages?,
        digest: PageDigest?,
        isUnchanged: (() -> Bool)?
    ) {
        self.isUnchanged = isUnchanged
        self.pageSize = pageSize
        self.cipher = cipher
        self.authentication = authentication
        self.authenticPages = authenticPages
        self.digest = digest
    }

    /// Usually a page or its beginning. Until SQLite knows the page size, anything.
    override func read(into buffer: UnsafeMutableRawBufferPointer, at offset: Int) -> Int32 {
        if buffer.count == pageSize, offset % pageSize == 0 {
            return readPage(offset / pageSize + 1, into: buffer)
        }
        let page = UnsafeMutableRawBufferPointer.allocate(byteCount: pageSize, alignment: 16)
        defer { page.deallocate() }
        var count = 0
        while count < buffer.count {
            let start = (offset + count) % pageSize
            let code = readPage((offset + count) / pageSize + 1, into: page)
            guard code == SQLITE_OK else {
                // > If xRead() returns SQLITE_IOERR_SHORT_READ it must also fill in the unread
                // > portions of the buffer with zeros.
                UnsafeMutableRawBufferPointer(rebasing: buffer[count...])
                    .initializeMemory(as: UInt8.self, repeating: 0)
                // If a page after the first can't be read, SQLite may not need it.
                return count == 0 ? code : CipherCode.shortRead
            }
            let part = page[start...].prefix(buffer.count - count)
            UnsafeMutableRawBufferPointer(rebasing: buffer[count...])
                .copyMemory(from: UnsafeRawBufferPointer(rebasing: part))
            count += part.count
        }
        return SQLITE_OK
    }

    private func readPage(_ number: Int, into page: UnsafeMutableRawBufferPointer) -> Int32 {
        let code = readFile(into: page, at: (number - 1) * pageSize)
        if isUnchanged?() == false { return SQLITE_BUSY }
        // Nothing is there, which SQLite takes for zeros. An incomplete page proves nothing.
        if code == CipherCode.shortRead { return page.contains { $0 != 0 } ? SQLITE_CORRUPT : code }
        guard code == SQLITE_OK else { return code }
        if let authentication, let authenticPages, let digest {
            let bytes = UnsafeRawBufferPointer(page)
            let isAuthentic = authenticPages.contain(bytes, number: number, digest) {
                authentication.isAuthentic($0, number: number)
            }
            guard isAuthentic else { return SQLITE_CORRUPT }
        }
        guard cipher.decrypt(page, number: number) else { return SQLITE_CORRUPT }
        if number == 1 {
            // > The file format write and read versions (bytes 18 and 19): 1 for rollback journalling
            // > modes and 2 for WAL. <https://www.sqlite.org/fileformat.html#file_format_version_numbers>
            page[18] = 1
            page[19] = 1
        }
        return SQLITE_OK
    }
}
