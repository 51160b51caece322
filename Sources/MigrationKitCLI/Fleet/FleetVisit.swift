import GRDB
import MigrationKit
import MigrationKitFleet
import MigrationKitGRDB
import MigrationKitSQLCipher

/// The work on one of many stores.
struct FleetVisit: Sendable {
    let store: FleetStore
    let host: MigrationCLIHost
    let keys: FleetKeys
    let cancellation: Cancellation?

    /// How the store is opened.
    ///
    /// - Throws: An `EncryptedDatabaseError` if there is no file: nobody is asked for its key then.
    func opening() throws -> MigrationDatabaseOpenOptions {
        try EncryptedDatabase.check(store.path, is: .file)
        return try keys.opening(store)
    }

    /// Opens the store as a command for one store does, and closes it after the work.
    ///
    /// - Parameters:
    ///   - changesIt: Whether it is opened to be changed.
    ///   - lockTimeout: How long to wait for others who use it, in seconds; `nil` for as long as a
    ///     command that only reads.
    func withStore(
        _ loaded: LoadedMigrations,
        changesIt: Bool,
        lockTimeout: Double? = nil,
        _ work: (OpenStore) throws -> Void
    ) throws {
        var options = try opening()
        if let lockTimeout { options.busyTimeout = lockTimeout }
        // A host opens the database itself, and gets the options unchanged.
        if case .folder = host.migrations { options.opensForReading = !changesIt }
        if changesIt { try EncryptedDatabase.checkLog(store.path) }
        let opened = OpenStore(
            runner: loaded.runner,
            folder: loaded.folder,
            writer: try host.openWriter(options),
            path: store.path
        )
        do {
            try work(opened)
        } catch {
            try? opened.writer.close()
            throw error
        }
        try opened.writer.close()
    }
}

extension GRDBMigrationRunner {
    /// The last of the applied migrations: what a report calls the version of a store.
    func version(of applied: Set<String>) -> String? {
        let known = migrationIdentifiers.last { applied.has($0) }
        let unknown = applied.subtracting(migrationIdentifiers)
        // Without unknown ones, the order is that of the runner.
        guard !unknown.isEmpty else { return known }
        return unknown.union(known.map { [$0] } ?? []).max {
            $0.compare($1, options: .numeric) == .orderedAscending
        }
    }
}
