import CSQLCipher

/// Reads a file instead of SQLite's own method, until the connection is closed.
package class FileReader {
    private var methods: FileMethods?

    /// Reads for a connection from now on. The connection keeps this object alive.
    ///
    /// - Parameters:
    ///   - connection: A connection that has read nothing yet, unless the file keeps its own locks.
    ///   - locks: The locks of the file.
    ///   - keepsSharedMemory: Whether the file keeps using the shared memory of a write-ahead log.
    ///   - replace: Replaces further methods.
    package final func attach(
        to connection: OpaquePointer?,
        locks: FileMethods.Locks,
        keepsSharedMemory: Bool = false,
        _ replace: (inout sqlite3_io_methods) -> Void = { _ in }
    ) throws(CipherCode) {
        methods = try FileMethods(
            of: "main",
            connection,
            owner: self,
            keepsSharedMemory: keepsSharedMemory,
            locks: locks
        ) {
            $0.xRead = { file, bytes, count, offset in
                guard let bytes, let reader = FileMethods.owner(of: file, FileReader.self) else {
                    return SQLITE_MISUSE
                }
                let buffer = UnsafeMutableRawBufferPointer(start: bytes, count: Int(count))
                return reader.read(into: buffer, at: Int(offset))
            }
            replace(&$0)
        }
    }

    /// Fills a buffer from the file.
    ///
    /// - Returns: A result code of SQLite.
    func read(into buffer: UnsafeMutableRawBufferPointer, at offset: Int) -> Int32 {
        readFile(into: buffer, at: offset)
    }

    /// Fills a buffer with the bytes on the disk, with the file's own method.
    final func readFile(into buffer: UnsafeMutableRawBufferPointer, at offset: Int) -> Int32 {
        methods?.read(buffer, at: offset) ?? SQLITE_MISUSE
    }
}

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
