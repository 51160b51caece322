import GRDB
import MigrationKitKeys
import MigrationKit
import MigrationKitCommon
import MigrationKitGRDB
import MigrationKitSQLCipher

extension EncryptedStores {
    /// How ``EncryptedStores`` opens and migrates stores, and how many are open.
    public struct Options: Sendable {
        /// How many stores are open at most, at least 1. Each has open files and a cache, by SQLite's
        /// default of 2 MB a connection.
        public var maximumOpen: Int

        /// Whether a store is opened for one connection or several.
        public var connection: StoreConnection

        /// Whether the file of a new store is created, with the key that `StoreKeys` gives for it.
        /// Otherwise a missing file is `EncryptedDatabaseError.noSuchFile(path:)`.
        public var createsFiles: Bool

        /// How a file is opened. Its `createsFile` is ignored.
        public var opening: EncryptedDatabase.Options

        /// How a store is migrated. The observer gets the events of all stores.
        public var migrating: MigrationOptions

        /// Where metrics and spans go.
        public var instruments: MigrationInstruments

        /// Creates options. Each parameter that isn't given has its default.
        ///
        /// - Parameters:
        ///   - maximumOpen: How many stores are open at most.
        ///   - connection: Whether a store is opened for one connection or several.
        ///   - createsFiles: Whether the file of a new store is created.
        ///   - opening: How a file is opened.
        ///   - migrating: How a store is migrated.
        ///   - instruments: Where metrics and spans go.
        public init(
            maximumOpen: Int = 64,
            connection: StoreConnection = .queue,
            createsFiles: Bool = true,
            opening: EncryptedDatabase.Options = .init(),
            migrating: MigrationOptions = MigrationOptions(),
            instruments: MigrationInstruments = MigrationInstruments()
        ) {
            self.maximumOpen = maximumOpen
            self.connection = connection
            self.createsFiles = createsFiles
            self.opening = opening
            self.migrating = migrating
            self.instruments = instruments
        }
    }
}

/// Opens and migrates one of many stores.
struct StoreOpener: Sendable {
    let path: @Sendable (String) throws -> String
    let keys: any StoreKeys
    let runner: GRDBMigrationRunner
    let options: EncryptedStores.Options

    func open(_ name: String) async throws -> any DatabaseWriter {
        let store = try await store(name)
        let connection = options.connection
        return try await options.instruments.observe(store: name, options: options.migrating) {
            let writer = try await connection.open(store)
            do {
                try await runner.asyncMigrate(in: writer, options: $0)
                return writer
            } catch {
                await writer.asyncClose()
                throw error
            }
        }
    }

    /// The store of a name. A name may come from outside: one that leads to no store is the caller's
    /// error and not the operator's, so it makes no line above `debug` and no metric.
    private func store(_ name: String) async throws -> EncryptedStore {
        do {
            let path = try path(name)
            let key = KeySourceStore(named: "the keys of the stores") { [keys] in
                try keys.key(ofStore: name)
            }
            let store = EncryptedStore(path: path, key: key, options: options.opening)
            // What keeps it from being found is reported when it is opened.
            if !options.createsFiles, try await onOwnThread({ (try? store.exists()) == false }) {
                throw EncryptedDatabaseError.noSuchFile(path: path)
            }
            return store
        } catch {
            options.instruments.logUnknownStore(name, error)
            throw error
        }
    }

    /// The path of a store in a folder. The name may come from outside, and leads to no other folder.
    static func path(of name: String, in folder: String) throws -> String {
        // With the files beside it, SQLite adds up to 8 characters; a name has 255 bytes at most.
        guard !name.isEmpty, name.utf8.count <= 200, !name.hasPrefix("."),
            !name.utf8.contains(where: { $0 == UInt8(ascii: "/") || $0 < 0x20 })
        else { throw MigrationServiceError.unusableStoreName(name) }
        return "\(folder)/\(name).db"
    }
}
