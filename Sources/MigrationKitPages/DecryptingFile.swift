import CSQLCipher
import KeyStore

/// An encrypted file that SQLite takes for one in the clear: every page is authenticated and
/// decrypted when SQLite reads it.
///
/// This reads faster than SQLCipher does. Most of all, a page that is read again is not
/// authenticated again, if it is as it was.
///
/// It takes no lock, and sees no journal and no log: the caller makes sure that nobody writes the
/// file.
package final class DecryptingFile {
    private let pageSize: Int
    private let cipher: PageCipher
    private let authentication: PageAuthentication?
    private let authenticPages: AuthenticPages
    private let isUnchanged: (() -> Bool)?
    private var methods: FileMethods?

    /// Lets a connection read its file so, before it has read anything. This ends with the
    /// connection.
    ///
    /// - Parameters:
    ///   - key: A raw key.
    ///   - authenticPages: Those of all connections that have the key.
    ///   - isUnchanged: Whether nobody has written the file meanwhile; `nil` where nobody can.
    package static func decrypt(
        _ connection: OpaquePointer?,
        key: DatabaseKey,
        cipher: CipherSettings,
        authenticPages: AuthenticPages,
        isUnchanged: (() -> Bool)? = nil
    ) throws {
        var salt = [UInt8](repeating: 0, count: CipherSettings.saltCount)
        try salt.withUnsafeMutableBytes { try MainFile(of: connection).read(into: $0, at: 0) }
        let file = DecryptingFile(
            pageSize: cipher.pageSize,
            cipher: try PageCipher(key: key, cipher: cipher),
            authentication: try PageAuthentication(key: key, salt: salt, cipher: cipher),
            authenticPages: authenticPages,
            isUnchanged: isUnchanged
        )
        // When it opened the file, SQLite took encrypted bytes for the size of a page.
        let pragma = "PRAGMA main.page_size = \(cipher.pageSize)"
        let code = sqlite3_exec(connection, pragma, nil, nil, nil)
        guard code == SQLITE_OK else { throw CipherCode(code) }
        file.methods = try FileMethods(of: "main", connection, owner: file, replaceMethods)
    }

    private init(
        pageSize: Int,
        cipher: PageCipher,
        authentication: PageAuthentication?,
        authenticPages: AuthenticPages,
        isUnchanged: (() -> Bool)?
    ) {
        self.isUnchanged = isUnchanged
        self.pageSize = pageSize
        self.cipher = cipher
        self.authentication = authentication
        self.authenticPages = authenticPages
    }

    private static func replaceMethods(_ methods: inout sqlite3_io_methods) {
        methods.xRead = { file, bytes, count, offset in
            guard let bytes, let owner = FileMethods.owner(of: file, DecryptingFile.self) else {
                return SQLITE_MISUSE
            }
            let buffer = UnsafeMutableRawBufferPointer(start: bytes, count: Int(count))
            return owner.read(into: buffer, at: Int(offset))
        }
        methods.xWrite = { _, _, _, _ in SQLITE_READONLY }
        methods.xTruncate = { _, _ in SQLITE_READONLY }
        // Without the lock to write, SQLite begins no journal, in which pages would be in the clear.
        methods.xLock = { _, level in level > SQLITE_LOCK_SHARED ? SQLITE_READONLY : SQLITE_OK }
        methods.xUnlock = { _, _ in SQLITE_OK }
        // A journal is there because somebody is about to write, not because he was killed.
        methods.xCheckReservedLock = { _, isReserved in
            isReserved?.pointee = 1
            return SQLITE_OK
        }
    }

    /// Mostly a page, or its beginning. Before SQLite knows how large one is, anything.
    private func read(into buffer: UnsafeMutableRawBufferPointer, at offset: Int) -> Int32 {
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
                // What can't be read behind the first page may be none that SQLite wants.
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
        guard let methods else { return SQLITE_MISUSE }
        let code = methods.read(page, at: (number - 1) * pageSize)
        if isUnchanged?() == false { return SQLITE_BUSY }
        // Nothing is there, which SQLite takes for zeros. What is less than a page proves nothing.
        if code == CipherCode.shortRead { return page.contains { $0 != 0 } ? SQLITE_CORRUPT : code }
        guard code == SQLITE_OK else { return code }
        if let authentication {
            let isAuthentic = authenticPages.contain(UnsafeRawBufferPointer(page), number: number) {
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
