import CSQLCipher

/// Reads a file in the place of SQLite's own method, until the connection is closed.
package class FileReader {
    private var methods: FileMethods?

    /// Reads for a connection from now on, which keeps this.
    ///
    /// - Parameters:
    ///   - connection: One that has read nothing so far, unless the file keeps its own locks.
    ///   - locks: Which locks the file has.
    ///   - keepsSharedMemory: Whether the file goes on with the shared memory of a write-ahead log.
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
    /// - Returns: A code of SQLite's.
    func read(into buffer: UnsafeMutableRawBufferPointer, at offset: Int) -> Int32 {
        readFile(into: buffer, at: offset)
    }

    /// Fills a buffer with the bytes that are on the disk, by the file's own method.
    final func readFile(into buffer: UnsafeMutableRawBufferPointer, at offset: Int) -> Int32 {
        methods?.read(buffer, at: offset) ?? SQLITE_MISUSE
    }
}
