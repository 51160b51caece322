import ArgumentParser
import Foundation
import GRDB
import MigrationKit
import MigrationKitGRDB
import MigrationKitSQL
import MigrationKitSQLCipher

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
    /// Reads the migrations, with what the settings file says about them, then opens the database.
    ///
    /// - Parameters:
    ///   - createsFile: Whether a database that doesn't exist is created.
    ///   - forReading: Whether a database that can't be written will do.
    ///   - previewsNew: Whether an empty database in memory stands for one that doesn't exist yet.
    ///   - run: The options of a command that runs migrations, which waits longer for another
    ///     process that has the database for itself.
    ///   - allowsOutOfOrder: Whether a pending migration may come before an applied one, if the
    ///     command line says it.
    ///   - loaded: The migrations; `nil` for those that the options name.
    ///   - changesIt: Whether the database is opened to be changed.
    ///   - acceptsLostCommits: Whether a damaged log is ended instead of refused.
    ///   - check: Refuses, before anything is opened, what the migrations don't allow.
    ///   - beforeCreating: Refuses, before a database is created, what can't be done to a new one. It
    ///     gets an empty database in memory.
    ///   - relocate: Gives the path that is opened in place of the one that was named.
    func openStore(
        in context: CommandContext,
        createsFile: Bool = false,
        forReading: Bool = false,
        previewsNew: Bool = false,
        run: RunOptions? = nil,
        allowsOutOfOrder: Bool? = nil,
        loaded: LoadedMigrations? = nil,
        changesIt: Bool = false,
        acceptsLostCommits: Bool = false,
        check: (GRDBMigrationRunner) throws -> Void = { _ in },
        beforeCreating: ((OpenStore) throws -> Void)? = nil,
        relocate: ((_ path: String?) throws -> String?)? = nil
    ) throws -> OpenStore {
        let loaded =
            try loaded ?? loadMigrations(in: context, allowsOutOfOrder: allowsOutOfOrder)
        try check(loaded.runner)
        if previewsNew || beforeCreating != nil,
            let path = try context.pathOfNewDatabase(database, encryption)
        {
            let new = OpenStore(
                runner: loaded.runner,
                folder: loaded.folder,
                writer: try DatabaseQueue.standingForNewDatabase(),
                path: path,
                isNew: true
            )
            if previewsNew {
                context.warn(about: database.secret)
                return new
            }
            try beforeCreating?(new)
        }
        let (writer, path, wasCreated) = try context.open(
            database,
            createsFile: createsFile,
            isPlaintext: encryption.noEncryption,
            lockTimeout: run?.lockTimeout(in: context),
            forReading: forReading,
            changesIt: changesIt,
            acceptsLostCommits: acceptsLostCommits,
            relocate: relocate
        )
        return OpenStore(
            runner: loaded.runner,
            folder: loaded.folder,
            writer: writer,
            path: path,
            wasCreated: wasCreated
        )
    }

    /// Reads the migrations, with what the settings file says about them.
    func loadMigrations(
        in context: CommandContext,
        allowsOutOfOrder: Bool? = nil
    ) throws -> LoadedMigrations {
        let loaded = try migrations.load(from: context.host, context: context)
        let settings = try context.settings()
        var runner = loaded.runner.requiring(settings?.value(.requireIndex) ?? [])
        if allowsOutOfOrder ?? settings?.value(.allowOutOfOrder) ?? false {
            runner = runner.allowingOutOfOrder()
        }
        return LoadedMigrations(runner: runner, folder: loaded.folder)
    }
}

/// An open database with its migrations.
struct OpenStore {
    let runner: GRDBMigrationRunner
    let folder: MigrationFolder?
    let writer: any DatabaseWriter
    let path: String?

    /// Whether the database was created for it.
    var wasCreated = false

    /// Whether the database doesn't exist yet, and an empty one in memory stands for it.
    var isNew = false

    /// The SQL of the migrations that are files.
    var scripts: [String: MigrationSQL] { folder?.scripts ?? [:] }

    /// Prints that the database was created, and where: a mistyped path should be seen.
    func tellCreation(to context: CommandContext) {
        guard wasCreated, let path else { return }
        context.output("Created \(EncryptedDatabase.absolutePath(of: path).printable).")
    }

    /// Refuses drafts among the migrations that a run is about to apply.
    ///
    /// - Parameters:
    ///   - target: The last migration to apply; all if it is `nil`.
    ///   - count: How many to apply at most; all if it is `nil`.
    ///   - recorded: Those that are recorded as applied before the run.
    func checkForDrafts(
        upTo target: String? = nil,
        steps count: Int? = nil,
        besides recorded: [String] = []
    ) throws {
        guard let folder, !folder.drafts.isEmpty else { return }
        let applied = try runner.appliedMigrationIdentifiers(in: writer).union(recorded)
        let identifiers = runner.migrationIdentifiers
        let end = target.flatMap(identifiers.firstIndex) ?? identifiers.endIndex - 1
        try folder.checkForDrafts(
            in: identifiers[...end].filter { !applied.contains($0) }.prefix(count ?? .max)
        )
    }

    /// Prints notes about the migrations that are about to run.
    func tellNotes(to context: CommandContext) throws {
        guard let notes = folder?.notes, !notes.isEmpty else { return }
        let pending = Set(try runner.pendingMigrationIdentifiers(in: writer))
        for note in notes where pending.contains(note.identifier) {
            context.errorOutput("note: \(note)".printable)
        }
    }
}
