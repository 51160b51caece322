import Foundation
import GRDB
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
    } catch let error as any LocalizedError {
        // A full disk, a keyring that doesn't answer, two items for one account: each says what to do.
        let advice = error.recoverySuggestion ?? ""
        return .ask("\(error.errorDescription ?? "The notes can't be opened"). \(advice)")
    } catch {
        // A step's own error, which names the step.
        return .ask("The notes can't be brought up to date. \(error)")
    }
}

package func launchFromPlaintext(
    in folder: String,
    with runner: GRDBMigrationRunner
) async throws -> DatabaseQueue {
    let store = EncryptedStore(
        path: folder + "/notes.db",
        keyStore: SecretServiceKeyStore(),
        service: "com.example.Notes",
        account: "main",
        label: "Notes",
        encryptsPlaintext: true
    )
    let database = try await store.asyncOpen()
    try await runner.asyncMigrate(in: database)
    return database
}

package func keepCopies(
    of store: EncryptedStore,
    passphrase: MigrationKitKeys.Secret,
    in file: URL,
    and backup: String
) async throws {
    let copy = try await asyncRun { try store.recoveryCopy(passphrase: passphrase) }
    try Data(copy).write(to: file, options: .atomic)
    try await asyncRun { try store.backup(to: backup) }
}

package func restoreKey(
    of store: EncryptedStore,
    from file: URL,
    passphrase: MigrationKitKeys.Secret
) async throws -> DatabaseQueue {
    let copy = try Array(Data(contentsOf: file))
    try await asyncRun { try store.restoreKey(from: copy, passphrase: passphrase) }
    return try await store.asyncOpen()
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
