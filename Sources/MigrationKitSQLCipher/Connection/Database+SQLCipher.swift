import Foundation
import GRDB
import KeyStore
import MigrationKitGRDB
import MigrationKitPages

extension Database {
    /// Throws unless the connection is SQLCipher's. Call it before giving the key: any other SQLite
    /// would ignore the key and write plaintext.
    func proveSQLCipher() throws {
        guard try String.fetchOne(self, sql: "PRAGMA cipher_version") != nil else {
            throw EncryptedDatabaseError.noSQLCipher
        }
    }

    /// Gives the connection its key. This reads nothing, so it doesn't prove the key.
    package func setKey(_ key: DatabaseKey) throws {
        let code = CipherConnection.setKey(key, on: sqliteConnection)
        guard code == .ok else {
            throw DatabaseError(resultCode: ResultCode(rawValue: code.rawValue))
        }
    }

    /// Sets how the file is encrypted. Call it after the key was given.
    func setCipher(_ settings: CipherSettings) throws {
        for statement in settings.statements { try execute(sql: statement) }
    }

    /// Whether the database is read-only, even if it was opened for writing.
    var isMainReadOnly: Bool {
        CipherConnection.isReadOnly(sqliteConnection)
    }

    /// Whether closing the last connection moves the write-ahead log into the database, as usual.
    package func setCheckpointOnClose(_ isEnabled: Bool) {
        CipherConnection.setCheckpointOnClose(isEnabled, on: sqliteConnection)
    }
}

extension DatabaseFunction {
    /// The SQL function `uuid()`: returns a new random UUID (version 4) as lower-case text at each
    /// call. Made for `DEFAULT (uuid())`. An index can't use it, since it is not deterministic.
    public static let uuid = DatabaseFunction("uuid", argumentCount: 0, pure: false) { _ in
        UUID().uuidString.lowercased()
    }
}

extension String {
    /// The name in quotation marks, for SQL.
    package var quotedName: String {
        GRDBMigrationSQLHelpers.quoted(self)
    }
}
