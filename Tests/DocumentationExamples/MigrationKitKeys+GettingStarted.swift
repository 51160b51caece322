import MigrationKitKeys
import SecretService

// The code of Keys/MigrationKitKeys/KeyStore.docc/GettingStarted.md.

func serverKey() throws -> DatabaseKey {
    let resolver = KeyResolver { SecretServiceKeyStore() }
    return try resolver.key(from: .file(path: "/etc/notes/key"), form: .passphrase)
}

func makeKey(in store: any KeyStore) throws -> DatabaseKey {
    let key = try DatabaseKey.generate()
    try store.store(key, service: "com.example.Notes", account: "main")
    return try store.key(service: "com.example.Notes", account: "main")
}

func testMakingAKey() throws {
    let store = InMemoryKeyStore()
    let key = try makeKey(in: store)
    assert(key.form == .rawKey)

    store.fail(with: .locked(collection: "login"))
    do {
        _ = try store.key(service: "com.example.Notes", account: "main")
    } catch KeyStoreError.locked {
        print("Unlock the keyring.")
    }
}
