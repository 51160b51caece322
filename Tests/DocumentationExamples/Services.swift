import GRDB
import MigrationKitKeys
import Logging
import MigrationKitService
import ServiceLifecycle
import UnixSignals

// The examples of Documentation/Services.md. `DocumentationExampleTests` compares the texts.

func makeServedStore() -> EncryptedStore {
    let store = EncryptedStore(
        path: "/var/lib/notes/notes.db",
        key: KeySourceStore(.credential("notes-key"), form: .rawKey)
    )
    return store
}

func serve(_ server: some Service, store: EncryptedStore, steps: [MigrationStep<Database>])
    async throws
{
    let database = MigrationService(
        store: store,
        runner: try GRDBMigrationRunner(steps: steps)
    )
    let group = ServiceGroup(
        services: [database, server.starting(after: database)],
        gracefulShutdownSignals: [.sigterm, .sigint],
        logger: Logger(label: "server")
    )
    await group.runOrExit()
}

func keepHealthCheck(database: MigrationService, server: some Service, health: some Service)
    async throws
{
    let group = ServiceGroup(
        configuration: .init(
            services: [
                .init(service: database, failureTerminationBehavior: .ignore),
                .init(service: server.starting(after: database)),
                .init(service: health),
            ],
            gracefulShutdownSignals: [.sigterm],
            logger: Logger(label: "server")
        )
    )
    try await group.run()
}

protocol Vault: Sendable {
    func secret(_ name: String) throws -> MigrationKitKeys.Secret
}

func count(in vault: any Vault, steps: [MigrationStep<Database>]) async throws -> Int? {
    struct VaultKeys: StoreKeys {
        let vault: Vault

        func key(ofStore name: String) throws -> DatabaseKey {
            try .rawKey(hexadecimal: vault.secret("notes/\(name)"))
        }
    }

    let stores = EncryptedStores(
        folder: "/var/lib/notes",
        keys: VaultKeys(vault: vault),
        runner: try GRDBMigrationRunner(steps: steps)
    )
    let count = try await stores.withStore("acme") { database in
        try await database.read { try Int.fetchOne($0, sql: "SELECT COUNT(*) FROM note") }
    }
    return count
}
