import Foundation
import GRDB
import GRDBSQLite
import MigrationKit

extension GRDBMigrationVerifier {
    /// Makes SQLite discard the schema and read it like a new connection.
    ///
    /// With `writable_schema`, SQL can write anything into the schema table. That connection
    /// continues to work, but no other one can open the file. `RESET` rereads the table within the
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
    /// - Returns: `nil` for an error that isn't about the schema.
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
    /// Makes virtual tables write what they keep in memory until the commit, as FTS does with
    /// words: after a reset, new SQLite objects read and write the same tables. They do so when a
    /// savepoint begins. <https://www.sqlite.org/vtab.html#xsavepoint>
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

    /// Makes SQLite and GRDB read the schema again when they need it.
    ///
    /// SQLite does so by itself if a schema change is rolled back, but not if directly written rows
    /// of the schema table are. GRDB also keeps its cache after another process's changes.
    func forgetSchema() {
        sqlite3_exec(sqliteConnection, "PRAGMA writable_schema = RESET", nil, nil, nil)
        clearSchemaCache()
    }
}

extension DatabaseWriter {
    /// Reads the schema on a new connection.
    ///
    /// Does nothing if none can be opened: to a database in memory, or one that this connection or
    /// another process has locked exclusively.
    ///
    /// - Throws: ``GRDBMigrationSchemaError`` if the schema can't be read; a `DatabaseError` if the
    ///   system can't open the file.
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
            // The host's `prepareDatabase` may read the schema.
            try throwIfOfSchema(error)
            return
        } catch {
            // Any other error of the host's `prepareDatabase` isn't about the schema.
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
    /// Whether the system can't read the file, so that nothing is known about its content.
    fileprivate var isFaultOfDisk: Bool {
        [.SQLITE_IOERR, .SQLITE_CANTOPEN, .SQLITE_FULL, .SQLITE_NOMEM].contains(resultCode)
    }
}
