import CSQLCipher

/// A file that SQLite reads without a lock, and without making anything beside it, as long as nobody
/// writes it.
package final class UnchangedFile: FileReader {
    private let hidesLog: Bool
    private let isUnchanged: () -> Bool

    /// - Parameters:
    ///   - hidesLog: Whether SQLite is shown a file that has no write-ahead log.
    ///   - isUnchanged: Whether nobody has written the file. Otherwise reading ends as by a lock.
    package init(hidesLog: Bool, isUnchanged: @escaping () -> Bool) {
        self.hidesLog = hidesLog
        self.isUnchanged = isUnchanged
    }

    /// Lets a connection read so, before it has read anything.
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
