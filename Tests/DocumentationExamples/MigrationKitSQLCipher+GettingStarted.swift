import GRDB
import MigrationKitKeys
import MigrationKitGRDB
import MigrationKitSQLCipher
import SecretService

// The code of Sources/MigrationKitSQLCipher/MigrationKitSQLCipher.docc/GettingStarted.md.

func openNotes(at path: String, runner: GRDBMigrationRunner) async throws -> DatabasePool {
    let store = EncryptedStore(
        path: path,
        keyStore: SecretServiceKeyStore(),
        service: "com.example.Notes",
        account: "main",
        label: "Notes"
    )
    let database = try await store.asyncOpenPool()
    try await runner.asyncMigrate(in: database)
    return database
}

enum NotesError: Error {
    case wrongPassphrase
}

func openNotes(at path: String, passphrase: MigrationKitKeys.Secret) throws -> DatabaseQueue {
    let key = try DatabaseKey.passphrase(passphrase)
    do {
        return try EncryptedDatabase.open(path, key: key, options: .init(createsFile: true))
    } catch EncryptedDatabaseError.wrongKey {
        throw NotesError.wrongPassphrase
    }
}
