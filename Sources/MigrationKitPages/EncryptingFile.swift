import CSQLCipher
import Dispatch
import MigrationKitCommon
import MigrationKitKeys
import Synchronization

/// A new file that looks like plaintext to SQLite. Each page is encrypted before it is written, on
/// several threads.
///
/// SQLCipher encrypts when SQLite writes, on the connection's only thread, and encryption and HMAC
/// take most of the time of a conversion. The result is a SQLCipher file: see ``PageCipher`` and
/// ``PageAuthentication``.
package final class EncryptingFile {
    /// Reads written pages back, on SQLite's own thread.
    private let form: PageForm
    private let pages: EncryptedPages
    /// A page is always encrypted by the same thread, so the latest version is written last.
    private let threads: [EncryptingThread]

    /// Encrypts what SQLite writes to a file while `body` runs. Afterwards the file can't be
    /// written.
    ///
    /// - Parameters:
    ///   - schema: The name of an attached database without a key. Its file is empty, and gets the
    ///     cipher's page size and reserved bytes.
    ///   - key: A raw key.
    ///   - salt: The file's salt.
    /// - Throws: What `body` throws; a ``CipherCode`` if the file can't be written.
    package static func encrypting(
        _ schema: String,
        of connection: OpaquePointer?,
        key: DatabaseKey,
        salt: [UInt8],
        cipher: CipherSettings,
        _ body: () throws -> Void
    ) throws {
        let pragma = "PRAGMA \(schema).page_size = \(cipher.pageSize)"
        try check(sqlite3_exec(connection, pragma, nil, nil, nil))
        // Part of the layout of every page, so it must be set before the first.
        // <https://www.sqlite.org/c3ref/c_fcntl_begin_atomic_write.html#sqlitefcntlreservebytes>
        var count = Int32(cipher.reservedCount)
        try check(sqlite3_file_control(connection, schema, SQLITE_FCNTL_RESERVE_BYTES, &count))

        let pages = EncryptedPages()
        let file = EncryptingFile(
            form: try PageForm(key: key, salt: salt, cipher: cipher),
            pages: pages,
            // SQLite's own thread reads meanwhile.
            threads: try (0..<WorkerThreads.usualCount).map { _ in
                try EncryptingThread(pages, key: key, salt: salt, cipher: cipher)
            }
        )
        pages.use(try FileMethods(of: schema, connection, owner: file, replaceMethods))
        // Even if SQLite still has cached pages, nothing more is written before the file is closed.
        defer { pages.note(SQLITE_READONLY) }
        do {
            try body()
        } catch {
            _ = file.onceWritten { _ in SQLITE_OK }
            throw error
        }
        try check(file.onceWritten { _ in SQLITE_OK })
    }

    private static func check(_ code: Int32) throws {
        guard code == SQLITE_OK else { throw CipherCode(code) }
    }

    private init(form: PageForm, pages: EncryptedPages, threads: [EncryptingThread]) {
        self.form = form
        self.pages = pages
        self.threads = threads
    }

    private static func replaceMethods(_ methods: inout sqlite3_io_methods) {
        methods.xWrite = { file, bytes, count, offset in
            guard let bytes, let owner = FileMethods.owner(of: file, EncryptingFile.self) else {
                return SQLITE_MISUSE
            }
            let page = UnsafeRawBufferPointer(start: bytes, count: Int(count))
            return owner.write(page, at: Int(offset))
        }
        methods.xRead = { file, bytes, count, offset in
            guard let bytes, let owner = FileMethods.owner(of: file, EncryptingFile.self) else {
                return SQLITE_MISUSE
            }
            let buffer = UnsafeMutableRawBufferPointer(start: bytes, count: Int(count))
            return owner.read(into: buffer, at: Int(offset))
        }
        methods.xFileSize = { file, size in
            FileMethods.owner(of: file, EncryptingFile.self)?.onceWritten {
                $0.xFileSize?(file, size)
            }
                ?? SQLITE_MISUSE
        }
        methods.xTruncate = { file, size in
            FileMethods.owner(of: file, EncryptingFile.self)?.onceWritten {
                $0.xTruncate?(file, size)
            }
                ?? SQLITE_MISUSE
        }
        methods.xSync = { file, flags in
            FileMethods.owner(of: file, EncryptingFile.self)?.onceWritten { $0.xSync?(file, flags) }
                ?? SQLITE_MISUSE
        }
    }

    // MARK: - What SQLite Calls

    private var pageSize: Int { form.pageSize }

    private func write(_ page: UnsafeRawBufferPointer, at offset: Int) -> Int32 {
        // SQLite writes whole pages only. <https://www.sqlite.org/fileformat.html#pages>
        guard page.count == pageSize, offset % pageSize == 0 else { return SQLITE_MISUSE }
        let number = offset / pageSize + 1
        thread(of: number).add(page, number: number)
        return pages.failure
    }

    /// SQLite reads pages again that have left its cache, when an index is built row by row.
    private func read(into buffer: UnsafeMutableRawBufferPointer, at offset: Int) -> Int32 {
        let start = offset % pageSize
        let number = offset / pageSize + 1
        thread(of: number).finish()
        guard pages.failure == SQLITE_OK else { return pages.failure }
        guard start + buffer.count <= pageSize else { return SQLITE_MISUSE }
        var page = [UInt8](repeating: 0, count: pageSize)
        let code = page.withUnsafeMutableBytes { pages.read($0, at: offset - start) }
        // > If xRead() returns SQLITE_IOERR_SHORT_READ it must also fill in the unread portions of
        // > the buffer with zeros. <https://www.sqlite.org/c3ref/io_methods.html>
        guard code == SQLITE_OK || code == CipherCode.shortRead else { return code }
        // All zeros: SQLite never wrote this page, since nothing in it was needed.
        if !page.allSatisfy({ $0 == 0 }) {
            guard form.isIntact(page, number: number),
                let content = form.content(page, number: number)
            else { return SQLITE_CORRUPT }
            page = content
        }
        buffer.copyBytes(from: page[start...].prefix(buffer.count))
        return code
    }

    /// Calls one of the file's own methods after the threads have finished.
    private func onceWritten(_ method: (sqlite3_io_methods) -> Int32?) -> Int32 {
        for thread in threads { thread.submit() }
        for thread in threads { thread.finish() }
        guard pages.failure == SQLITE_OK else { return pages.failure }
        return pages.call(method)
    }

    private func thread(of page: Int) -> EncryptingThread {
        threads[page / EncryptingThread.batchCount(pageSize) % threads.count]
    }
}
