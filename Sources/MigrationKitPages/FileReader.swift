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
