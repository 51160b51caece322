import CSQLCipher
import MigrationKitKeys
import MigrationKitCommon

/// Our own connection, beside GRDB's. It inspects a database file and changes nothing.
///
/// It takes no lock, rolls back no journal, and creates no file beside the database.
///
/// The file is always read through SQLite, even if only its first bytes are needed: closing a
/// descriptor of our own would release the locks of every other connection that this process has to
/// the file.
/// <https://www.sqlite.org/howtocorrupt.html#_posix_advisory_locks_canceled_by_a_separate_thread_doing_close_>
package struct CipherConnection: ~Copyable {
    private let connection: OpaquePointer

    private let trouble = Trouble()

    private final class Trouble {
        var code: CipherCode?
    }

    /// Opens the database without its write-ahead log, as a file that never changes.
    /// <https://www.sqlite.org/uri.html#uriimmutable>
    ///
    /// - Parameter path: An absolute path.
    package init(immutable path: String) throws(CipherCode) {
        connection = try Self.open(path, parameters: "?immutable=1")
    }

    /// Opens the database with its write-ahead log, which must exist.
    ///
    /// SQLite reads a log either with locks and an index in shared memory, a file beside the
    /// database; or, with exclusive access, with an index in its own memory. Here the lock for
    /// exclusive access always appears to be granted. ``keepLogIndexInMemory()`` must be called
    /// after the key is set. <https://www.sqlite.org/wal.html#use_of_wal_without_shared_memory>
    ///
    /// - Parameter path: An absolute path.
    package init(readingLogOf path: String) throws(CipherCode) {
        let connection = try Self.open(path, parameters: "")
        Self.setCheckpointOnClose(false, on: connection)
        do {
            // Nothing was read yet, so the file holds no lock that it would have to release.
            _ = try FileMethods(of: "main", connection, owner: trouble, locks: .granted)
        } catch {
            sqlite3_close(connection)
            throw error
        }
        self.connection = connection
    }

    private static func open(
        _ path: String,
        parameters: String
    ) throws(CipherCode) -> OpaquePointer {
        var connection: OpaquePointer?
        let flags = SQLITE_OPEN_READONLY | SQLITE_OPEN_URI | SQLITE_OPEN_EXRESCODE
        let code = sqlite3_open_v2(uri(path) + parameters, &connection, flags, nil)
        guard code == SQLITE_OK, let connection else {
            sqlite3_close(connection)
            throw CipherCode(code)
        }
        // SQLCipher writes to standard error about every page that it can't decrypt.
        sqlite3_exec(connection, "PRAGMA cipher_log_level = NONE", nil, nil, nil)
        return connection
    }

    deinit {
        sqlite3_close(connection)
    }

    /// Whether SQLCipher can still authenticate what it reads on a connection, in the transaction
    /// that may be open. See `Database.checkPagesRead()`.
    package static func readsAuthenticPages(on connection: OpaquePointer?) -> Bool {
        // Up to 4.18, the page after the damaged one can't be read.
        let (_, code) = column("SELECT max(sql) FROM main.sqlite_schema", on: connection)
        guard code == .done else { return false }
        return column("PRAGMA main.cipher_status", on: connection).values != ["0"]
            || column("PRAGMA main.cipher_salt", on: connection).values.isEmpty
    }

    /// Keeps the log's index in this process, not in a file that others see.
    package borrowing func keepLogIndexInMemory() {
        _ = run("PRAGMA locking_mode = EXCLUSIVE")
    }

    /// Runs `body` with SQLite's connection, for SQLite's own functions.
    package borrowing func withHandle<Value>(_ body: (OpaquePointer) throws -> Value) rethrows
        -> Value
    {
        try body(connection)
    }

    /// SQLite's message for the last failure.
    package var message: String { String(cString: sqlite3_errmsg(connection)) }

    /// The first failure in which the disk or the system could not read something. Anything that
    /// wasn't found since then may exist.
    package var readFailure: CipherCode? { trouble.code }

    private func note(_ code: Int32) -> CipherCode {
        let code = CipherCode(code)
        if trouble.code == nil, code.isReadFailure { trouble.code = code }
        return code
    }

    /// The number that a statement returns; `nil` if it fails.
    package borrowing func number(_ sql: String) -> Int? {
        let row = column(sql, limit: 1)
        return row.code == .ok ? row.values.first.flatMap { Int($0) } : nil
    }

    /// The pages that are damaged or too short.
    ///
    /// - Parameters:
    ///   - key: A raw key.
    ///   - cipher: How the file is encrypted.
    ///   - reach: Called again and again with the number of bytes that were read. If it throws, the
    ///     search ends.
    /// - Throws: The ``CipherCode`` of a read error; what `reach` throws.
    package borrowing func damagedPages(
        key: DatabaseKey,
        cipher: CipherSettings,
        reach: (Int) throws -> Void = { _ in }
    ) throws -> [Int] {
        try DamagedPages(of: SharedBytes(of: connection), key: key, cipher: cipher)
            .find(reach: reach)
    }

    /// Sets the connection's key and how the file is encrypted, before anything is read.
    package borrowing func setKey(_ key: DatabaseKey, cipher: CipherSettings) -> CipherCode {
        var code = Self.setKey(key, on: connection)
        for statement in cipher.statements where code == .ok { code = run(statement) }
        return code
    }

    /// Runs statements without parameters, and discards their rows.
    package borrowing func run(_ sql: String) -> CipherCode {
        note(sqlite3_exec(connection, sql, nil, nil, nil))
    }

    /// The first column of every row, as text, and how the statement ended.
    package borrowing func column(
        _ sql: String,
        limit: Int
    ) -> (values: [String], code: CipherCode) {
        let column = Self.column(sql, on: connection, limit: limit)
        return (column.values, note(column.code.rawValue))
    }

    /// The same, on any connection.
    package static func column(
        _ sql: String,
        on connection: OpaquePointer?,
        limit: Int = .max
    ) -> (values: [String], code: CipherCode) {
        var statement: OpaquePointer?
        let code = sqlite3_prepare_v2(connection, sql, -1, &statement, nil)
        guard code == SQLITE_OK else { return ([], CipherCode(code)) }
        defer { sqlite3_finalize(statement) }
        var values: [String] = []
        while values.count < limit {
            let code = sqlite3_step(statement)
            guard code == SQLITE_ROW else { return (values, CipherCode(code)) }
            if let text = sqlite3_column_text(statement, 0) {
                values.append(String(cString: text))
            }
        }
        return (values, .ok)
    }

    /// The file's size in bytes.
    package borrowing func fileSize() throws(CipherCode) -> Int {
        try MainFile(of: connection).size()
    }

    /// Bytes of the file as they are on the disk. Bytes past the end are zero.
    package borrowing func bytes(at offset: Int, count: Int) throws(CipherCode) -> [UInt8] {
        try MainFile(of: connection).bytes(at: offset, count: count)
    }

    /// Sets the key of any connection: GRDB's, or one of ours.
    package static func setKey(_ key: DatabaseKey, on connection: OpaquePointer?) -> CipherCode {
        let quietly = "PRAGMA cipher_log_level = NONE"
        // Set twice, because the first key in a process starts SQLCipher, which resets the level.
        sqlite3_exec(connection, quietly, nil, nil, nil)
        let code = key.spelled().withUnsafeBytes { bytes in
            // SQLite says that it has started before SQLCipher in it has: of two threads that open
            // the first databases of a process, the second could set no key.
            Polling.value(within: 1) {
                let code = sqlite3_key(connection, bytes.baseAddress, Int32(bytes.count))
                return code == SQLITE_ERROR ? nil : code
            }
        }
        sqlite3_exec(connection, quietly, nil, nil, nil)
        return CipherCode(code ?? SQLITE_ERROR)
    }

    /// Attaches a database to any connection, with a key that is in no SQL: a trace would show it.
    ///
    /// - Parameter key: `nil` for a plaintext database.
    /// - Returns: The result, and SQLite's message about it.
    package static func attach(
        _ path: String,
        as schema: String,
        key: DatabaseKey?,
        to connection: OpaquePointer?
    ) -> (code: CipherCode, message: String) {
        guard let key else { return attach(path, as: schema, "KEY ''", to: connection) }
        let function = "migrationkit_attached_key"
        let box = KeyBox(key)
        // SQLite can't remove a function while a statement runs. Without its key it does nothing.
        defer {
            box.key = nil
            sqlite3_create_function_v2(
                connection,
                function,
                0,
                SQLITE_UTF8,
                nil,
                nil,
                nil,
                nil,
                nil
            )
        }
        let code = sqlite3_create_function_v2(
            connection,
            function,
            0,
            SQLITE_UTF8 | SQLITE_DIRECTONLY,
            Unmanaged.passRetained(box).toOpaque(),
            { context, _, _ in
                guard let data = sqlite3_user_data(context) else { return }
                let box = Unmanaged<KeyBox>.fromOpaque(data).takeUnretainedValue()
                box.key?.withUnsafeBytes { bytes in
                    // Without a destructor, SQLite doesn't copy the bytes, which the box keeps.
                    sqlite3_result_blob(context, bytes.baseAddress, Int32(bytes.count), nil)
                }
            },
            nil,
            nil,
            { $0.map { Unmanaged<KeyBox>.fromOpaque($0).release() } }
        )
        guard code == SQLITE_OK else { return failure(code, of: connection) }
        let quietly = "PRAGMA cipher_log_level = NONE"
        sqlite3_exec(connection, quietly, nil, nil, nil)
        defer { sqlite3_exec(connection, quietly, nil, nil, nil) }
        return attach(path, as: schema, "KEY \(function)()", to: connection)
    }

    private final class KeyBox {
        var key: Secret?
        init(_ key: DatabaseKey) { self.key = key.spelled() }
    }

    private static func attach(
        _ path: String,
        as schema: String,
        _ clause: String,
        to connection: OpaquePointer?
    ) -> (code: CipherCode, message: String) {
        var statement: OpaquePointer?
        defer { sqlite3_finalize(statement) }
        let sql = "ATTACH DATABASE ? AS ? \(clause)"
        var code = sqlite3_prepare_v2(connection, sql, -1, &statement, nil)
        for (index, text) in [path, schema].enumerated() where code == SQLITE_OK {
            // The C string lives only as long as the call, so SQLite must copy it.
            let transient = unsafeBitCast(-1, to: sqlite3_destructor_type.self)
            code = sqlite3_bind_text(statement, Int32(index + 1), text, -1, transient)
        }
        if code == SQLITE_OK { code = sqlite3_step(statement) }
        return code == SQLITE_DONE ? (.ok, "") : failure(code, of: connection)
    }

    private static func failure(
        _ code: Int32,
        of connection: OpaquePointer?
    ) -> (code: CipherCode, message: String) {
        (CipherCode(code), String(cString: sqlite3_errmsg(connection)))
    }

    /// Whether a connection is read-only, even if it was opened for writing.
    package static func isReadOnly(_ connection: OpaquePointer?) -> Bool {
        sqlite3_db_readonly(connection, "main") == 1
    }

    /// Whether closing the last connection moves the write-ahead log into the database, as usual.
    package static func setCheckpointOnClose(_ isEnabled: Bool, on connection: OpaquePointer?) {
        _ = csqlcipher_set_checkpoint_on_close(connection, isEnabled ? 1 : 0)
    }

    private static func uri(_ path: String) -> String {
        let digits = Array("0123456789ABCDEF")
        var uri = "file://"
        for byte in path.utf8 {
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "/"), UInt8(ascii: "."),
                UInt8(ascii: "-"), UInt8(ascii: "_"):
                uri.append(Character(Unicode.Scalar(byte)))
            default:
                uri += ["%", digits[Int(byte >> 4)], digits[Int(byte & 15)]]
            }
        }
        return uri
    }
}
