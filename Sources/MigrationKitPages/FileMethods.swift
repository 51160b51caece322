import CSQLCipher

/// The methods of a file that SQLite has open. An owner has replaced some of them until the file is
/// closed.
///
/// SQLite passes them only the file; the owner is stored after the methods.
/// <https://www.sqlite.org/c3ref/io_methods.html>
package struct FileMethods {
    private let file: UnsafeMutablePointer<sqlite3_file>
    private let original: UnsafePointer<sqlite3_io_methods>

    /// How SQLite sees the locks of a file.
    package enum Locks {
        /// The file's own locks.
        case own
        /// No write lock is granted, so SQLite begins no journal, which would contain plaintext
        /// pages. If there is a journal, it counts as that of a program that is about to write, not
        /// of one that was killed.
        case reading
        /// Every lock is granted, as if nobody else had the file open. SQLite then keeps the index
        /// of a write-ahead log in its own memory.
        /// <https://www.sqlite.org/wal.html#use_of_wal_without_shared_memory>
        case granted
    }

    private struct Replacement {
        var methods: sqlite3_io_methods
        let original: UnsafePointer<sqlite3_io_methods>
        let owner: Unmanaged<AnyObject>
    }

    /// Replaces methods.
    ///
    /// - Parameters:
    ///   - schema: The database that the file belongs to.
    ///   - owner: Kept alive until the file is closed.
    ///   - keepsSharedMemory: Whether the file keeps using the shared memory of a write-ahead log.
    ///   - locks: The locks of the file.
    ///   - replace: Sets the replaced methods.
    package init(
        of schema: String,
        _ connection: OpaquePointer?,
        owner: AnyObject,
        keepsSharedMemory: Bool = false,
        locks: Locks = .own,
        _ replace: (inout sqlite3_io_methods) -> Void = { _ in }
    ) throws(CipherCode) {
        (file, original) = try Self.find(schema, of: connection)
        var methods = original.pointee
        if !keepsSharedMemory { methods.iVersion = 1 }
        // SQLite may have decided to map the file into memory, which bypasses `xRead`.
        methods.xFetch = { _, _, _, page in
            page?.pointee = nil
            return SQLITE_OK
        }
        methods.xUnfetch = { _, _, _ in SQLITE_OK }
        Self.set(locks, in: &methods)
        methods.xClose = { file in
            guard let file, let methods = file.pointee.pMethods else { return SQLITE_MISUSE }
            let replacement = UnsafeMutableRawPointer(mutating: methods)
                .assumingMemoryBound(to: Replacement.self)
            let (original, owner) = (replacement.pointee.original, replacement.pointee.owner)
            file.pointee.pMethods = original
            replacement.deallocate()
            defer { owner.release() }
            return original.pointee.xClose?(file) ?? SQLITE_MISUSE
        }
        replace(&methods)
        let replacement = UnsafeMutablePointer<Replacement>.allocate(capacity: 1)
        replacement.initialize(
            to: Replacement(methods: methods, original: original, owner: .passRetained(owner))
        )
        file.pointee.pMethods = UnsafePointer(
            UnsafeRawPointer(replacement).assumingMemoryBound(to: sqlite3_io_methods.self)
        )
    }

    /// The file of a connection's database, and its methods.
    static func find(
        _ schema: String,
        of connection: OpaquePointer?
    ) throws(CipherCode) -> (UnsafeMutablePointer<sqlite3_file>, UnsafePointer<sqlite3_io_methods>)
    {
        var file: UnsafeMutablePointer<sqlite3_file>?
        let code = sqlite3_file_control(connection, schema, SQLITE_FCNTL_FILE_POINTER, &file)
        guard code == SQLITE_OK, let file, let methods = file.pointee.pMethods else {
            throw CipherCode(code == SQLITE_OK ? SQLITE_MISUSE : code)
        }
        return (file, methods)
    }

    private static func set(_ locks: Locks, in methods: inout sqlite3_io_methods) {
        switch locks {
        case .own:
            return
        case .reading:
            methods.xLock = { _, level in
                level > SQLITE_LOCK_SHARED ? SQLITE_READONLY : SQLITE_OK
            }
            methods.xCheckReservedLock = { _, isReserved in
                isReserved?.pointee = 1
                return SQLITE_OK
            }
        case .granted:
            methods.xLock = { _, _ in SQLITE_OK }
            methods.xCheckReservedLock = { _, isReserved in
                isReserved?.pointee = 0
                return SQLITE_OK
            }
        }
        methods.xUnlock = { _, _ in SQLITE_OK }
    }

    /// The owner of a file's methods.
    ///
    /// - Parameter type: The type of the owner whose method asks.
    package static func owner<Owner: AnyObject>(
        of file: UnsafeMutablePointer<sqlite3_file>?,
        _ type: Owner.Type
    ) -> Owner? {
        guard let methods = file?.pointee.pMethods else { return nil }
        let owner = UnsafeRawPointer(methods).assumingMemoryBound(to: Replacement.self).pointee
            .owner
        return unsafeDowncast(owner.takeUnretainedValue(), to: type)
    }

    // MARK: - The File's Own

    package func read(_ buffer: UnsafeMutableRawBufferPointer, at offset: Int) -> Int32 {
        call {
            $0.xRead?(file, buffer.baseAddress, Int32(buffer.count), sqlite3_int64(offset))
        }
    }

    package func write(_ bytes: UnsafeRawBufferPointer, at offset: Int) -> Int32 {
        call { $0.xWrite?(file, bytes.baseAddress, Int32(bytes.count), sqlite3_int64(offset)) }
    }

    /// Calls one of the file's own methods.
    func call(_ method: (sqlite3_io_methods) -> Int32?) -> Int32 {
        method(original.pointee) ?? SQLITE_MISUSE
    }
}
