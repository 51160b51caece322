import MigrationKitKeys
import MigrationKitSQLCipher

// The code of Sources/MigrationKitSQLCipher/MigrationKitSQLCipher.docc/BackingUp.md.

func backUp(_ database: String, to backup: String, key: DatabaseKey) async throws {
    let backup = DatabaseBackup(database, to: backup, form: .encrypted(key))
    try await asyncRun { try backup.run() }
}

func restore(_ database: String, from backup: String, key: DatabaseKey) async throws {
    let restore = DatabaseRestore(database, from: backup, form: .encrypted(key))
    try await asyncRun { try restore.run() }
}
