import MigrationKitKeys
import MigrationKitSQLCipher
import SecretService

// The examples of Documentation/Flatpak.md. `DocumentationExampleTests` compares the texts.

func storeInASandbox(_ folder: String) -> EncryptedStore {
    let store = EncryptedStore(
        path: folder + "/notes.db",
        keyStore: DesktopKeyStore.current(),
        service: "com.example.Notes",
        account: "main"
    )
    return store
}

func copyToThePortal() throws {
    let (service, account) = ("com.example.Notes", "main")
    let key = try SecretServiceKeyStore().key(service: service, account: account)
    try PortalKeyStore().store(key, service: service, account: account)
}
