import GRDB
import GRDBSQLite

extension GRDBMigrationVerifier {
    /// Has SQLite forget the schema, and read it as a connection does that opens the file.
    ///
    /// With `writable_schema` SQL can write anything into the schema's table. The connection that
    /// did so works on, while no other one can open the file. `RESET` rereads the table within the
    /// same transaction. <https://www.sqlite.org/pragma.html#pragma_writable_schema>
    ///
    /// - Throws: ``GRDBMigrationSchemaError`` if the schema can't be read.
    static func readSchemaAnew(in db: Database) throws {
        try db.writeOutVirtualTables()
        db.forgetSchema()
        do {
            _ = try Int.fetchOne(db, sql: "SELECT count(*) FROM main.sqlite_schema")
        } catch let error as DatabaseError {
            throw GRDBMigrationSchemaError(error, isReadFailure: db.hasUnreadableFile) ?? error
        }
    }
}

extension GRDBMigrationSchemaError {
    /// - Returns: `nil` for an error that is about something else than the schema.
    fileprivate init?(
        _ error: DatabaseError,
        isReadFailure: @autoclosure () throws -> Bool
    ) rethrows {
        switch error.resultCode {
        case .SQLITE_CORRUPT, .SQLITE_NOTADB, .SQLITE_ERROR:
            self.init(
                message: error.message ?? "\(error.resultCode)",
                isReadFailure: try isReadFailure()
            )
        default: return nil
        }
    }
}

extension Database {
    /// Has virtual tables write what they keep in memory until the commit, as FTS does with words:
    /// after a reset of the schema, further objects of SQLite's read and write the same tables.
    /// They do so when a savepoint begins. <https://www.sqlite.org/vtab.html#xsavepoint>
    fileprivate func writeOutVirtualTables() throws {
        guard isInsideTransaction else { return }
        let sql = "SAVEPOINT migrationkit; RELEASE migrationkit"
        guard sqlite3_exec(sqliteConnection, sql, nil, nil, nil) == SQLITE_OK else {
            throw DatabaseError(resultCode: lastErrorCode, message: lastErrorMessage)
        }
    }

    /// Whether the disk doesn't give all of the file. It is read by the descriptor that SQLite has:
    /// closing a further one would end SQLite's locks. <https://www.sqlite.org/howtocorrupt.html>
    fileprivate var hasUnreadableFile: Bool {
        var file: UnsafeMutablePointer<sqlite3_file>?
        var size: sqlite3_int64 = 0
        guard
            sqlite3_file_control(sqliteConnection, "main", SQLITE_FCNTL_FILE_POINTER, &file)
                == SQLITE_OK,
            let file, let methods = file.pointee.pMethods?.pointee,
            methods.xFileSize?(file, &size) == SQLITE_OK
        else { return false }
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 1 << 20, alignment: 16)
        defer { buffer.deallocate() }
        return stride(from: 0, to: size, by: buffer.count).contains { offset in
            let count = min(sqlite3_int64(buffer.count), size - offset)
            let code = methods.xRead?(file, buffer.baseAddress, Int32(count), offset) ?? SQLITE_OK
            let result = ResultCode(rawValue: code)
            return result.primaryResultCode == .SQLITE_IOERR && result != .SQLITE_IOERR_SHORT_READ
        }
    }

    /// Has SQLite and GRDB read the schema again when they need it.
    ///
    /// SQLite does so by itself where a change of the schema is rolled back, but not where rows of
    /// the schema's own table are. GRDB keeps what another process has changed, too.
    func forgetSchema() {
        sqlite3_exec(sqliteConnection, "PRAGMA writable_schema = RESET", nil, nil, nil)
        clearSchemaCache()
    }
}

extension DatabaseWriter {
    /// Reads the schema on a further connection, which has never seen it.
    ///
    /// It says nothing if no such connection can be opened: to a database in memory, or one that
    /// this connection or another process has for itself.
    ///
    /// - Throws: ``GRDBMigrationSchemaError`` if the schema can't be read; a `DatabaseError` if the
    ///   system doesn't give the file or a descriptor for it.
    func readSchemaAnew() throws {
        let path = try writeWithoutTransaction { db in
            let mode = try String.fetchOne(db, sql: "PRAGMA main.locking_mode")
            return mode == "exclusive" ? nil : db.filePath
        }
        guard let path else { return }
        var configuration = configuration.forReadingAlongside
        configuration.busyMode = self.configuration.busyMode
        let other: DatabaseQueue
        do {
            other = try DatabaseQueue(path: path, configuration: configuration)
        } catch let error as DatabaseError where error.resultCode != .SQLITE_ERROR {
            // A host's preparation of connections may read the schema.
            try throwIfOfSchema(error)
            return
        } catch {
            // What else a host's preparation throws says nothing about the schema.
            return
        }
        do {
            try other.readAndClose { db in
                _ = try Int.fetchOne(db, sql: "SELECT count(*) FROM main.sqlite_schema")
            }
        } catch let error as DatabaseError {
            try throwIfOfSchema(error)
        }
    }

    /// Throws an error that is about the schema, or about the disk.
    private func throwIfOfSchema(_ error: DatabaseError) throws {
        let schemaError = try GRDBMigrationSchemaError(
            error,
            isReadFailure: unsafeRead { $0.hasUnreadableFile }
        )
        if let schemaError { throw schemaError }
        if error.isFaultOfDisk { throw error }
    }
}

extension DatabaseError {
    /// Whether nothing can be said of the content, since the system doesn't give it.
    fileprivate var isFaultOfDisk: Bool {
        [.SQLITE_IOERR, .SQLITE_CANTOPEN, .SQLITE_FULL, .SQLITE_NOMEM].contains(resultCode)
    }
}
