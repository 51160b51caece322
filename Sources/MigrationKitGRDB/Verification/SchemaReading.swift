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
        db.forgetSchema()
        do {
            _ = try Int.fetchOne(db, sql: "SELECT count(*) FROM main.sqlite_schema")
        } catch let error as DatabaseError {
            throw GRDBMigrationSchemaError(error) ?? error
        }
    }
}

extension GRDBMigrationSchemaError {
    /// - Returns: `nil` for an error that is about something else than the schema.
    fileprivate init?(_ error: DatabaseError) {
        switch error.resultCode {
        case .SQLITE_CORRUPT, .SQLITE_NOTADB, .SQLITE_ERROR:
            self.init(message: error.message ?? "\(error.resultCode)")
        default: return nil
        }
    }
}

extension Database {
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
    /// - Throws: ``GRDBMigrationSchemaError`` if the schema can't be read.
    func readSchemaAnew() throws {
        let path = try writeWithoutTransaction { db in
            let mode = try String.fetchOne(db, sql: "PRAGMA main.locking_mode")
            return mode == "exclusive" ? nil : db.filePath
        }
        guard let path else { return }
        var configuration = configuration.forReadingAlongside
        configuration.busyMode = self.configuration.busyMode
        do {
            try DatabaseQueue(path: path, configuration: configuration).readAndClose { db in
                _ = try Int.fetchOne(db, sql: "SELECT count(*) FROM main.sqlite_schema")
            }
        } catch let error as DatabaseError {
            if let error = GRDBMigrationSchemaError(error) { throw error }
        }
    }
}
