import CSQLCipher

/// The methods of a file that SQLite has open, some of which an owner has replaced until the file is
/// closed.
///
/// SQLite hands them the file alone; whose they are stands behind them.
/// <https://www.sqlite.org/c3ref/io_methods.html>
package struct FileMethods {
    private let file: UnsafeMutablePointer<sqlite3_file>
    private let original: UnsafePointer<sqlite3_io_methods>

    /// What SQLite is told of the locks of a file.
    package enum Locks {
        /// The file's own.
        case own
        /// There are none to write with: SQLite begins no journal, in which pages would be in the
        /// clear. A journal that is there counts as that of a program that is about to write, not of
        /// one that was killed.
        case reading
        /// Each is granted, as if nobody else had the file open. SQLite then keeps the index of a
        /// write-ahead log in its own memory.
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
    ///   - schema: The database whose file it is.
    ///   - owner: Is kept until the file is closed.
    ///   - keepsSharedMemory: Whether the file goes on with the shared memory of a write-ahead log.
    ///   - locks: Which locks it has.
    ///   - replace: Sets the methods that are replaced.
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
        // SQLite may have made up its mind to map the file into memory, which goes round `xRead`.
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

    /// The file of a database that a connection has open, and its methods.
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

    /// Whose methods a file has.
    ///
    /// - Parameter type: That of the owner, by whose methods this is asked.
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
