import KeyStore
import MigrationKitSQLCipher

// The code of Sources/MigrationKitSQLCipher/MigrationKitSQLCipher.docc/BackingUp.md.

func backUp(_ database: String, to backup: String, key: DatabaseKey) async throws {
    try await DatabaseBackup(database, to: backup, form: .encrypted(key)).asyncRun()
}

func restore(_ database: String, from backup: String, key: DatabaseKey) async throws {
    try await DatabaseRestore(database, from: backup, form: .encrypted(key)).asyncRun()
}
