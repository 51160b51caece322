import MigrationKitPages
import GRDB
import KeyStore

extension Database {
    /// Throws unless the connection is SQLCipher's. Asked before the key is given, since a
    /// connection that is not SQLCipher's would ignore it and write in the clear.
    func proveSQLCipher() throws {
        guard try String.fetchOne(self, sql: "PRAGMA cipher_version") != nil else {
            throw EncryptedDatabaseError.noSQLCipher
        }
    }

    /// Gives the connection its key. Nothing is read yet, so that the key isn't proven by it.
    package func setKey(_ key: DatabaseKey) throws {
        let code = CipherConnection.setKey(key, on: sqliteConnection)
        guard code == .ok else {
            throw DatabaseError(resultCode: ResultCode(rawValue: code.rawValue))
        }
    }

    /// Sets, after the key, how the file is encrypted.
    func setCipher(_ settings: CipherSettings) throws {
        for statement in settings.statements { try execute(sql: statement) }
    }

    /// Whether the database may only be read, although it was perhaps opened for writing.
    var isMainReadOnly: Bool {
        CipherConnection.isReadOnly(sqliteConnection)
    }

    /// Whether closing the last connection moves the write-ahead log into the database, as usual.
    package func setCheckpointOnClose(_ isEnabled: Bool) {
        CipherConnection.setCheckpointOnClose(isEnabled, on: sqliteConnection)
    }
}
