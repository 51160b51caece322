import ArgumentParser
import Foundation
import GRDB
import MigrationKit
import MigrationKitGRDB
import MigrationKitLint
import MigrationKitSQL
import MigrationKitSQLCipher

/// A command that works on a database with migrations.
///
/// The commands declare their option groups themselves: a debug build of ArgumentParser checks each
/// group four times for every group around it, which adds up to seconds.
protocol StoreCommand: MigrationsCommand, DatabaseUsing
where DatabaseOptions == KeyedDatabaseOptions {
    var encryption: EncryptionOptions { get }
}

/// A command that needs migrations.
protocol MigrationsCommand: ContextCommand {
    var migrations: MigrationsOptions { get set }
}

extension StoreCommand {
    /// Opens the database.
    ///
    /// - Parameters:
    ///   - loaded: The migrations.
    ///   - lockTimeout: How long to wait for another process, in seconds; `nil` for the standard.
    ///   - acceptsLostCommits: Whether a damaged log is cut instead of refused.
    ///   - beforeCreating: Throws, before a database is created, if the command can't run on a new
    ///     one. Receives an empty database in memory.
    func openStore(
        _ loaded: LoadedMigrations,
        for purpose: Purpose,
        lockTimeout: TimeInterval? = nil,
        acceptsLostCommits: Bool = false,
        beforeCreating: ((OpenStore) throws -> Void)? = nil,
        in context: CommandContext
    ) throws -> OpenStore {
        let options = try database.resolved(
            in: context,
            for: purpose,
            isPlaintext: encryption.noEncryption
        )
        if purpose.previewsNew || purpose.createsFile && beforeCreating != nil,
            let path = try context.pathOfNewDatabase(options)
        {
            let new = OpenStore(
                runner: loaded.runner,
                folder: loaded.folder,
                writer: try DatabaseQueue(configuration: context.configurationOfSteps),
                path: path,
                isNew: true
            )
            if purpose.previewsNew { return new }
            try beforeCreating?(new)
        }
        let opened = try context.open(
            options,
            lockTimeout: lockTimeout,
            acceptsLostCommits: acceptsLostCommits
        )
        return OpenStore(
            runner: loaded.runner,
            folder: loaded.folder,
            writer: opened.writer,
            path: options.dbPath,
            wasCreated: opened.wasCreated
        )
    }
}

extension MigrationsCommand {
    /// Loads the migrations with their settings.
    func loadMigrations(
        in context: CommandContext,
        allowsOutOfOrder: Bool? = nil,
        ofStranger: Bool = false
    ) throws -> LoadedMigrations {
        let loaded = try migrations.load(in: context, ofStranger: ofStranger)
        let settings = try context.settings()
        var runner = try loaded.runner.requiring(settings?.value(.requireIndex) ?? [])
            .checking(migrations.loadChecks(in: context, ofStranger: ofStranger))
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

    /// Whether the command has created the database.
    var wasCreated = false

    /// Whether the database doesn't exist yet, and an empty one in memory is used instead.
    var isNew = false

    /// The SQL of the migrations, if they are files.
    var scripts: [String: MigrationSQL] { folder?.scripts ?? [:] }

    /// Prints that the database was created, and where, so that a mistyped path is noticed.
    func tellCreation(to context: CommandContext) {
        guard wasCreated, let path else { return }
        context.output("Created \(EncryptedDatabase.absolutePath(of: path).printable).")
    }

    /// Throws if a run is about to apply drafts.
    ///
    /// - Parameters:
    ///   - range: How far it goes.
    ///   - recorded: Migrations that are recorded as applied before the run.
    func checkForDrafts(
        in range: MigrationRange,
        besides recorded: [String] = []
    ) throws {
        guard let folder, !folder.drafts.isEmpty else { return }
        let applied = try runner.appliedMigrationIdentifiers(in: writer).union(recorded)
        let identifiers = runner.migrationIdentifiers
        let end = range.target.flatMap(identifiers.firstIndex) ?? identifiers.endIndex - 1
        try folder.checkForDrafts(
            in: identifiers[...end].filter { !applied.has($0) }.prefix(range.count ?? .max)
        )
    }

    /// Prints notes about the migrations that are about to run.
    func tellNotes(to context: CommandContext) throws {
        try notesOfPending(in: context).forEach { context.note($0) }
    }

    /// Notes about the migrations that are about to run.
    func notesOfPending(in context: CommandContext) throws -> [String] {
        guard let folder else { return [] }
        let ignored = folder.ignoredFiles.map {
            """
            \($0.printable) is ignored, as by golang-migrate: it is not named like 1_name.up.sql or \
            1_name.down.sql
            """
        }
        let pending = try runner.pendingMigrationIdentifiers(in: writer)
        guard !pending.isEmpty else { return ignored }
        let notes = Dictionary(grouping: folder.notes, by: \.identifier)
        let needs = try StepNeeds(context.configurationOfSteps)
        return ignored
            + pending.flatMap { identifier in
                (notes[identifier] ?? []).map(\.description)
                    + (folder.scripts[identifier].map(needs.missing) ?? []).map { statement, need in
                        """
                        \(statement.file.printable):\(statement.line): needs \(need.phrase), which \
                        SQLite doesn't have: --extension loads it
                        """
                    }
            }
    }
}

extension CommandContext {
    /// The path of a database that 'migrate' would create.
    ///
    /// - Returns: `nil` if the file has content, or if the host chooses the database itself.
    /// - Throws: What 'migrate' throws if it can't create one there.
    fileprivate func pathOfNewDatabase(_ options: MigrationDatabaseOpenOptions) throws -> String? {
        guard !host.opensItself, let path = options.dbPath,
            try EncryptedDatabase.wouldCreate(path)
        else { return nil }
        return path
    }
}

extension Configuration {
    /// A connection with the functions that migrations may use.
    static var ofMigrations: Configuration {
        var configuration = Configuration()
        configuration.prepareDatabase { db in
            db.add(function: .uuid)
            try SQLiteExtensions.load(on: db)
        }
        return configuration
    }
}

extension OpenStore {
    /// Prints that the database doesn't exist yet, so that a mistyped path is noticed.
    func tellIsNew(to context: CommandContext) {
        guard isNew, let path else { return }
        context.note("there is no database \(path) yet; 'migrate' creates it")
    }
}
