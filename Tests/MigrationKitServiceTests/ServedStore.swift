import Foundation
import GRDB
import MigrationKitKeys
import Logging
import MigrationKitService
import ServiceLifecycle
import TestSupport

/// A folder with encrypted stores, whose keys are made when they are first asked for.
final class ServedStore: StoreKeys {
    let folder: TemporaryFolder
    private let keys = Locked<[String: DatabaseKey]>([:])
    private let asked = Locked<[String]>([])

    init() throws {
        folder = try TemporaryFolder()
    }

    /// The names whose keys were asked for, in order: how often a store was opened.
    var askedNames: [String] { asked.withLock { $0 } }

    func key(ofStore name: String) throws -> DatabaseKey {
        asked.withLock { $0.append(name) }
        guard name != "keyless" else { throw KeySourceError.empty(source: "the vault") }
        return try keys.withLock { keys in
            if let key = keys[name] { return key }
            let key = try DatabaseKey.generate()
            keys[name] = key
            return key
        }
    }

    var store: EncryptedStore { store(busyTimeout: 5) }

    func store(busyTimeout: TimeInterval) -> EncryptedStore {
        EncryptedStore(
            path: folder.path("notes.db"),
            key: KeySourceStore(named: "the test") { try self.key(ofStore: "notes") },
            options: .init(busyTimeout: busyTimeout)
        )
    }

    /// A service of the store.
    func service(
        _ steps: [MigrationStep<Database>],
        options: MigrationOptions = MigrationOptions(),
        instruments: MigrationInstruments = MigrationInstruments()
    ) throws -> MigrationService {
        MigrationService(
            store: store,
            runner: try GRDBMigrationRunner(steps: steps),
            options: options,
            instruments: instruments
        )
    }

    /// The applied steps of the store, which nobody has open.
    func applied() throws -> Set<String> {
        let queue = try store.open()
        defer { try? queue.close() }
        return try GRDBMigrationRunner(steps: []).appliedMigrationIdentifiers(in: queue)
    }

    /// The tables of a store, which nobody has open and which is sound.
    func tables(in name: String) throws -> Set<String> {
        let path = folder.path("\(name).db")
        let queue = try EncryptedDatabase.open(path, key: key(ofStore: name))
        defer { try? queue.close() }
        return try queue.read { db in
            try GRDBMigrationVerifier.verifyIntegrity(in: db)
            return try String.fetchSet(
                db,
                sql: "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'grdb%'"
            )
        }
    }
}

/// A step of many short statements, which ends only when it is interrupted. It leaves rows behind it
/// unless it is undone.
func endlessStep(_ identifier: String, running: @escaping @Sendable () -> Void = {})
    -> MigrationStep<Database>
{
    MigrationStep(identifier: identifier, sourceFile: "endless") { db in
        try db.execute(sql: "CREATE TABLE endless (id INTEGER PRIMARY KEY)")
        while true {
            try db.execute(sql: "INSERT INTO endless DEFAULT VALUES")
            running()
        }
    }
}

/// A group whose end the test decides.
func group(_ services: any Service...) -> ServiceGroup {
    ServiceGroup(
        services: services,
        logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
    )
}

/// Something that happens once, and that several wait for.
final class Event: Sendable {
    private let stream: AsyncStream<Void>
    private let continuation: AsyncStream<Void>.Continuation

    init() {
        (stream, continuation) = AsyncStream.makeStream()
    }

    func happen() { continuation.finish() }

    func wait() async { for await _ in stream {} }
}
