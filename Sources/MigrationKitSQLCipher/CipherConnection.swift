import CSQLCipher
import KeyStore

/// A connection of our own, beside GRDB's, that looks at a database file and changes nothing.
///
/// SQLite is told that the file is immutable, and so takes no lock, plays back no journal and
/// creates no file beside it. <https://www.sqlite.org/uri.html#uriimmutable>
///
/// The file is read through SQLite even where only its first bytes are wanted: closing a descriptor
/// of our own would drop the locks of every other connection that this process has to the file.
/// <https://www.sqlite.org/howtocorrupt.html#_posix_advisory_locks_canceled_by_a_separate_thread_doing_close_>
struct CipherConnection: ~Copyable {
    private let connection: OpaquePointer

    /// - Parameter path: An absolute path.
    init(immutable path: String) throws(CipherCode) {
        var connection: OpaquePointer?
        let flags = SQLITE_OPEN_READONLY | SQLITE_OPEN_URI | SQLITE_OPEN_EXRESCODE
        let code = sqlite3_open_v2(Self.immutableURI(path), &connection, flags, nil)
        guard code == SQLITE_OK, let connection else {
            sqlite3_close(connection)
            throw CipherCode(code)
        }
        self.connection = connection
        // SQLCipher tells standard error about every page that it can't decrypt.
        _ = run("PRAGMA cipher_log_level = NONE")
    }

    deinit {
        sqlite3_close(connection)
    }

    /// Gives the connection its key, and how the file is encrypted, before anything is read.
    borrowing func setKey(_ key: DatabaseKey, cipher: CipherSettings) -> CipherCode {
        var code = Self.setKey(key, on: connection)
        for statement in cipher.statements() where code == .ok { code = run(statement) }
        return code
    }

    /// Runs statements that bind nothing, and drops their rows.
    borrowing func run(_ sql: String) -> CipherCode {
        CipherCode(sqlite3_exec(connection, sql, nil, nil, nil))
    }

    /// The first column of every row, as text, and how the statement ended.
    borrowing func column(_ sql: String, limit: Int) -> (values: [String], code: CipherCode) {
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
    borrowing func fileSize() throws(CipherCode) -> Int {
        let file = try mainFile()
        var size: sqlite3_int64 = 0
        guard let method = file.pointee.pMethods?.pointee.xFileSize else { throw .misuse }
        let code = method(file, &size)
        guard code == SQLITE_OK else { throw CipherCode(code) }
        return Int(size)
    }

    /// Bytes of the file as they are on the disk. What lies beyond the end is zero.
    borrowing func bytes(at offset: Int, count: Int) throws(CipherCode) -> [UInt8] {
        let file = try mainFile()
        guard let method = file.pointee.pMethods?.pointee.xRead else { throw .misuse }
        var bytes = [UInt8](repeating: 0, count: count)
        let code = method(file, &bytes, Int32(count), sqlite3_int64(offset))
        // > If xRead() returns SQLITE_IOERR_SHORT_READ it must also fill in the unread portions of
        // > the buffer with zeros. <https://www.sqlite.org/c3ref/io_methods.html>
        guard code == SQLITE_OK || code == CipherCode.shortRead else { throw CipherCode(code) }
        return bytes
    }

    private borrowing func mainFile() throws(CipherCode) -> UnsafeMutablePointer<sqlite3_file> {
        var file: UnsafeMutablePointer<sqlite3_file>?
        let code = sqlite3_file_control(connection, "main", SQLITE_FCNTL_FILE_POINTER, &file)
        guard code == SQLITE_OK, let file else { throw CipherCode(code) }
        return file
    }

    /// Gives a key to any connection: GRDB's, or one of ours.
    static func setKey(_ key: DatabaseKey, on connection: OpaquePointer?) -> CipherCode {
        let quietly = "PRAGMA cipher_log_level = NONE"
        // Giving the first key in a process starts SQLCipher, which sets the level anew: hence twice.
        sqlite3_exec(connection, quietly, nil, nil, nil)
        let code = key.spelled().withUnsafeBytes {
            sqlite3_key(connection, $0.baseAddress, Int32($0.count))
        }
        sqlite3_exec(connection, quietly, nil, nil, nil)
        return CipherCode(code)
    }

    /// Whether a connection may only read, although it was perhaps opened for writing.
    static func isReadOnly(_ connection: OpaquePointer?) -> Bool {
        sqlite3_db_readonly(connection, "main") == 1
    }

    /// Whether closing the last connection moves the write-ahead log into the database, as usual.
    static func setCheckpointOnClose(_ isEnabled: Bool, on connection: OpaquePointer?) {
        _ = csqlcipher_set_checkpoint_on_close(connection, isEnabled ? 1 : 0)
    }

    private static func immutableURI(_ path: String) -> String {
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
        return uri + "?immutable=1"
    }
}

/// A result code of SQLite, with its extension.
struct CipherCode: Error, Equatable {
    let rawValue: Int32

    init(_ rawValue: Int32) {
        self.rawValue = rawValue
    }

    /// The code without its extension.
    var primary: Int32 { rawValue & 0xff }

    static let ok = CipherCode(SQLITE_OK)
    static let misuse = CipherCode(SQLITE_MISUSE)
    static let corrupt = CipherCode(SQLITE_CORRUPT)
    static let notADatabase = CipherCode(SQLITE_NOTADB)

    /// SQLITE_IOERR_SHORT_READ, a macro that Swift doesn't import.
    static let shortRead: Int32 = SQLITE_IOERR | (2 << 8)
}
