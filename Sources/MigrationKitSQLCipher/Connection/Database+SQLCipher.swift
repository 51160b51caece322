import MigrationKitPages
import GRDB
import KeyStore

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
