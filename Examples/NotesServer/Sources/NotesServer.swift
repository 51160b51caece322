import Foundation
import GRDB
import Hummingbird
import MigrationKitKeys
import Logging
import MigrationKitService
import ServiceLifecycle

// A server with a store for each tenant, and one that they share.
//
//     mkdir -m 700 data
//     (umask 077; for name in shared acme; do openssl rand -hex 32 >data/$name.key; done)
//     notes-server data 8080
//
//     curl localhost:8080/health
//     curl -d 'buy milk' localhost:8080/tenants/acme/notes
//     curl localhost:8080/tenants/acme/notes
//
// A tenant's key is in the file beside its store. A real server asks a vault.

/// One file with a raw key for each store.
struct KeyFiles: StoreKeys {
    let folder: String

    func key(ofStore name: String) throws -> DatabaseKey {
        try KeyResolver { throw KeyStoreError.noService }
            .key(from: .file(path: "\(folder)/\(name).key"), form: .rawKey)
    }
}

@main
struct NotesServer {
    static func main() async throws {
        let arguments = CommandLine.arguments
        guard arguments.count == 3, let port = Int(arguments[2]) else {
            print("usage: notes-server FOLDER PORT")
            exit(64)
        }
        let logger = Logger(label: "notes-server")
        let folder = arguments[1]
        let instruments = MigrationInstruments(logger: logger)

        // The shared store is migrated before the server answers anybody.
        let shared = MigrationService(
            store: EncryptedStore(
                path: "\(folder)/shared.db",
                key: KeySourceStore(.file(path: "\(folder)/shared.key"), form: .rawKey)
            ),
            runner: try Migrations.ofShared(),
            instruments: instruments
        )
        // A tenant's store is migrated when it is first used.
        let stores = EncryptedStores(
            folder: folder,
            keys: KeyFiles(folder: folder),
            runner: try Migrations.ofTenants(),
            options: .init(maximumOpen: 100, instruments: instruments)
        )
        let server = Application(
            router: routes(shared: shared, stores: stores),
            configuration: .init(address: .hostname("127.0.0.1", port: port)),
            logger: logger
        )
        // Shut down in the reverse order: first the server, then what it uses.
        let group = ServiceGroup(
            services: [shared, stores, server.starting(after: shared)],
            gracefulShutdownSignals: [.sigterm, .sigint],
            logger: logger
        )
        await group.runOrExit()
    }

    static func routes(
        shared: MigrationService,
        stores: EncryptedStores
    ) -> Router<BasicRequestContext> {
        let router = Router()
        router.get("health") { _, _ -> HTTPResponse.Status in
            shared.isReady ? .ok : .serviceUnavailable
        }
        router.get("tenants/:tenant/notes") { _, context in
            let tenant = try context.parameters.require("tenant")
            return try await answering {
                try await stores.withStore(tenant) { store in
                    try await store.read { try String.fetchAll($0, sql: "SELECT text FROM note") }
                }
            }
        }
        router.post("tenants/:tenant/notes") { request, context -> HTTPResponse.Status in
            let text = String(buffer: try await request.body.collect(upTo: 65536))
            let tenant = try context.parameters.require("tenant")
            try await answering {
                try await stores.withStore(tenant) { store in
                    try await store.write { db in
                        try db.execute(sql: "INSERT INTO note (text) VALUES (?)", arguments: [text])
                    }
                }
                try await shared.database().write { db in
                    try db.execute(
                        sql: "INSERT INTO event (tenant) VALUES (?)",
                        arguments: [tenant]
                    )
                }
            }
            return .created
        }
        return router
    }

    /// Gives what isn't the server's fault a status of its own.
    static func answering<Value>(_ body: () async throws -> Value) async throws -> Value {
        do {
            return try await body()
        } catch MigrationServiceError.unusableStoreName, KeySourceError.noSuchFile {
            throw HTTPError(.notFound, message: "there is no such tenant")
        } catch MigrationServiceError.storesStopped, MigrationServiceError.stopped {
            throw HTTPError(.serviceUnavailable, message: "the server is shutting down")
        }
    }
}

enum Migrations {
    static func ofShared() throws -> GRDBMigrationRunner {
        try GRDBMigrationRunner(steps: [
            MigrationStep(identifier: "0001_events", sourceFile: "NotesServer.swift") { db in
                try db.execute(sql: "CREATE TABLE event (id INTEGER PRIMARY KEY, tenant TEXT)")
            }
        ])
    }

    static func ofTenants() throws -> GRDBMigrationRunner {
        // Many short statements: as many as a check of this example wants.
        let seedCount = Int(ProcessInfo.processInfo.environment["NOTES_SEEDS"] ?? "") ?? 3
        return try GRDBMigrationRunner(steps: [
            MigrationStep(identifier: "0001_notes", sourceFile: "NotesServer.swift") { db in
                try db.execute(sql: "CREATE TABLE note (id INTEGER PRIMARY KEY, text TEXT)")
            },
            MigrationStep(identifier: "0002_seeds", sourceFile: "NotesServer.swift") { db in
                for number in 1...seedCount {
                    try db.execute(
                        sql: "INSERT INTO note (text) VALUES (?)",
                        arguments: ["note \(number)"]
                    )
                }
            },
        ])
    }
}
