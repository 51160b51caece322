import MigrationKitKeys
import SecretService

// The code of Keys/SecretService/SecretService.docc/GettingStarted.md.

func desktopKey() throws -> DatabaseKey {
    let store = SecretServiceKeyStore(timeout: .seconds(60))
    do {
        return try store.key(service: "com.example.Notes", account: "main")
    } catch KeyStoreError.itemNotFound {
        let key = try DatabaseKey.generate()
        try store.store(key, service: "com.example.Notes", account: "main")
        return key
    }
}
