import CSQLCipher
import MigrationKitKeys

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

// MARK: - Main File

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

// MARK: - File Reader

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
package final class RestingFileReader: FileReader {
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

// MARK: - Page Substitutes

/// Gives SQLite other pages instead of damaged ones.
package final class PageSubstitutes: FileReader {
    /// The pages that SQLite has read as empty ones since this set was last emptied.
    package var readPages: Set<Int> = []

    /// The content at the start of substitutes that aren't empty, by page number.
    package var contents: [Int: [UInt8]] = [:]

    /// Whether SQLite gets other pages. Otherwise it gets those of the file.
    package var isActive = true

    private let numbers: Set<Int>
    private let pageSize: Int
    private let cipher: PageCipher
    private let authentication: PageAuthentication

    /// - Parameters:
    ///   - numbers: The damaged pages.
    ///   - key: A raw key.
    ///   - salt: The file's salt.
    /// - Returns: `nil` if pages have no HMAC, so that none is known to be damaged.
    package init?(
        for numbers: Set<Int>,
        key: DatabaseKey,
        salt: [UInt8],
        cipher settings: CipherSettings
    ) throws {
        guard let authentication = try PageAuthentication(key: key, salt: salt, cipher: settings)
        else { return nil }
        self.authentication = authentication
        self.numbers = numbers
        pageSize = settings.pageSize
        cipher = try PageCipher(key: key, cipher: settings, isEncrypting: true)
    }

    override func read(into buffer: UnsafeMutableRawBufferPointer, at offset: Int) -> Int32 {
        let code = readFile(into: buffer, at: offset)
        let number = offset / pageSize + 1
        guard isActive, code == SQLITE_OK, buffer.count == pageSize, offset % pageSize == 0 else {
            return code
        }
        let content = contents[number]
        if content == nil {
            guard numbers.contains(number),
                !authentication.isAuthentic(UnsafeRawBufferPointer(buffer), number: number)
            else { return code }
            readPages.insert(number)
        }
        buffer.initializeMemory(as: UInt8.self, repeating: 0)
        buffer.copyBytes(from: content ?? [])
        let isMade =
            cipher.encrypt(buffer, number: number)
            && authentication.authenticate(buffer, number: number)
        return isMade ? SQLITE_OK : SQLITE_IOERR
    }
}
