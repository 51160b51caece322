import GRDB
import MigrationKitKeys
import MigrationKit
import MigrationKitGRDB
import MigrationKitSQLCipher
import SecretService

// The examples of Documentation/FirstLaunch.md. `DocumentationExampleTests` compares the texts.

package enum Launch {
    case open(DatabaseQueue)
    case ask(String)
}

package func launch(in folder: String, with runner: GRDBMigrationRunner) async throws -> Launch {
    let store = EncryptedStore(
        path: folder + "/notes.db",
        keyStore: SecretServiceKeyStore(),
        service: "com.example.Notes",
        account: "main",
        label: "Notes"
    )
    do {
        let database = try await store.asyncOpen()
        try await runner.asyncMigrate(in: database)
        return .open(database)
    } catch KeyStoreError.locked, KeyStoreError.promptDismissed {
        return .ask("Unlock the keyring, and try again.")
    } catch KeyStoreError.noBus, KeyStoreError.noService, KeyStoreError.noCollection {
        return .ask("There is no keyring. Log in to a desktop, or set one up.")
    } catch EncryptedStoreError.keyMissing {
        return .ask("The notes are there, but their key is gone. Restore the keyring.")
    } catch MigrationKitError.databaseIsNewer {
        return .ask("A newer version has opened these notes. Update the app.")
    }
}

/// A keyring that is locked, in a test of an app.
package func testALockedKeyring(at path: String) throws {
    let keys = InMemoryKeyStore()
    let store = EncryptedStore(path: path, keyStore: keys, service: "test", account: "main")
    try store.open().close()

    keys.fail(with: .locked(collection: "login"))
    do {
        _ = try store.open()
    } catch KeyStoreError.locked {
        print("as on a desktop whose keyring is locked")
    }
}
