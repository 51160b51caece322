import CSQLCipher
import Dispatch
import Foundation
import KeyStore

/// A new file that SQLite takes for one in the clear, while every page is encrypted before it is
/// written, on several threads.
///
/// SQLCipher encrypts where SQLite writes, on the one thread of the connection; encryption and HMAC
/// take most of the time of a conversion. Here SQLite's own file is left its name, its locks and all
/// else, and gets other methods for its content. <https://www.sqlite.org/c3ref/io_methods.html>
///
/// What comes out is a file of SQLCipher: see ``PageCipher`` and ``PageAuthentication``.
final class EncryptingFile {
    private let disk: EncryptedPages
    private let pageSize: Int
    /// A page is always encrypted by the same thread, so that of two versions the later one is
    /// written last.
    private let threads: [EncryptingThread]
    private let methods: UnsafeMutablePointer<Methods>

    /// SQLite's methods, which are handed the file alone, and behind them whose these are.
    private struct Methods {
        var table: sqlite3_io_methods
        let owner: Unmanaged<EncryptingFile>
    }

    /// Encrypts what SQLite writes to a file while `body` runs.
    ///
    /// - Parameters:
    ///   - schema: The name of an attached database without a key, the file of which is empty. It
    ///     gets the page size and the reserved bytes of the cipher.
    ///   - key: A raw key.
    ///   - salt: The first 16 bytes of the file.
    /// - Throws: What `body` throws; a `DatabaseError` if the file can't be written.
    static func encrypting(
        _ schema: String,
        of connection: OpaquePointer?,
        key: DatabaseKey,
        salt: [UInt8],
        cipher: CipherSettings,
        _ body: () throws -> Void
    ) throws {
        var file: UnsafeMutablePointer<sqlite3_file>?
        var code = sqlite3_file_control(connection, schema, SQLITE_FCNTL_FILE_POINTER, &file)
        guard code == SQLITE_OK, let file else { throw CipherCode(code) }
        code = sqlite3_exec(
            connection,
            "PRAGMA \(schema).page_size = \(cipher.pageSize)",
            nil,
            nil,
            nil
        )
        guard code == SQLITE_OK else { throw CipherCode(code) }
        // Has a part in SQLite's layout of every page, so that it has to be known before the first.
        var reservedCount = Int32(cipher.reservedCount)
        code = sqlite3_file_control(
            connection,
            schema,
            SQLITE_FCNTL_RESERVE_BYTES,
            &reservedCount
        )
        guard code == SQLITE_OK else { throw CipherCode(code) }

        let encryption = try EncryptingFile(file, key: key, salt: salt, cipher: cipher)
        do {
            try body()
        } catch {
            _ = encryption.end()
            throw error
        }
        code = encryption.end()
        guard code == SQLITE_OK else { throw CipherCode(code) }
    }

    private init(
        _ file: UnsafeMutablePointer<sqlite3_file>,
        key: DatabaseKey,
        salt: [UInt8],
        cipher: CipherSettings
    ) throws {
        guard let original = file.pointee.pMethods else { throw CipherCode(SQLITE_MISUSE) }
        let disk = EncryptedPages(file: file, methods: original)
        self.disk = disk
        pageSize = cipher.pageSize
        // One more thread is SQLite's own, which reads meanwhile.
        let count = min(max(ProcessInfo.processInfo.activeProcessorCount, 2), 4)
        threads = try (0..<count).map { _ in
            try EncryptingThread(disk, key: key, salt: salt, cipher: cipher)
        }
        methods = .allocate(capacity: 1)
        methods.initialize(
            to: Methods(table: original.pointee, owner: .passUnretained(self))
        )
        install()
    }

    deinit { methods.deallocate() }

    private func install() {
        // Without what later versions added: the file as memory, above all.
        methods.pointee.table.iVersion = 1
        methods.pointee.table.xWrite = { file, bytes, count, offset in
            guard let bytes, let owner = EncryptingFile.owner(of: file) else {
                return SQLITE_MISUSE
            }
            return owner.write(UnsafeRawBufferPointer(start: bytes, count: Int(count)), at: offset)
        }
        methods.pointee.table.xRead = { file, bytes, count, offset in
            guard let bytes, let owner = EncryptingFile.owner(of: file) else {
                return SQLITE_MISUSE
            }
            let buffer = UnsafeMutableRawBufferPointer(start: bytes, count: Int(count))
            return owner.read(into: buffer, at: offset)
        }
        methods.pointee.table.xFileSize = { file, size in
            EncryptingFile.owner(of: file)?.onceWritten { $0.xFileSize?($1, size) }
                ?? SQLITE_MISUSE
        }
        methods.pointee.table.xTruncate = { file, size in
            EncryptingFile.owner(of: file)?.onceWritten { $0.xTruncate?($1, size) }
                ?? SQLITE_MISUSE
        }
        methods.pointee.table.xSync = { file, flags in
            EncryptingFile.owner(of: file)?.onceWritten { $0.xSync?($1, flags) }
                ?? SQLITE_MISUSE
        }
        disk.file.pointee.pMethods = UnsafePointer(
            UnsafeRawPointer(methods).assumingMemoryBound(to: sqlite3_io_methods.self)
        )
    }

    private static func owner(of file: UnsafeMutablePointer<sqlite3_file>?) -> EncryptingFile? {
        guard let methods = file?.pointee.pMethods else { return nil }
        return UnsafeRawPointer(methods).assumingMemoryBound(to: Methods.self).pointee.owner
            .takeUnretainedValue()
    }

    /// Writes what is left, and gives the file its own methods back.
    private func end() -> Int32 {
        let code = onceWritten { _, _ in SQLITE_OK }
        disk.file.pointee.pMethods = disk.methods
        return code
    }

    // MARK: - What SQLite Calls

    private func write(_ page: UnsafeRawBufferPointer, at offset: sqlite3_int64) -> Int32 {
        // SQLite writes whole pages only. <https://www.sqlite.org/fileformat.html#pages>
        guard page.count == pageSize, Int(offset) % pageSize == 0 else { return SQLITE_MISUSE }
        let number = Int(offset) / pageSize + 1
        thread(of: number).add(page, number: number)
        return disk.failure
    }

    /// Pages that have left SQLite's cache are wanted again where an index is made row by row.
    private func read(
        into buffer: UnsafeMutableRawBufferPointer,
        at offset: sqlite3_int64
    ) -> Int32 {
        let start = Int(offset) % pageSize
        let number = Int(offset) / pageSize + 1
        let thread = thread(of: number)
        thread.finish()
        guard disk.failure == SQLITE_OK else { return disk.failure }
        var page = [UInt8](repeating: 0, count: pageSize)
        let code = disk.read(into: &page, at: Int(offset) - start)
        // > If xRead() returns SQLITE_IOERR_SHORT_READ it must also fill in the unread portions of
        // > the buffer with zeros. <https://www.sqlite.org/c3ref/io_methods.html>
        guard code == SQLITE_OK || code == CipherCode.shortRead else { return code }
        // All zeros: it was never written, since SQLite had no use for what was in it.
        if !page.allSatisfy({ $0 == 0 }) {
            guard let content = thread.content(page, number) else { return SQLITE_CORRUPT }
            page = content
        }
        buffer.copyBytes(from: page[start...].prefix(buffer.count))
        return code
    }

    /// Calls one of the file's own methods once the threads are done.
    private func onceWritten(
        _ method: (sqlite3_io_methods, UnsafeMutablePointer<sqlite3_file>) -> Int32?
    ) -> Int32 {
        for thread in threads { thread.submit() }
        for thread in threads { thread.finish() }
        guard disk.failure == SQLITE_OK else { return disk.failure }
        return method(disk.methods.pointee, disk.file) ?? SQLITE_MISUSE
    }

    private func thread(of page: Int) -> EncryptingThread {
        threads[page / EncryptingThread.batchCount % threads.count]
    }
}
