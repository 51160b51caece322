import MigrationKitSQLCipher
import SecretService

// The code of Sources/MigrationKitSQLCipher/MigrationKitSQLCipher.docc/RotatingAKey.md.

func rotateKey(of path: String) async throws {
    let store = EncryptedStore(
        path: path,
        keyStore: SecretServiceKeyStore(),
        service: "org.example.Notes",
        account: "main"
    )
    // Close every connection first.
    let rotation = store.keyRotation()
    try await asyncRun { try rotation.run() }
}
