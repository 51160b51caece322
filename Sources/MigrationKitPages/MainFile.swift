import CSQLCipher

/// The file of an open connection, accessed through SQLite's own file system layer.
///
/// It must not be read through a descriptor of our own: closing that would release the locks of
/// every connection that this process has to the file.
/// <https://www.sqlite.org/howtocorrupt.html#_posix_advisory_locks_canceled_by_a_separate_thread_doing_close_>
package struct MainFile {
    private let file: UnsafeMutablePointer<sqlite3_file>
    private let methods: sqlite3_io_methods

    /// - Parameter connection: Must stay open as long as this is used.
    package init(of connection: OpaquePointer?) throws(CipherCode) {
        let (file, methods) = try FileMethods.find("main", of: connection)
        self.file = file
        self.methods = methods.pointee
    }

    package func size() throws(CipherCode) -> Int {
        var size: sqlite3_int64 = 0
        try check(methods.xFileSize?(file, &size))
        return Int(size)
    }

    /// Fills a buffer from the file, which must have enough bytes at that offset.
    package func read(into buffer: UnsafeMutableRawBufferPointer, at offset: Int) throws(CipherCode)
    {
        try check(
            methods.xRead?(file, buffer.baseAddress, Int32(buffer.count), sqlite3_int64(offset))
        )
    }

    /// Fills a buffer from the file. Bytes past the end are zero.
    ///
    /// - Returns: `CipherCode.shortRead` if the file ends before.
    func readPart(into buffer: UnsafeMutableRawBufferPointer, at offset: Int) -> CipherCode {
        CipherCode(
            methods.xRead?(file, buffer.baseAddress, Int32(buffer.count), sqlite3_int64(offset))
                ?? SQLITE_MISUSE
        )
    }

    /// The first piece of the memory that the users of a write-ahead log share, which is valid as long
    /// as the connection is open; `nil` if there is none yet.
    func sharedMemory(count: Int32) throws(CipherCode) -> UnsafeRawPointer? {
        var memory: UnsafeMutableRawPointer?
        let code = methods.xShmMap?(file, 0, count, 0, &memory)
        // Memory that can only be read will do.
        if code != SQLITE_READONLY { try check(code) }
        return UnsafeRawPointer(memory)
    }

    /// Bytes of the file as they are on the disk. Bytes past the end are zero.
    package func bytes(at offset: Int, count: Int) throws(CipherCode) -> [UInt8] {
        var bytes = [UInt8](repeating: 0, count: count)
        let code = methods.xRead?(file, &bytes, Int32(count), sqlite3_int64(offset))
        // > If xRead() returns SQLITE_IOERR_SHORT_READ it must also fill in the unread portions of
        // > the buffer with zeros. <https://www.sqlite.org/c3ref/io_methods.html>
        if code != CipherCode.shortRead { try check(code) }
        return bytes
    }

    package func write(_ bytes: [UInt8], at offset: Int) throws(CipherCode) {
        try check(methods.xWrite?(file, bytes, Int32(bytes.count), sqlite3_int64(offset)))
    }

    /// Takes a lock, as SQLite's own connections do, without reading anything.
    ///
    /// - Parameter level: `SQLITE_LOCK_SHARED`, and after it `SQLITE_LOCK_EXCLUSIVE`.
    /// - Returns: Whether the lock was granted.
    package func lock(_ level: Int32) throws(CipherCode) -> Bool {
        let code = CipherCode(methods.xLock?(file, level) ?? SQLITE_MISUSE)
        guard code.primary != SQLITE_BUSY else { return false }
        try check(code.rawValue)
        return true
    }

    private func check(_ code: Int32?) throws(CipherCode) {
        guard code == SQLITE_OK else { throw CipherCode(code ?? SQLITE_MISUSE) }
    }
}
