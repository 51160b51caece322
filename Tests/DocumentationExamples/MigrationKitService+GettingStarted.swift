import GRDB
import MigrationKitKeys
import Logging
import MigrationKitService
import ServiceLifecycle
import UnixSignals

// The code of Sources/MigrationKitService/MigrationKitService.docc/GettingStarted.md.

func runServer(_ server: some Service, steps: [MigrationStep<Database>]) async throws {
    let database = MigrationService(
        store: EncryptedStore(
            path: "/var/lib/notes/notes.db",
            key: KeySourceStore(.credential("notes-key"), form: .rawKey)
        ),
        runner: try GRDBMigrationRunner(steps: steps)
    )
    let group = ServiceGroup(
        services: [database, server.starting(after: database)],
        gracefulShutdownSignals: [.sigterm, .sigint],
        logger: Logger(label: "server")
    )
    await group.runOrExit()
}

func titles(of tenant: String, in stores: EncryptedStores) async throws -> [String] {
    try await stores.withStore(tenant) { database in
        try await database.read { try String.fetchAll($0, sql: "SELECT title FROM note") }
    }
}
