import Foundation
import GRDB
import MigrationKitKeys
import MigrationKitCommon
import MigrationKitGRDB
import MigrationKitPages

// What GRDB and SQLCipher do otherwise, or not at all, with an encrypted database.

extension EncryptedDatabase {
    /// Drops everything in a database, which keeps its file, key and salt.
    ///
    /// **This destroys all rows.** GRDB's own `erase()` fails on an encrypted database: it copies an
    /// empty database over it, which SQLCipher refuses.
    ///
    /// - Parameter writer: The database, opened for writing.
    /// - Throws: `MigrationKitError.readOnlyDatabase`;
    ///   `MigrationKitError.locked(path:holder:seconds:)` if another process migrates it; a
    ///   `DatabaseError`.
    public static func erase(_ writer: any DatabaseWriter) throws {
        try writer.eraseContent()
    }

    /// Attaches another database to a connection.
    ///
    /// ```swift
    /// try database.writeWithoutTransaction { db in
    ///     try EncryptedDatabase.attach("/home/me/old.db", as: "old", key: key, to: db)
    ///     defer { try? db.execute(sql: "DETACH DATABASE old") }
    ///     try db.execute(sql: "INSERT INTO note SELECT * FROM old.note")
    /// }
    /// ```
    ///
    /// SQLite's `ATTACH` would want the key in its SQL, where traces and errors show it; and without
    /// one, SQLCipher takes the key of the connection. Here the key is in no SQL.
    ///
    /// SQLite doesn't detach a database that a transaction has used before that ends.
    ///
    /// - Parameters:
    ///   - path: The database, which must exist. Links are followed.
    ///   - schema: Its name in SQL, such as `old` in `old.note`.
    ///   - key: Its key; `nil` for a plaintext database. The file has SQLCipher 4's own settings.
    ///   - db: The connection.
    /// - Throws: ``EncryptedDatabaseError``; a `DatabaseError` if SQLite can't attach it.
    public static func attach(
        _ path: String,
        as schema: String,
        key: DatabaseKey?,
        to db: Database
    ) throws {
        let file = DatabaseFile(path)
        let look = try file.look()
        switch look.size {
        // SQLite would create it, with the mode that the umask leaves.
        case nil: throw EncryptedDatabaseError.noSuchFile(path: path)
        case 0: throw EncryptedDatabaseError.empty(path: path)
        case 1: throw EncryptedDatabaseError.notADatabase(path: path)
        default: break
        }
        try look.checkAccess(forWriting: !db.configuration.readonly)
        try look.checkJournal()
        let inspection = try FileInspection(look)
        guard let key else {
            try inspection.checkPlaintext()
            return try db.attach(file.absolutePath, as: schema, key: nil)
        }
        try db.proveSQLCipher()
        let derivedKey = try inspection.derive(key)
        guard try inspection.opens(with: derivedKey) else {
            throw try inspection.explain(nil, key: key, derivedKey: derivedKey)
        }
        try db.attach(file.absolutePath, as: schema, key: derivedKey)
    }
}

extension Database {
    fileprivate func attach(_ path: String, as schema: String, key: DatabaseKey?) throws {
        let result = CipherConnection.attach(path, as: schema, key: key, to: sqliteConnection)
        guard result.code == .ok else {
            throw DatabaseError(
                resultCode: ResultCode(rawValue: result.code.rawValue),
                message: result.message
            )
        }
        // As after an ATTACH that GRDB executes: a name may now mean a table of the attached database.
        clearSchemaCache()
    }
}
