import ArgumentParser
import Foundation
import GRDB
import MigrationKit
import MigrationKitGRDB
import MigrationKitSQL

/// A command that works on a database with migrations.
///
/// The groups of its options stand in the command itself: a debug build of ArgumentParser checks
/// each group four times for every group that it stands in, which adds up to seconds.
protocol StoreCommand: ContextCommand {
    associatedtype Migrations: MigrationsOptions

    var database: KeyedDatabaseOptions { get }
    var encryption: EncryptionOptions { get }
    var migrations: Migrations { get }
}

extension StoreCommand {
    /// Reads the migrations, then opens the database.
    ///
    /// - Parameters:
    ///   - createsFile: Whether a database that doesn't exist is created.
    ///   - lockTimeout: How long to wait, in seconds, for another process that has the database for
    ///     itself, if longer than usual.
    ///   - check: Refuses, before anything is opened, what the migrations don't allow.
    ///   - relocate: Gives the path that is opened in place of the one that was named.
    func openStore(
        in context: CommandContext,
        createsFile: Bool = false,
        lockTimeout: TimeInterval? = nil,
        check: (GRDBMigrationRunner) throws -> Void = { _ in },
        relocate: ((_ path: String?) throws -> String?)? = nil
    ) throws -> OpenStore {
        let loaded = try migrations.load(from: context.host, context: context)
        try check(loaded.runner)
        let (writer, path) = try context.open(
            database,
            createsFile: createsFile,
            isPlaintext: encryption.noEncryption,
            lockTimeout: lockTimeout,
            relocate: relocate
        )
        return OpenStore(
            runner: loaded.runner,
            notes: loaded.notes,
            writer: writer,
            path: path
        )
    }
}

/// An open database with its migrations.
struct OpenStore {
    var runner: GRDBMigrationRunner
    let notes: [MigrationNote]
    let writer: any DatabaseWriter
    let path: String?
}
