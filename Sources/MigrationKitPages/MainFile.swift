import CSQLCipher

/// The file under an open connection, as SQLite's own file system layer has it.
///
/// A descriptor of our own is no way to read it: closing that would drop the locks of every
/// connection that this process has to the file.
/// <https://www.sqlite.org/howtocorrupt.html#_posix_advisory_locks_canceled_by_a_separate_thread_doing_close_>
package struct MainFile {
    private let file: UnsafeMutablePointer<sqlite3_file>
    private let methods: sqlite3_io_methods

    /// - Parameter connection: Must stay open as long as this is used.
    package init(of connection: OpaquePointer?) throws(CipherCode) {
        var file: UnsafeMutablePointer<sqlite3_file>?
        let code = sqlite3_file_control(connection, "main", SQLITE_FCNTL_FILE_POINTER, &file)
        guard code == SQLITE_OK, let file, let methods = file.pointee.pMethods else {
            throw CipherCode(code == SQLITE_OK ? SQLITE_MISUSE : code)
        }
        self.file = file
        self.methods = methods.pointee
    }

    package func size() throws(CipherCode) -> Int {
        var size: sqlite3_int64 = 0
        try check(methods.xFileSize?(file, &size))
        return Int(size)
    }

    /// Fills a buffer from the file, which must have as much at that place.
    package func read(into buffer: UnsafeMutableRawBufferPointer, at offset: Int) throws(CipherCode)
    {
        try check(
            methods.xRead?(file, buffer.baseAddress, Int32(buffer.count), sqlite3_int64(offset))
        )
    }

    package func write(_ bytes: [UInt8], at offset: Int) throws(CipherCode) {
        try check(methods.xWrite?(file, bytes, Int32(bytes.count), sqlite3_int64(offset)))
    }

    /// Takes a lock, as SQLite's own connections do, without reading anything.
    ///
    /// - Parameter level: `SQLITE_LOCK_SHARED`, and after it `SQLITE_LOCK_EXCLUSIVE`.
    /// - Returns: Whether it was to be had.
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
