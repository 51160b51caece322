import CSQLCipher

/// The methods of a file that SQLite has open, some of which an owner has replaced.
///
/// SQLite hands them the file alone; whose they are stands behind them.
/// <https://www.sqlite.org/c3ref/io_methods.html>
struct FileMethods<Owner: AnyObject> {
    let file: UnsafeMutablePointer<sqlite3_file>
    private let original: UnsafePointer<sqlite3_io_methods>
    private let replacement: UnsafeMutablePointer<Replacement>

    private struct Replacement {
        var methods: sqlite3_io_methods
        let owner: Unmanaged<Owner>
    }

    /// Replaces methods.
    ///
    /// - Parameters:
    ///   - schema: The database whose file it is.
    ///   - owner: Must live until ``restore()``.
    ///   - replace: Sets the methods that are replaced.
    init(
        of schema: String,
        _ connection: OpaquePointer?,
        owner: Owner,
        _ replace: (inout sqlite3_io_methods) -> Void
    ) throws(CipherCode) {
        var file: UnsafeMutablePointer<sqlite3_file>?
        let code = sqlite3_file_control(connection, schema, SQLITE_FCNTL_FILE_POINTER, &file)
        guard code == SQLITE_OK, let file, let original = file.pointee.pMethods else {
            throw CipherCode(code == SQLITE_OK ? SQLITE_MISUSE : code)
        }
        self.file = file
        self.original = original
        var methods = original.pointee
        // Without what later versions added: the file as memory, and shared memory beside it.
        methods.iVersion = 1
        replace(&methods)
        replacement = .allocate(capacity: 1)
        replacement.initialize(
            to: Replacement(methods: methods, owner: .passUnretained(owner))
        )
        file.pointee.pMethods = UnsafePointer(
            UnsafeRawPointer(replacement).assumingMemoryBound(to: sqlite3_io_methods.self)
        )
    }

    /// Whose methods a file has, which were replaced.
    static func owner(of file: UnsafeMutablePointer<sqlite3_file>?) -> Owner? {
        guard let methods = file?.pointee.pMethods else { return nil }
        return UnsafeRawPointer(methods).assumingMemoryBound(to: Replacement.self).pointee.owner
            .takeUnretainedValue()
    }

    /// Gives the file its own methods back.
    func restore() {
        file.pointee.pMethods = original
        replacement.deallocate()
    }

    // MARK: - The File's Own

    func read(_ buffer: UnsafeMutableRawBufferPointer, at offset: Int) -> Int32 {
        call {
            $0.xRead?(file, buffer.baseAddress, Int32(buffer.count), sqlite3_int64(offset))
        }
    }

    func write(_ bytes: UnsafeRawBufferPointer, at offset: Int) -> Int32 {
        call { $0.xWrite?(file, bytes.baseAddress, Int32(bytes.count), sqlite3_int64(offset)) }
    }

    /// Calls one of the file's own methods.
    func call(_ method: (sqlite3_io_methods) -> Int32?) -> Int32 {
        method(original.pointee) ?? SQLITE_MISUSE
    }
}
