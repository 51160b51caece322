import CSQLCipher

/// A file that SQLite reads without a lock, and without creating anything beside it, as long as
/// nobody writes the file.
package final class UnchangedFile: FileReader {
    private let hidesLog: Bool
    private let isUnchanged: () -> Bool

    /// - Parameters:
    ///   - hidesLog: Whether the file should look to SQLite as if it had no write-ahead log.
    ///   - isUnchanged: Whether nobody has written the file. If somebody has, reading fails with
    ///     `SQLITE_BUSY`.
    package init(hidesLog: Bool, isUnchanged: @escaping () -> Bool) {
        self.hidesLog = hidesLog
        self.isUnchanged = isUnchanged
    }

    /// Makes a connection read in this way. Call it before the connection's first read.
    package func attach(to connection: OpaquePointer?) throws(CipherCode) {
        try attach(to: connection, locks: hidesLog ? .reading : .granted)
    }

    override func read(into buffer: UnsafeMutableRawBufferPointer, at offset: Int) -> Int32 {
        let code = readFile(into: buffer, at: offset)
        guard isUnchanged() else { return SQLITE_BUSY }
        // > The file format write and read versions (bytes 18 and 19): 1 for rollback journalling
        // > modes and 2 for WAL. With a 2, SQLite would make a log.
        // <https://www.sqlite.org/fileformat.html#file_format_version_numbers>
        for place in 18...19 where hidesLog && buffer.indices.contains(place - offset) {
            buffer[place - offset] = 1
        }
        return code
    }
}
